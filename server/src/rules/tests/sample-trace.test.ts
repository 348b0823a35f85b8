import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { isSampled } from "../sample-trace.ts";

const traces = Array.from({ length: 5_000 }, () => randomUUID());

test("the share of sampled traces is the rate", () => {
  const sampled = traces.filter((id) => isSampled(id, 0.2)).length;
  expect(sampled / traces.length).toBeGreaterThan(0.17);
  expect(sampled / traces.length).toBeLessThan(0.23);
});

test("a trace of a sample is in each larger sample, and all are in that of rate 1", () => {
  const small = traces.filter((id) => isSampled(id, 0.1));
  expect(small.every((id) => isSampled(id, 0.1) && isSampled(id, 0.3))).toBe(true);
  expect(traces.every((id) => isSampled(id, 1))).toBe(true);
});
