import { expect, test } from "vitest";
import { evaluate } from "../../src/evaluation/index.ts";
import { createSums, isRight, openClient, settle } from "./evaluation-setup.ts";

interface Inputs {
  readonly a: number;
  readonly b: number;
}

test("regressions come first, per example and per score, with a test of significance", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client, 12);
  const common = {
    data,
    evaluators: [
      isRight,
      { name: "size", evaluate: ({ outputs }: { outputs: { sum: number } }) => outputs.sum },
    ],
    client,
    journalDir,
    repetitions: 2,
  };
  await evaluate(({ a, b }: Inputs) => ({ sum: a === 11 ? -1 : a + b }), {
    ...common,
    experiment: "base",
  });
  // Eight are worse, one is better.
  const worse = ({ a, b }: Inputs) => ({ sum: a < 8 ? a + b - 10 * (a + 1) : a + b });
  const result = await evaluate(worse, { ...common, experiment: "worse", baseline: "base" });
  expect(result.comparison).toMatchObject({
    baseline: { name: "base" },
    examples: 12,
    newExamples: 0,
    regressionCount: 16,
    improvementCount: 2,
    scores: {
      isRight: {
        examples: 12,
        baseline: 11 / 12,
        current: 4 / 12,
        improved: 1,
        regressed: 8,
        unchanged: 3,
        higherIsBetter: true,
      },
    },
  });
  const { regressions = [], improvements = [], scores } = result.comparison ?? {};
  expect(regressions[0]).toMatchObject({ key: "size", difference: -80 });
  // Two repetitions each: the most unequal of six divisions, in either direction.
  expect(regressions[0]?.pValue).toBeCloseTo(2 / 6);
  expect(regressions.map(({ difference }) => Math.abs(difference))).toEqual(
    regressions
      .map(({ difference }) => Math.abs(difference))
      .toSorted((left, right) => right - left),
  );
  expect(improvements.map(({ key }) => key)).toEqual(["size", "isRight"]);
  // Of nine pairs that differ, eight are worse: 2 * (1 + 9) / 2^9.
  expect(scores?.["isRight"]?.pValue).toBeCloseTo(20 / 512);
  expect(scores?.["size"]?.interval?.[1]).toBeLessThan(0);
  const lower = await evaluate(worse, {
    ...common,
    experiment: "lower",
    baseline: { experiment: "base", lowerIsBetter: ["size"] },
  });
  expect(lower.comparison?.scores["size"]).toMatchObject({
    higherIsBetter: false,
    improved: 8,
    regressed: 1,
  });
});

test("a row that failed only now is a regression of `error`", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client);
  const common = { data, evaluators: [isRight], client, journalDir };
  await evaluate(({ a, b }: Inputs) => ({ sum: a + b }), { ...common, experiment: "base" });
  const result = await evaluate(
    ({ a, b }: Inputs) => {
      if (a === 2) {
        throw new Error("no");
      }
      return { sum: a + b };
    },
    { ...common, baseline: "base" },
  );
  expect(result.comparison?.regressions).toMatchObject([
    { key: "error", baseline: 0, current: 1, difference: 1 },
  ]);
});

test("the baseline that is pinned on the dataset is used, and its absence is named", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client);
  const common = { data, evaluators: [isRight], client, journalDir };
  const add = ({ a, b }: Inputs) => ({ sum: a + b });
  await expect(settle(evaluate(add, { ...common, baseline: true }))).rejects.toThrow(
    "The data has no pinned baseline.",
  );
  const base = await evaluate(add, { ...common, experiment: "pinned" });
  const pinned = await client.datasets.update({
    datasetName: data,
    baselineExperimentId: base.experiment.id,
  });
  expect(pinned.baselineExperimentId).toBe(base.experiment.id);
  const result = await evaluate(add, { ...common, baseline: true });
  expect(result.comparison).toMatchObject({
    baseline: { name: "pinned", id: base.experiment.id, datasetId: base.experiment.datasetId },
    examples: 4,
    regressionCount: 0,
  });
  const asObject = await evaluate(add, {
    ...common,
    baseline: { experiment: true, lowerIsBetter: ["isRight"] },
  });
  expect(asObject.comparison).toMatchObject({
    baseline: { name: "pinned" },
    scores: { isRight: { higherIsBetter: false } },
  });
  const unpinned = await client.datasets.update({ datasetName: data, baselineExperimentId: null });
  expect(unpinned.baselineExperimentId).toBeUndefined();
});

test.each([false, undefined, null])("the baseline %s means none", async (baseline) => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client, 1);
  const options = { data, evaluators: [isRight], client, journalDir };
  const result = await evaluate(({ a, b }: Inputs) => ({ sum: a + b }), {
    ...options,
    baseline: baseline as false | undefined,
  });
  expect(result).toMatchObject({ rows: 1, warnings: [] });
  expect(result).not.toHaveProperty("comparison");
});

test("a key of lowerIsBetter that no score has is named in a warning, with those that exist", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client, 2);
  const latency = { name: "latency", evaluate: () => 5 };
  const fails = {
    name: "fails",
    evaluate: (): number => {
      throw new Error("no");
    },
  };
  const common = { data, client, journalDir };
  const add = ({ a, b }: Inputs) => ({ sum: a + b });
  await evaluate(add, { ...common, evaluators: [latency], experiment: "base" });
  const result = await evaluate(add, {
    ...common,
    evaluators: [isRight, fails],
    baseline: {
      experiment: "base",
      lowerIsBetter: ["latncy", "latency", "fails", "error", "isRight"],
    },
  });
  expect(result.warnings).toEqual([
    '`baseline.lowerIsBetter` contains "latncy", but no feedback on the rows has this key, so it has no effect. The keys are "fails", "isRight", "latency".',
  ]);
  // docs/server.md says that the failed evaluator counts, although it has no score.
  const [run] = await client.runs
    .list({ projectIds: [result.experiment.id], isRoot: true })
    .toArray();
  expect(run?.feedbackStats).toMatchObject({
    fails: { n: 1, avg: null },
    isRight: { n: 1, avg: 1 },
  });
  const project = await client.projects.read({
    projectId: result.experiment.id,
    includeStats: true,
  });
  expect(project.stats?.feedbackStats).toMatchObject({ fails: { n: 2, avg: null } });
  const without = await evaluate(add, {
    ...common,
    baseline: { experiment: (await evaluate(add, common)).experiment.name, lowerIsBetter: ["lat"] },
  });
  expect(without.warnings).toEqual([
    '`baseline.lowerIsBetter` contains "lat", but no feedback on the rows has this key, so it has no effect. The rows have no feedback.',
  ]);
});

test("rows of an iterable are compared by their content", async () => {
  const { client, journalDir } = await openClient();
  const rows = Array.from({ length: 5 }, (_, a) => ({ inputs: { a }, outputs: a }));
  const evaluators = [
    {
      name: "same",
      evaluate: ({ outputs, referenceOutputs }: { outputs: number; referenceOutputs: number }) =>
        outputs === referenceOutputs,
    },
  ];
  const common = { evaluators, client, journalDir };
  await evaluate(({ a }: { a: number }) => a, { ...common, data: rows, experiment: "base" });
  const result = await evaluate(({ a }: { a: number }) => (a === 3 ? 0 : a), {
    ...common,
    data: [...rows, { inputs: { a: 99 }, outputs: 99 }].toReversed(),
    baseline: "base",
  });
  expect(result.comparison).toMatchObject({
    examples: 5,
    newExamples: 1,
    regressions: [{ key: "same", baseline: 1, current: 0 }],
  });
});
