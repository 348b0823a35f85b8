import { expect, test } from "vitest";
import { computeComparison } from "../comparison.ts";
import type { ComparisonQuery, ComparedExperiment } from "../experiment.ts";

/** An experiment with one run per example, each with a score of one key unless the run failed. */
const experiment = (
  id: string,
  results: Readonly<Record<string, number | "error" | Readonly<Record<string, number>>>>,
): ComparedExperiment => {
  const exampleIds = Object.keys(results);
  const scoresOf = Object.values(results).map((result) =>
    typeof result === "number" ? { right: result } : result,
  );
  const keys = new Set(
    scoresOf.flatMap((scores) => (typeof scores === "object" ? Object.keys(scores) : [])),
  );
  return {
    id,
    exampleIds,
    runCounts: exampleIds.map(() => 1),
    errorCounts: scoresOf.map((scores) => (scores === "error" ? 1 : 0)),
    firstStartMicros: exampleIds.map((_id, index) => index),
    scores: new Map(
      [...keys].map((key) => [
        key,
        Float64Array.from(scoresOf, (scores) =>
          typeof scores === "object" ? (scores[key] ?? Number.NaN) : Number.NaN,
        ),
      ]),
    ),
  };
};

const query: ComparisonQuery = {
  baselineId: "base",
  lowerIsBetter: new Set(),
  order: "regression",
  subset: "all",
};

const readAll = (experiments: readonly ComparedExperiment[], fullQuery: ComparisonQuery) =>
  computeComparison(experiments, fullQuery).readPage(0, 1_000);

const idsOf = (
  experiments: readonly ComparedExperiment[],
  changes: Partial<ComparisonQuery> = {},
): readonly string[] =>
  readAll(experiments, { ...query, ...changes }).map(({ exampleId }) => exampleId);

test("the worst changes come first, new errors before all; ties are ordered by start time", () => {
  const base = experiment("base", { a: 1, b: 1, c: 1, d: 1, e: 0 });
  const other = experiment("other", { a: 1, b: 0.5, c: 0, d: "error", e: 1 });
  expect(idsOf([base, other])).toEqual(["d", "c", "b", "a", "e"]);
  expect(idsOf([base, other], { order: "improvement" })).toEqual(["e", "a", "b", "c", "d"]);
  expect(idsOf([base, other], { order: "run" })).toEqual(["a", "b", "c", "d", "e"]);
});

test("a subset contains only regressions, improvements or errors", () => {
  const base = experiment("base", { a: 1, b: 0, c: "error", d: 0.5 });
  const other = experiment("other", { a: 0, b: 1, c: 1, d: 0.5 });
  expect(idsOf([base, other], { subset: "regressions" })).toEqual(["a"]);
  expect(idsOf([base, other], { subset: "improvements" })).toEqual(["b", "c"]);
  expect(idsOf([base, other], { subset: "errors" })).toEqual(["c"]);
});

test("keys for which lower is better are inverted; only the requested key counts", () => {
  const base = experiment("base", { a: { cost: 10, right: 1 }, b: { cost: 1, right: 0 } });
  const other = experiment("other", { a: { cost: 1, right: 0 }, b: { cost: 5, right: 0 } });
  const lower = { lowerIsBetter: new Set(["cost"]) };
  expect(idsOf([base, other], { key: "cost" })).toEqual(["a", "b"]);
  expect(idsOf([base, other], { ...lower, key: "cost" })).toEqual(["b", "a"]);
  expect(idsOf([base, other], { ...lower, subset: "regressions" })).toEqual(["a", "b"]);
});

test("changes are weighted by the range of the key's scores", () => {
  const base = experiment("base", { a: { stars: 50, right: 1 }, b: { stars: 100, right: 1 } });
  const other = experiment("other", { a: { stars: 50, right: 0 }, b: { stars: 60, right: 1 } });
  const [first, second] = readAll([base, other], query);
  expect(first).toMatchObject({ exampleId: "a", worstChange: -1 });
  expect(second?.worstChange).toBeCloseTo(-0.8);
});

test("examples that an experiment did not run, or that have no score, are neither better nor worse", () => {
  const base = experiment("base", { a: 1, b: {} });
  const other = experiment("other", { b: 0, c: 0 });
  const { readPage, keys, exampleCount } = computeComparison([base, other], query);
  expect(exampleCount).toBe(3);
  expect(
    readPage(0, 3).every(({ worstChange, bestChange }) => worstChange === 0 && bestChange === 0),
  ).toBe(true);
  expect(keys[0]?.byExperiment.get("other")).toMatchObject({
    better: 0,
    worse: 0,
    same: 0,
    count: 2,
  });
});

test("each key is summarized: mean, counts of better, worse and same, and a histogram in tenths of its range", () => {
  const base = experiment("base", { a: 0, b: 1, c: 0.5 });
  const other = experiment("other", { a: 1, b: 0, c: 0.1 + 0.4 });
  const third = experiment("third", { a: 0.05 });
  const [key] = computeComparison([base, other, third], query).keys;
  expect(key).toMatchObject({ key: "right", min: 0, max: 1 });
  expect(key?.byExperiment.get("other")).toEqual({
    mean: 0.5,
    count: 3,
    better: 1,
    worse: 1,
    same: 1,
    bins: [1, 0, 0, 0, 0, 1, 0, 0, 0, 1],
  });
  expect(key?.byExperiment.get("base")).toMatchObject({ better: 0, worse: 0, same: 0 });
  expect(key?.byExperiment.get("third")).toMatchObject({ mean: 0.05, better: 1 });
});
