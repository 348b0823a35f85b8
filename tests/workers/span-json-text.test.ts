import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readJson, readMembers, toJson } from "../../src/workers/spans/json-text.ts";

/** JSON as people write it: with spaces and line breaks between the values. */
const spacedJson = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.constantFrom(undefined, 2, "\t"))
  .map(([json, indent]) => JSON.stringify(JSON.parse(json), null, indent));

test("the members of any object are texts with their values, in order", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), spacedJson), (values) => {
      const text = ` { ${Object.entries(values)
        .map(([name, json]) => `${JSON.stringify(name)}\n: ${json} `)
        .join(",\t")}} `;
      const members = readMembers(text);
      expect([...(members ?? [])].map(([name, json]) => [name, toJson(json)])).toEqual(
        Object.entries(values),
      );
    }),
  );
});

test("numbers of any size keep their digits, and of two members with a name the last one is read", () => {
  const members = readMembers('{"a":1,"b":12345678901234567890.50,"a":[1e400,"\\\\","\\""]}');
  expect([...(members ?? [])].map(([name, json]) => [name, toJson(json)])).toEqual([
    ["a", '[1e400,"\\\\","\\""]'],
    ["b", "12345678901234567890.50"],
  ]);
});

test("what is not JSON, and what is nested too deeply, is not read", () => {
  expect(["{", '{"a":1}x', "{'a':1}", "[1,]", "", "{]"].map(readMembers)).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
  expect(readMembers("[1]")).toBeUndefined();
  const nested = (depth: number): string => `${"[".repeat(depth)}"["${"]".repeat(depth)}`;
  expect(readJson(nested(10_000))).toBeDefined();
  expect(readJson(nested(10_001))).toBeUndefined();
});
