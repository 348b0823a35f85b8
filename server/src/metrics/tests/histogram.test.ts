import { array, assert, double, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "../histogram.ts";

/** The smallest value that is at least as large as this share of the values. */
const findExact = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(values.length * share)) - 1] ?? 0;

const shares = [0.5, 0.95, 0.99];
const durations = array(integer({ min: 1, max: 90 * 86_400_000_000 }), {
  minLength: 1,
  maxLength: 300,
});

test("each quantile is off by at most 2 %, whatever the values", () => {
  assert(
    property(durations, (values) => {
      const histogram = new Histogram();
      values.forEach((value) => histogram.add(value));
      histogram.quantiles(shares).forEach((estimate, index) => {
        const exact = findExact(values, shares[index] ?? 0);
        expect(Math.abs((estimate ?? 0) - exact) / exact).toBeLessThanOrEqual(0.02);
      });
    }),
  );
});

test("a merged histogram is that of all values, however they were divided", () => {
  assert(
    property(durations, double({ min: 0, max: 1, noNaN: true }), (values, part) => {
      const [whole, first, second] = [new Histogram(), new Histogram(), new Histogram()];
      values.forEach((value, index) => {
        whole.add(value);
        (index < values.length * part ? first : second).add(value);
      });
      first.merge(second);
      expect(new Map(first.counts)).toEqual(new Map(whole.counts));
    }),
  );
});

test("a histogram without values has no quantiles; durations below a microsecond count as one", () => {
  const histogram = new Histogram();
  expect(histogram.quantiles(shares)).toEqual([null, null, null]);
  histogram.add(0);
  histogram.add(-5);
  expect(histogram.quantiles([0.5])).toEqual([1]);
});
