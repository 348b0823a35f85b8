import { expect, test } from "vitest";
import {
  findChosenValues,
  omitFacet,
  parseFacetCounts,
  toFacetCondition,
  toggleFacet,
} from "../../../src/features/runs/facets/facet.ts";

test("values of one facet are joined to any of them; a second click removes one and nothing else", () => {
  const other = 'gt(latency, "5s")';
  const one = toggleFacet(other, "model", "gpt-4o");
  expect(one).toBe(`and(${other}, eq(model, "gpt-4o"))`);
  expect(findChosenValues(one, "model")).toEqual(["gpt-4o"]);
  const two = toggleFacet(one, "model", "gpt-5");
  expect(two).toBe(`and(${other}, in(model, ["gpt-4o", "gpt-5"]))`);
  expect(findChosenValues(two, "model")).toEqual(["gpt-4o", "gpt-5"]);
  expect(omitFacet(two, "model")).toBe(other);
  expect(toggleFacet(two, "model", "gpt-4o")).toBe(`and(${other}, eq(model, "gpt-5"))`);
  expect(toggleFacet(one, "model", "gpt-4o")).toBe(other);
  expect(toggleFacet(toggleFacet("", "status", "error"), "status", "error")).toBe("");
});

test("a condition keeps its place when its values change", () => {
  const filter = 'and(eq(status, "error"), eq(name, "plan"))';
  expect(toggleFacet(filter, "status", "pending")).toBe(
    'and(in(status, ["error", "pending"]), eq(name, "plan"))',
  );
});

test("each property has a condition of the filter language, and values are quoted", () => {
  const hostile = 'a "b" \\ c';
  for (const [name, value, condition] of [
    ["tag", hostile, String.raw`has(tags, "a \"b\" \\ c")`],
    ["user", "ann", 'eq(user, "ann")'],
    ["version", "1.2", 'eq(metadata.version, "1.2")'],
    ["run_type", "llm", 'eq(run_type, "llm")'],
    ["trace_model", "gpt-5", 'eq(model, "gpt-5")'],
  ] as const) {
    expect(toFacetCondition(name, [value])).toBe(condition);
    expect(findChosenValues(condition, name)).toEqual([value]);
  }
  expect(findChosenValues('eq(metadata.user_id, "ann")', "user")).toEqual(["ann"]);
  expect(toFacetCondition("tag", ["a", "b"])).toBe('in(tags, ["a", "b"])');
  expect(findChosenValues('in(tags, ["a", "b"])', "tag")).toEqual(["a", "b"]);
});

test("other conditions on the field of a facet choose no value", () => {
  for (const condition of [
    'neq(name, "a")',
    'not(eq(name, "a"))',
    'like(name, "a%")',
    "eq(name, null)",
    'or(eq(name, "a"), eq(status, "error"))',
    'in(name, ["a", 5])',
    'eq(name, "a',
  ]) {
    expect(findChosenValues(condition, "name")).toEqual([]);
    expect(omitFacet(condition, "name")).toBe(condition);
  }
});

test("counts that are partial say how far back they go", () => {
  const counts = parseFacetCounts({
    runs: 2,
    counted_to: "2026-11-21T10:00:00Z",
    facets: [{ name: "tag", value_count: 30, values: [{ value: "a", runs: 2 }] }],
  });
  expect(counts.countedFromMs).toBe(Date.UTC(2026, 10, 21, 10));
  expect(counts.facets).toEqual([
    { name: "tag", valueCount: 30, values: [{ value: "a", runs: 2 }] },
  ]);
  expect(() => parseFacetCounts({})).toThrow(/no list of facets/);
});
