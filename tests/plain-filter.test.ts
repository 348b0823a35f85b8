import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printFilter } from "../server/src/filter/ast.ts";
import type { Filter } from "../server/src/filter/ast.ts";
import { checkFilter, describeFields } from "../server/src/filter/checker.ts";
import { runFields } from "../server/src/filter/fields.ts";
import { parseFilter } from "../server/src/filter/infix-parser.ts";
import { anyFilter } from "../server/tests/support/any-filter.ts";
import { toPlainFilter } from "../web/src/components/filter/plain-filter.ts";

/** The same filter without source positions, and without an `and` or `or` around a single part. */
function simplify(filter: Filter): unknown {
  switch (filter.kind) {
    case "and":
    case "or": {
      const parts = filter.parts.map(simplify);
      return parts.length === 1 ? parts[0] : { kind: filter.kind, parts };
    }
    case "not":
      return { kind: "not", part: simplify(filter.part) };
    case "exists":
      return { kind: "exists", field: filter.field.name };
    case "comparison": {
      const { comparator, field, operand } = filter;
      const json = JSON.stringify(operand, (key, value: unknown) =>
        key === "offset" || key === "length" ? undefined : value,
      );
      return { comparator, field: field?.name, operand: JSON.parse(json) as unknown };
    }
  }
}

const knownFields = describeFields(runFields);

describe("the form in which the UI writes a filter", () => {
  test("is read as the same filter", () => {
    fc.assert(
      fc.property(anyFilter(), (filter) => {
        const plainText = toPlainFilter(printFilter(filter));
        expect(simplify(parseFilter(plainText, knownFields))).toEqual(simplify(filter));
      }),
      { numRuns: 2_000 },
    );
  });

  test("is read as the same filter below and before other conditions", () => {
    fc.assert(
      fc.property(anyFilter(), anyFilter(), (first, second) => {
        const [one, other] = [first, second].map((filter) => toPlainFilter(printFilter(filter)));
        for (const [text, parts] of [
          [`(${one}) and (${other})`, [first, second]],
          [`(${one}) AND(${other})`, [first, second]],
          [`refund and (${other})`, [parseFilter("refund"), second]],
          [`latency > 5 and(${other})`, [parseFilter("latency > 5"), second]],
        ] as const) {
          const expected: Filter = { kind: "and", parts, offset: 0, length: 0 };
          expect(simplify(parseFilter(text, knownFields))).toEqual(simplify(expected));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("is valid if the filter is valid", () => {
    fc.assert(
      fc.property(anyFilter(), (filter) => {
        const text = printFilter(filter);
        fc.pre(isValid(text));
        expect(isValid(toPlainFilter(text))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function isValid(text: string): boolean {
  try {
    checkFilter(text, runFields);
    return true;
  } catch {
    return false;
  }
}
