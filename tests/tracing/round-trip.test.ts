import * as fc from "fast-check";
import { expect, test } from "vitest";
import { writeJson } from "../support/written-json.ts";
import { recordedValue } from "../support/recorded-value.ts";

/** Text in any script, including lone surrogates, control characters and NUL. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 90 }),
  fc.string({ unit: "grapheme", maxLength: 90 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 90 })
    .map((units) => String.fromCharCode(...units)),
);
const unusual = fc.oneof(
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 40 }),
  fc.float64Array({ maxLength: 9 }),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(undefined, Number.NaN, Infinity, -Infinity, Symbol("s"), () => 1, /a"b/u),
  fc.constantFrom(new URL("http://h/?q=%22"), Promise.resolve(1), new RangeError("r")),
);
const leaf = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), unusual);
const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toJSON", "", "length"));

/** Any value, with unusual ones nested in each other, and sometimes with a cycle. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5, withCrossShrink: true }, leaf, tie("list"), tie("record")),
  list: fc.oneof(
    fc.array(tie("value"), { maxLength: 6 }),
    fc.array(tie("value"), { maxLength: 6 }).map((items) => new Set(items)),
    fc
      .array(fc.tuple(fc.oneof(text, leaf), tie("value")), { maxLength: 5 })
      .map((pairs) => new Map(pairs)),
    fc.array(tie("value"), { maxLength: 4 }).map((items) => {
      items.push(items);
      return items;
    }),
  ),
  record: fc.oneof(
    fc.array(fc.tuple(key, tie("value")), { maxLength: 6 }).map(Object.fromEntries),
    tie("value").map((cause) => new Error("outer", { cause })),
    fc.dictionary(text, tie("value"), { noNullPrototype: false, maxKeys: 5 }),
  ),
}));

test("any value arrives as the table says, on tapes of any size", () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 16, max: 4_096 }), (generated, tapeBytes) => {
      const expected = recordedValue(generated) ?? null;
      expect(writeJson(generated, tapeBytes)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 1_000 },
  );
});

test("any value in a field of any size arrives as valid JSON within its limits", () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1_024, max: 4_096 }), (generated, fieldBytes) => {
      const many = Array.from({ length: 30 }, () => ({ generated }));
      const json = writeJson(many, 256, fieldBytes);
      const whole = JSON.stringify(recordedValue(many));
      const parsed = JSON.parse(json) as unknown[];
      expect(json === whole || json.includes("[truncated") || json.includes("[too large")).toBe(
        true,
      );
      expect(parsed[0]).toBeTypeOf("object");
      // One byte on the tape becomes at most six bytes of JSON; the rest is for markers.
      expect(Buffer.byteLength(json)).toBeLessThan(6 * fieldBytes + 4_096);
    }),
    { numRuns: 500 },
  );
});
