import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printFilter } from "../ast.ts";
import type { Filter, Literal } from "../ast.ts";
import { checkFilter } from "../checker.ts";
import { runFields } from "../fields.ts";
import { FilterError } from "../filter-error.ts";
import { parseFilter } from "../infix-parser.ts";
import { anyFilter } from "../../../tests/support/any-filter.ts";

/** The same filter without source positions. */
const bare = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      key === "offset" || key === "length" ? undefined : inner,
    ),
  );

describe("a valid filter", () => {
  const operandOf = (text: string): Literal | undefined => {
    const filter = parseFilter(`eq(name, ${text})`);
    return filter.kind === "comparison" ? filter.operand : undefined;
  };

  test.each<[string, unknown]>([
    [String.raw`"a\"b\\c\/\n\u00e9'"`, { kind: "text", text: "a\"b\\c/\né'" }],
    ["'say \"hi\"'", { kind: "text", text: 'say "hi"' }],
    [String.raw`'it\'s'`, { kind: "text", text: "it's", rawSource: String.raw`it\'s` }],
    [String.raw`"\ud800"`, { kind: "text", text: "\ud800" }],
    ["-1.5e3", { kind: "number", number: -1_500 }],
    ["true", { kind: "boolean", boolean: true }],
    ["null", { kind: "null" }],
  ])("the value %s", (text, literal) => {
    expect(bare(operandOf(text))).toEqual(bare(literal));
  });

  test("spaces and line breaks between tokens are ignored", () => {
    expect(
      bare(parseFilter(' and (\n\teq ( name ,"a" ) ,\r\n in(id,[ 1 , "b" ])\u00a0) ')),
    ).toEqual(bare(parseFilter('and(eq(name,"a"),in(id,[1,"b"]))')));
  });

  test("escapes in single quotes are those of JSON", () => {
    const filter = checkFilter(
      String.raw`has(metadata, '{"a": "say \"hi\" \\ it\'s"}')`,
      runFields,
    );
    expect(filter).toMatchObject({ operand: { json: { a: 'say "hi" \\ it\'s' } } });
  });

  test("a printed filter parses to the same filter", () => {
    fc.assert(
      fc.property(anyFilter(), (filter: Filter) => {
        expect(bare(parseFilter(printFilter(filter)))).toEqual(bare(filter));
      }),
    );
  });

  test("exists with a path is short for exists on its object, and is printed as such", () => {
    const filter = parseFilter("exists( metadata.a-b.0 )");
    expect(printFilter(filter)).toBe('exists(metadata, "a-b.0")');
    expect(filter).toMatchObject({
      field: { offset: 8, length: 8 },
      operand: { offset: 17, length: 5 },
    });
  });

  test("text parsed from single quotes is printed so that it parses again", () => {
    const text = String.raw`has(metadata, '{"a": "\"\\"}')`;
    expect(bare(parseFilter(printFilter(parseFilter(text))))).toEqual(bare(parseFilter(text)));
  });

  test.each<[string, string, number]>([
    ["latency", '"5s"', 5_000_000],
    ["latency", '"200ms"', 200_000],
    ["latency", '"1.5m"', 90_000_000],
    ["latency", '"1h"', 3_600_000_000],
    ["latency", "2", 2_000_000],
    ["latency", '"2"', 2_000_000],
    ["start_time", '"2024-01-01T00:00:00Z"', 1_704_067_200_000_000],
    ["start_time", '"2024-01-01"', 1_704_067_200_000_000],
    ["start_time", '"2024-01-01T01:00:00.000001+01:00"', 1_704_067_200_000_001],
    ["start_time", "1704067200000", 1_704_067_200_000_000],
  ])("%s accepts %s", (field, value, micros) => {
    expect(checkFilter(`gt(${field}, ${value})`, runFields)).toMatchObject({
      operand: { value: micros },
    });
  });
});

/** Whether a filter is valid, or its FilterError has a position inside it. */
function pointsInto(text: string): boolean {
  try {
    checkFilter(text, runFields);
    return true;
  } catch (cause) {
    return cause instanceof FilterError && cause.offset >= 0 && cause.offset <= text.length;
  }
}

describe("arbitrary input", () => {
  const fragments = fc.constantFrom(
    "and",
    "or",
    "not",
    "eq",
    "in",
    "has",
    "search",
    "(",
    ")",
    "[",
    "]",
    ",",
    '"',
    "'",
    "\\",
    "name",
    "metadata",
    "metadata.a",
    "exists",
    ".",
    "null",
    "5",
    "-",
    "1e400",
    '"a"',
    "'{\"a\":1}'",
    " ",
    "\n",
    "\0",
    "\ud800",
    "é",
    "__proto__",
    "constructor",
  );

  test("is a valid filter, or its FilterError has a position inside it", () => {
    const anything = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fragments, { maxLength: 40 }).map((parts) => parts.join("")),
      anyFilter()
        .map(printFilter)
        .chain((text) => fc.nat(text.length).map((at) => text.slice(0, at) + text.slice(at + 1))),
    );
    fc.assert(
      fc.property(anything, (text) => {
        expect(pointsInto(text)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["(", "("],
    ["not(", "not("],
    ["quotes", '"'],
    ["backslashes", "\\"],
    ["names", "a"],
    ["digits", "1"],
    ["lines", "\n"],
    ["spaces", "   "],
    ["lists", "in(name, ["],
  ])("ten thousand characters of %s are rejected quickly", (_title, fragment) => {
    const text = fragment.repeat(10_000 / fragment.length);
    const start = performance.now();
    for (const head of ["", "eq(name, ", 'eq(name, "']) {
      expect(() => checkFilter((head + text).slice(0, 10_000), runFields)).toThrow(FilterError);
    }
    expect(performance.now() - start).toBeLessThan(500);
  });
});
