import { expect, test } from "vitest";
import { writeJson } from "../support/written-json.ts";

/** A chain of objects in which each refers to the next one twice, so there are 2^depth paths. */
function shared(depth: number): unknown {
  let graph: unknown = { leaf: true };
  for (let i = 0; i < depth; i++) {
    graph = { left: graph, right: graph };
  }
  return graph;
}

test("a graph of 2^40 paths is cut before its field is full, and later values are recorded", () => {
  const began = process.cpuUsage();
  const json = writeJson({ graph: shared(40), after: { kept: 1 } });
  const { user, system } = process.cpuUsage(began);
  const value = JSON.parse(json) as { after: unknown };
  expect(value.after).toEqual({ kept: 1 });
  expect(json).toContain('"[repeated too often]"');
  // About 80,000 objects are walked. Without the limit, two million would fill the field.
  expect(json.length).toBeLessThan(4_000_000);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});

test("an object that occurs very often among many others is recorded each time", () => {
  const one = { a: 1 };
  const rows = Array.from({ length: 60_000 }, (_, row) => ({ row, one }));
  expect(writeJson({ rows })).toBe(JSON.stringify({ rows }));
});
