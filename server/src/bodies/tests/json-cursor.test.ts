import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonCursor, JsonError } from "../json-cursor.ts";
import type { NameCache } from "../json-cursor.ts";
import { decodeText } from "../json-text.ts";

const accepts = (text: string): boolean => {
  try {
    new JsonCursor(Buffer.from(text)).assertOneValue();
    return true;
  } catch (cause) {
    expect(cause).toBeInstanceOf(JsonError);
    return false;
  }
};

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // Invalid according to JSON.parse.
  }
};

const specials = Array.from('{}[]":,\\0-1.eE+ tfnu/\u0001\n');

/** JSON texts with a character inserted, removed or changed: most are malformed, some are not. */
const nearlyJson = fc
  .tuple(fc.json(), fc.nat(), fc.constantFrom(...specials), fc.nat(2))
  .map(([text, at, character, removed]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + character + text.slice(place + removed);
  });

test("accepts exactly the texts that JSON.parse accepts", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), nearlyJson, fc.string()), (text) => {
      expect(accepts(text)).toBe(parses(text));
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ["01", false],
  ["-", false],
  ["1.", false],
  ["1e", false],
  ["-0.5E+10", true],
  ["[1,]", false],
  ['{"a":1,}', false],
  ['{"a"}', false],
  ['"\\u12g4"', false],
  ['"\\ud800"', true],
  ['"a\tb"', false],
  ['"open', false],
  ["nul", false],
  ["[1] 2", false],
  ["", false],
  [" \n[ ] ", true],
])("%j is JSON: %s", (text, expected) => {
  expect(accepts(text)).toBe(expected);
});

test("members are returned as the bytes of the text", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const members = new JsonCursor(Buffer.from(JSON.stringify(object, null, 1))).readMembers();
      const parsed = Object.fromEntries(
        [...members].map(([name, raw]) => [name, JSON.parse(raw.toString()) as unknown]),
      );
      expect(parsed).toEqual(JSON.parse(JSON.stringify(object)));
    }),
  );
});

test("of two members with the same name the last one counts", () => {
  const members = new JsonCursor(Buffer.from('{"a":1,"a":2}')).readMembers();
  expect([...members].map(([name, raw]) => [name, raw.toString()])).toEqual([["a", "2"]]);
});

test("texts that share a cache of names have their own members", () => {
  const name = fc.constantFrom("a", "ab", "b", "\\", "é", '"');
  const objects = fc.array(fc.dictionary(name, fc.nat(9)), { maxLength: 8 });
  fc.assert(
    fc.property(objects, (list) => {
      const names: NameCache = [];
      for (const object of list) {
        const text = Buffer.from(JSON.stringify(object));
        const members = new JsonCursor(text, undefined, names).readMembers();
        const found = [...members].map(([key, json]) => [key, Number(json.toString())]);
        expect(Object.fromEntries(found)).toEqual(object);
      }
    }),
  );
});

test("numbers and escapes stay as they were written", () => {
  const [number, text] = new JsonCursor(
    Buffer.from('[ 12345678901234567890.10 , "\\ud800\\u0000\\/" ]'),
  ).readItems();
  expect(number?.toString()).toBe("12345678901234567890.10");
  expect(text?.toString()).toBe('"\\ud800\\u0000\\/"');
});

test("a text of a hundred thousand open brackets is rejected without a crash", () => {
  expect(() => new JsonCursor(Buffer.from("[".repeat(100_000))).assertOneValue()).toThrow(
    /at most 10000 levels/,
  );
});

test("ten thousand levels can be parsed", () => {
  const text = "[".repeat(9_999) + "]".repeat(9_999);
  expect(accepts(text)).toBe(true);
});

test("the value of a string is the one that JSON.parse returns", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = JSON.stringify(text);
      expect(decodeText(Buffer.from(json))).toBe(JSON.parse(json));
    }),
  );
});
