import { expect, test } from "vitest";
import {
  evaluate,
  evaluateComparative,
  evaluateExperiment,
  evaluateTraces,
} from "../../src/evaluation/index.ts";
import { ValidationError } from "../../src/main/index.ts";
import { add, createSums, isRight, openClient, settle, toArray } from "./evaluation-setup.ts";

test("evaluators are called for the runs of an existing experiment", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client);
  const { experiment } = await evaluate(add, { data, experiment: "existing", client, journalDir });
  const evaluation = evaluateExperiment("existing", {
    evaluators: [
      isRight,
      function named({ run, example, outputs }) {
        return { score: run.name === "add" && example.metadata !== undefined, value: outputs };
      },
    ],
    client,
    journalDir,
  });
  const rows = await toArray(evaluation);
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatchObject({ referenceOutputs: { sum: expect.any(Number) as number } });
  expect(await evaluation).toMatchObject({
    rows: 4,
    acknowledged: 4,
    experiment: { id: experiment.id, name: "existing", datasetId: experiment.datasetId },
    scores: { isRight: { count: 4, mean: 1 }, named: { count: 4, mean: 1 } },
  });
  const runs = await client.runs.list({ projectIds: [experiment.id], isRoot: true }).toArray();
  expect(runs.map(({ feedbackStats }) => feedbackStats?.["isRight"])).toMatchObject(
    runs.map(() => ({ n: 1, avg: 1 })),
  );
  await expect(
    settle(evaluateExperiment("none", { evaluators: [isRight], client, journalDir })),
  ).rejects.toThrow('evaluateExperiment: there is no project "none"');
});

test("traces of a program are evaluated by filter, and the same sample is chosen each time", async () => {
  const { client, journalDir } = await openClient();
  for (let number = 0; number < 60; number += 1) {
    const run = client.startRun({
      name: number % 2 === 0 ? "even" : "odd",
      inputs: { number },
      projectName: "production",
    });
    run.startChild({ name: "step" }).end();
    run.end({ number });
  }
  await client.flush();
  const evaluators = [
    function isSmall({
      inputs,
      outputs,
      referenceOutputs,
    }: {
      inputs: { number: number };
      outputs: { number: number };
      referenceOutputs: undefined;
    }) {
      return (
        referenceOutputs === undefined && inputs.number === outputs.number && outputs.number < 30
      );
    },
  ];
  const common = { projectName: "production", evaluators, client, journalDir };
  const all = await evaluateTraces({ ...common, filter: 'eq(name, "even")' });
  expect(all).toMatchObject({
    rows: 30,
    acknowledged: 30,
    scores: { isSmall: { count: 30, mean: 0.5 } },
  });
  const idsOf = async (sampleRate: number) =>
    (await toArray(evaluateTraces({ ...common, sampleRate }))).map(({ runId }) => runId).toSorted();
  const sample = await idsOf(0.5);
  expect(sample.length).toBeGreaterThan(10);
  expect(sample.length).toBeLessThan(50);
  expect(await idsOf(0.5)).toEqual(sample);
  expect((await evaluateTraces({ ...common, limit: 7 })).rows).toBe(7);
  await expect(settle(evaluateTraces({ ...common, sampleRate: 2 }))).rejects.toThrow(
    "`sampleRate` must be a number above 0, and at most 1",
  );
  const [trace] = await client.runs
    .list({ projectNames: ["production"], filter: 'eq(name, "even")', isRoot: true, limit: 1 })
    .toArray();
  const [feedback] = await client.feedback.list({ runIds: [trace?.id ?? ""], limit: 1 }).toArray();
  expect(feedback).toMatchObject({ key: "isSmall", source: { type: "model" } });
});

test("experiments are compared pairwise, in a random order that the seed determines", async () => {
  const { client, journalDir } = await openClient();
  const data = await createSums(client, 12);
  await evaluate(add, { data, experiment: "right", client, journalDir });
  await evaluate(() => ({ sum: 1 }), { data, experiment: "one", client, journalDir });
  const orders = new Map<string, string>();
  const compare = async (seed: number | false) => {
    orders.clear();
    const result = await evaluateComparative(["right", "one"], {
      name: `comparison ${seed}`,
      description: "Which is better?",
      evaluators: [
        function better({ example, runs, outputs, referenceOutputs }) {
          orders.set(example.id, runs.map(({ name }) => name).join());
          return {
            scores: outputs.map(({ sum }) => (sum === referenceOutputs["sum"] ? 1 : 0)),
            comment: "compared",
          };
        },
        function fails(): never {
          throw new Error("no model");
        },
      ],
      seed,
      client,
    });
    return { result, orders: new Map(orders) };
  };
  const { result, orders: first } = await compare(1);
  expect(result).toMatchObject({
    examples: 12,
    skipped: 0,
    preferences: [
      { key: "better", experiment: "right", mean: 1, wins: 11 },
      { key: "better", experiment: "one", mean: 1 / 12, wins: 0 },
    ],
    errorCount: 12,
  });
  expect(result.pValues["better"]).toBeCloseTo(2 / 2 ** 11);
  expect(result.errors[0]).toMatchObject({ evaluator: "fails", error: "Error: no model" });
  expect(new Set(first.values()).size).toBe(2);
  expect((await compare(1)).orders).toEqual(first);
  expect((await compare(2)).orders).not.toEqual(first);
  expect(new Set((await compare(false)).orders.values()).size).toBe(1);
  const [comparative] = await client.experiments
    .listComparative({ datasetName: data, ids: [result.id] })
    .toArray();
  expect(comparative).toMatchObject({ name: "comparison 1", description: "Which is better?" });
  const feedback = await client.feedback.list({ comparativeExperimentId: result.id }).toArray();
  expect(feedback).toHaveLength(24);
  expect(feedback[0]).toMatchObject({ key: "better", comment: "compared" });
  await expect(
    evaluateComparative(["right", "none"], { evaluators: [() => [1, 0]], client }),
  ).rejects.toThrow('there is no experiment "none" over a dataset');
});

test.each<[string, unknown, object, string]>([
  ["one experiment", ["a"], {}, "pass the names of at least two experiments"],
  ["an empty name", ["a", ""], {}, "pass the names of at least two experiments"],
  ["a name twice", ["a", "b", "a"], {}, 'the experiment "a" is named more than once'],
  ["an odd signal", ["a", "b"], { signal: "soon" }, "`signal` must be an AbortSignal"],
  ["null as a signal", ["a", "b"], { signal: null }, "`signal` must be an AbortSignal"],
  [
    "an empty project",
    ["a", "b"],
    { evaluatorProject: "" },
    "`evaluatorProject` must be a non-empty string",
  ],
])("a comparison of experiments refuses %s", async (_, experiments, options, message) => {
  const { client } = await openClient();
  const error = await evaluateComparative(experiments as readonly string[], {
    evaluators: [() => [1, 0]],
    client,
    ...options,
  }).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(ValidationError);
  expect((error as Error).message).toContain(message);
});
