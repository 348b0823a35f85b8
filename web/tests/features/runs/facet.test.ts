import { expect, test } from "vitest";
import {
  isFacetActive,
  parseFacetCounts,
  toFacetCondition,
  toggleFacet,
} from "../../../src/features/runs/facets/facet.ts";

test("a value is added to the filter, and a second click removes it and nothing else", () => {
  const other = 'gt(latency, "5s")';
  const added = toggleFacet(other, "model", "gpt-4o");
  expect(added).toBe(`and(${other}, eq(model, "gpt-4o"))`);
  expect(isFacetActive(added, "model", "gpt-4o")).toBe(true);
  expect(isFacetActive(added, "model", "gpt-4")).toBe(false);
  expect(toggleFacet(added, "model", "gpt-4o")).toBe(other);
  expect(toggleFacet(toggleFacet("", "status", "error"), "status", "error")).toBe("");
});

test("each property has a condition of the filter language, and values are quoted", () => {
  expect(toFacetCondition("tag", 'a "b"')).toBe(String.raw`has(tags, "a \"b\"")`);
  expect(toFacetCondition("user", "ann")).toBe('eq(metadata.user_id, "ann")');
  expect(toFacetCondition("version", "1.2")).toBe('eq(metadata.version, "1.2")');
  expect(toFacetCondition("run_type", "llm")).toBe('eq(run_type, "llm")');
});

test("counts that are partial say how far back they go", () => {
  const counts = parseFacetCounts({
    runs: 2,
    counted_to: "2026-11-21T10:00:00Z",
    facets: [{ name: "tag", value_count: 30, values: [{ value: "a", runs: 2 }] }],
  });
  expect(counts.countedToMs).toBe(Date.UTC(2026, 10, 21, 10));
  expect(counts.facets).toEqual([
    { name: "tag", valueCount: 30, values: [{ value: "a", runs: 2 }] },
  ]);
  expect(() => parseFacetCounts({})).toThrow(/no list of facets/);
});
