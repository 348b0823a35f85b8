import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  findFaults,
  locateSchemaFaults,
} from "../../../../src/features/datasets/examples/example-faults.ts";
import { mapJson } from "../../../../src/features/datasets/examples/json-map.ts";

test("whatever JSON.parse accepts is accepted, and whatever it rejects is a fault with a position", () => {
  const near = fc.string({ unit: fc.constantFrom(...'{}[],:"\\ue01-. \nntfrslau'.split("")) });
  fc.assert(
    fc.property(fc.oneof(fc.json(), near), (text) => {
      const map = mapJson(text);
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(map.kind).toBe(isJson ? "json" : "fault");
      const at = map.kind === "fault" ? map.fault.from : 0;
      expect(at).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: 500 },
  );
});

test("every value is found by its JSON pointer, even with slashes and tildes in names", () => {
  const text = '{"a/b": [1, {"~": "x"}]}';
  const map = mapJson(text);
  const at = (path: string) => {
    const range = map.kind === "json" ? map.ranges.get(path) : undefined;
    return range && text.slice(range.from, range.to);
  };
  expect(at("")).toBe(text);
  expect(at("/a~1b/0")).toBe("1");
  expect(at("/a~1b/1/~0")).toBe('"x"');
});

test("a fault has the position of the error and describes what is missing", () => {
  expect(mapJson('{"a": 1,}')).toMatchObject({
    fault: { from: 8, message: "expected a property name in double quotes" },
  });
  expect(mapJson("[1 2]")).toMatchObject({ fault: { from: 3, message: 'expected "," or "]"' } });
  expect(mapJson("[".repeat(600))).toMatchObject({
    fault: { message: "more than 500 nested levels" },
  });
});

test("only an object is accepted, or an empty text if the value is optional", () => {
  expect(findFaults("[1]", true)).toMatchObject([{ message: "the value must be a JSON object" }]);
  expect(findFaults(" \n", true)).toEqual([]);
  expect(findFaults(" \n", false)).toMatchObject([{ message: "enter a JSON object" }]);
  expect(findFaults('{"a":1}', false)).toEqual([]);
});

test("schema errors are located at their values, each in its part of the example", () => {
  const id = "01a20025-2cae-71af-a91e-cf2295203e3a";
  const message =
    `422: examples do not fit the dataset's schema: example ${id}: inputs/n must be integer; ` +
    `example ${id}: outputs must have required property 'a'`;
  const texts = { inputs: '{"n": "x"}', outputs: "{}", metadata: "" };
  expect(locateSchemaFaults(message, texts)).toEqual({
    inputs: [{ from: 6, to: 9, message: "inputs/n must be integer" }],
    outputs: [{ from: 0, to: 1, message: "outputs must have required property 'a'" }],
    metadata: [],
  });
  expect(locateSchemaFaults("500: no", texts)).toEqual({ inputs: [], outputs: [], metadata: [] });
});
