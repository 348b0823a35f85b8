import { assert, integer, jsonValue, array, property } from "fast-check";
import { expect, test } from "vitest";
import { JsonLineReader } from "../../src/api/json-lines.ts";

test("lines are returned as soon as they are complete, however the text is divided into chunks", () => {
  assert(
    property(array(jsonValue()), integer({ min: 1, max: 9 }), (values, size) => {
      const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
      const reader = new JsonLineReader();
      const read: unknown[] = [];
      for (let start = 0; start < text.length; start += size) {
        read.push(...reader.read(text.slice(start, start + size)));
        const completeLines = text.slice(0, start + size).split("\n").length - 1;
        expect(read).toHaveLength(completeLines);
      }
      expect(read).toEqual(values.map((value): unknown => JSON.parse(JSON.stringify(value))));
      expect(reader.isWithinLine).toBe(false);
    }),
  );
});

test("a text that ends within a line is noticed, and one that is no JSON is rejected", () => {
  const reader = new JsonLineReader();
  expect(reader.read("[1]\n[2")).toEqual([[1]]);
  expect(reader.isWithinLine).toBe(true);
  expect(() => reader.read("\n")).toThrow(SyntaxError);
});
