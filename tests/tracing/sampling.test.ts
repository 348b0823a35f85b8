import * as fc from "fast-check";
import { isSampledById } from "../../node_modules/langsmith/dist/utils/sampling.js";
import { expect, test } from "vitest";
import { startRun } from "../../src/tracing/runs/context.ts";
import { createUuid7 } from "../../src/model/uuid7.ts";
import { createSampler } from "../../src/tracing/runs/sampling.ts";
import { CollectingClient } from "./collecting-client.ts";

test("keeps the same traces as the platform's own client", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.double({ min: 0, max: 1, noNaN: true }), (id, rate) => {
      expect(createSampler(rate)(id)).toBe(isSampledById(id, rate));
    }),
  );
});

test("sampling ignores the letter case of an id", () => {
  const isSampled = createSampler(0.5);
  const ids = Array.from({ length: 100 }, () => createUuid7());
  expect(ids.map((id) => isSampled(id.toUpperCase()))).toEqual(ids.map((id) => isSampled(id)));
});

test.each([0.01, 0.25, 0.9])("records about the share of traces that the rate sets: %f", (rate) => {
  const isSampled = createSampler(rate);
  const sampled = Array.from({ length: 20_000 }, () => isSampled(createUuid7())).filter(Boolean);
  expect(sampled.length / 20_000).toBeGreaterThan(rate - 0.02);
  expect(sampled.length / 20_000).toBeLessThan(rate + 0.02);
});

test("a rate of 0 records nothing and a rate of 1 everything", () => {
  const ids = Array.from({ length: 1_000 }, () => createUuid7());
  expect(ids.some(createSampler(0))).toBe(false);
  expect(ids.every(createSampler(1))).toBe(true);
});

test("a trace is recorded completely or not at all", () => {
  const client = new CollectingClient({ isSampled: createSampler(0.5) });
  for (let trace = 0; trace < 200; trace += 1) {
    const root = startRun(client, { parent: null });
    const child = root.startChild();
    child.startChild().end();
    child.fail(new Error("no"));
    root.end();
  }
  const counts = new Map<string, number>();
  for (const { traceId } of client.records) {
    counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
  }
  expect(counts.size).toBeGreaterThan(50);
  expect(counts.size).toBeLessThan(150);
  expect([...counts.values()].every((count) => count === 6)).toBe(true);
});
