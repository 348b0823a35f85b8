import { expect, test } from "vitest";
import { createCostFormat, formatDollars } from "../../../src/components/text/cost.ts";

test("a cost has whole cents, and a small one three significant digits", () => {
  expect([9.3, 0.1, 0.5, 0.023, 0.0146, 0.000967, 1_234.5, 0].map(formatDollars)).toEqual([
    "$9.30",
    "$0.10",
    "$0.50",
    "$0.023",
    "$0.0146",
    "$0.000967",
    "$1,234.50",
    "$0.00",
  ]);
  expect(formatDollars(1e-15)).toBe("< $0.000000000001");
});

test("the costs of a column have the same digits", () => {
  const costs = [9.3, 0.1, 0.0146, 0];
  expect(costs.map(createCostFormat(costs))).toEqual(["$9.300", "$0.100", "$0.015", "$0.000"]);
  expect([1, 1e-9].map(createCostFormat([1, 1e-9]))).toEqual(["$1.000000", "< $0.000001"]);
  expect([12, 0.5].map(createCostFormat([12, 0.5]))).toEqual(["$12.00", "$0.50"]);
});
