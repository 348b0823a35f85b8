import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { currentRow, evaluate } from "../../src/evaluation/index.ts";
import type { EvaluatedRow, EvaluationProgress } from "../../src/evaluation/index.ts";
import { currentRun, NetworkError } from "../../src/main/index.ts";
import { add, createSums, isRight, openClient, toArray } from "./evaluation-setup.ts";

test("a server that goes away before the end leaves a result that says what to do", async () => {
  const { client, journalDir } = await openClient();
  const options = {
    data: [{ inputs: { a: 1 } }, { inputs: { a: 2 } }],
    evaluators: [() => true],
    experiment: "away at the end",
    client,
    journalDir,
  };
  const update = vi
    .spyOn(client.projects, "update")
    .mockRejectedValue(new NetworkError("Failed to update project: connect ECONNREFUSED"));
  let calls = 0;
  const target = ({ a }: { readonly a: number }): number => {
    calls += 1;
    return a;
  };
  const result = await evaluate(target, options);
  update.mockRestore();
  expect(result).toMatchObject({
    rows: 2,
    acknowledged: 2,
    warnings: [expect.stringMatching(/ECONNREFUSED.*run the same evaluation again/)],
  });
  expect(result.totalCost).toBeUndefined();
  // The experiment has not ended, so the same evaluation ends it.
  const resumed = await evaluate(target, options);
  expect([calls, resumed.resumed, resumed.warnings]).toEqual([2, 2, []]);
  const project = await client.projects.read({ projectId: result.experiment.id });
  expect(project.endTime).toBeDefined();
});

test("the reasons of failures are counted, at most five", async () => {
  const { client, journalDir } = await openClient();
  const { failureReasons } = await evaluate(
    ({ a }) => {
      throw new Error(`failed ${a % 2 === 0 ? "even" : a}\nsecond line ${"x".repeat(300)}`);
    },
    {
      data: Array.from({ length: 20 }, (_, a) => ({ inputs: { a } })),
      evaluators: [],
      client,
      journalDir,
      concurrency: 1,
    },
  );
  expect(failureReasons).toHaveLength(5);
  expect(failureReasons[0]).toEqual({
    source: "target",
    message: expect.stringMatching(/failed even$/) as unknown,
    count: 10,
  });
});

describe("a dataset", () => {
  test("each example becomes a run of the experiment, with the scores as feedback", async () => {
    const { client, journalDir } = await openClient();
    const data = await createSums(client);
    const result = await evaluate(add, {
      data,
      evaluators: [isRight, { name: "size", evaluate: ({ outputs }) => outputs.sum }],
      experiment: "first",
      description: "Adds.",
      metadata: { model: "none" },
      client,
      journalDir,
    });
    expect(result).toMatchObject({
      rows: 4,
      total: 4,
      failed: 0,
      acknowledged: 4,
      unacknowledged: 0,
      warnings: [],
      durationMs: { count: 4 },
      scores: { isRight: { count: 4, mean: 1 }, size: { count: 4, mean: 2.5, min: 1, max: 4 } },
    });
    const project = await client.projects.read({ projectId: result.experiment.id });
    expect(project).toMatchObject({
      name: "first",
      description: "Adds.",
      referenceDatasetId: result.experiment.datasetId,
      extra: { metadata: { model: "none", dataset_version: result.experiment.datasetVersion } },
    });
    expect(project.endTime).toBeDefined();
    expect(result.experiment.url).toContain(project.id);
    const compared = await client.experiments
      .compare({ datasetName: data, experimentIds: [result.experiment.id] })
      .toArray();
    expect(compared).toHaveLength(4);
    for (const { example, runs } of compared) {
      const [compare] = runs[result.experiment.id] ?? [];
      expect(compare?.run).toMatchObject({
        name: "add",
        referenceExampleId: example.id,
        outputs: example.outputs,
      });
      expect(compare?.feedbackStats).toMatchObject({
        isRight: { n: 1, avg: 1 },
        size: { n: 1, avg: example.outputs?.["sum"] },
      });
    }
  });

  test("a split, a filter by metadata, a limit and ids select examples", async () => {
    const { client, journalDir } = await openClient();
    const datasetName = await createSums(client, 6);
    const [some] = await client.examples.list({ datasetName, limit: 1 }).toArray();
    const common = { client, journalDir };
    const count = async (selection: object): Promise<unknown> => {
      const { rows, total } = await evaluate(add, {
        data: { datasetName, ...selection },
        ...common,
      });
      return [rows, total];
    };
    expect(await count({ splits: ["odd"] })).toEqual([3, 3]);
    expect(await count({ limit: 2 })).toEqual([2, 2]);
    expect(await count({ ids: [some?.id] })).toEqual([1, 1]);
    expect(await count({ metadata: { none: true } })).toEqual([0, 0]);
  });

  test("a version is evaluated as it was, and the latest one is pinned at the start", async () => {
    const { client, journalDir } = await openClient();
    const datasetName = await createSums(client, 3);
    await client.datasets.tag({ datasetName, asOf: new Date(), tag: "old" });
    await client.examples.create({ datasetName, inputs: { a: 9, b: 1 }, outputs: { sum: 10 } });
    let isChanged = false;
    const latest = await evaluate(
      async (inputs: { a: number; b: number }) => {
        if (!isChanged) {
          isChanged = true;
          await client.examples.create({ datasetName, inputs: { a: 0, b: 0 }, outputs: {} });
        }
        return add(inputs);
      },
      { data: datasetName, client, journalDir, concurrency: 1 },
    );
    expect(latest.rows).toBe(4);
    const old = await evaluate(add, { data: { datasetName, asOf: "old" }, client, journalDir });
    expect(old.rows).toBe(3);
    expect((await evaluate(add, { data: datasetName, client, journalDir })).rows).toBe(5);
  });

  test("many rows at a time cause no warning of Node, with a signal and without", async () => {
    const { client, journalDir } = await openClient();
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", onWarning);
    const data = Array.from({ length: 40 }, (_, a) => ({ inputs: { a } }));
    for (const signal of [undefined, new AbortController().signal]) {
      await evaluate(async () => delay(10), { data, concurrency: 40, client, journalDir, signal });
    }
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  test("attachments can be read by target and evaluators", async () => {
    const { client, journalDir } = await openClient();
    const { id: datasetId } = await client.datasets.create({ name: "with files" });
    const data = Buffer.from("content of the file");
    await client.examples.create({
      datasetId,
      inputs: {},
      attachments: { file: { mimeType: "text/plain", data } },
    });
    const result = await evaluate(
      async (_, { attachments }) =>
        Buffer.from((await attachments["file"]?.read()) ?? []).toString(),
      {
        data: { datasetId, includeAttachments: true },
        evaluators: [
          async function hasContent({ outputs, attachments }) {
            const bytes = await attachments["file"]?.read();
            return attachments["file"]?.mimeType === "text/plain" &&
              data.equals(bytes ?? Buffer.of())
              ? outputs
              : false;
          },
        ],
        client,
        journalDir,
      },
    );
    const [row] = await toArray(result.readRows());
    expect(row?.scores).toMatchObject([{ key: "hasContent", value: "content of the file" }]);
  });
});

describe("an iterable", () => {
  test("rows are read as they are needed, and their ids follow from content and occurrence", async () => {
    const { client, journalDir } = await openClient();
    let [read, finished, ahead] = [0, 0, 0];
    async function* rows() {
      for (let number = 0; number < 50; number += 1) {
        read += 1;
        ahead = Math.max(ahead, read - finished);
        await Promise.resolve();
        // Ten different rows, each five times.
        yield { inputs: { number: number % 10 }, outputs: { half: (number % 10) / 2 } };
      }
    }
    const evaluateRows = (experiment: string) =>
      evaluate(({ number }) => ({ half: number / 2 }), {
        data: rows(),
        evaluators: [({ outputs, referenceOutputs }) => outputs.half === referenceOutputs.half],
        concurrency: 3,
        onRow: () => {
          finished += 1;
        },
        experiment,
        client,
        journalDir,
      });
    const first = await evaluateRows("first");
    expect(first).toMatchObject({ rows: 50, scores: { "evaluator 1": { mean: 1 } } });
    expect(first.total).toBeUndefined();
    expect(ahead).toBeLessThanOrEqual(4);
    const idsOf = async (result: typeof first) =>
      new Set((await toArray(result.readRows())).map(({ exampleId }) => exampleId));
    const ids = await idsOf(first);
    expect(ids.size).toBe(50);
    expect(await idsOf(await evaluateRows("second"))).toEqual(ids);
  });

  test("examples of a dataset, and rows with ids of their own, keep their ids", async () => {
    const { client, journalDir } = await openClient();
    const datasetName = await createSums(client);
    const examples = await client.examples.list({ datasetName }).toArray();
    const result = await evaluate(({ a, b }) => Number(a) + Number(b), {
      data: examples,
      client,
      journalDir,
    });
    expect(result.experiment.datasetId).toBe(examples[0]?.datasetId);
    const rows = await toArray(result.readRows());
    expect(new Set(rows.map(({ exampleId }) => exampleId))).toEqual(
      new Set(examples.map(({ id }) => id)),
    );
    await client.flush();
    const run = await client.runs.read(rows[0]?.runId ?? "");
    expect(run.referenceExampleId).toBe(rows[0]?.exampleId);
    const named = await evaluate(({ a }) => a, {
      data: [
        { id: "one", inputs: { a: 1 } },
        { id: "two", inputs: { a: 1 } },
      ],
      client,
      journalDir,
    });
    expect(new Set((await toArray(named.readRows())).map(({ exampleId }) => exampleId)).size).toBe(
      2,
    );
  });
});

test("target, evaluators and what they call are traced", async () => {
  const { client, journalDir } = await openClient();
  const result = await evaluate(
    async ({ a }: { a: number }) => {
      currentRun()?.startChild({ name: "model of the target", runType: "llm" }).end();
      await Promise.resolve();
      return a + 1;
    },
    {
      data: [{ inputs: { a: 1 }, outputs: 2 }],
      evaluators: [
        async function judge({ outputs, referenceOutputs }) {
          await Promise.resolve();
          currentRun()?.startChild({ name: "model of the judge", runType: "llm" }).end();
          return { score: outputs === referenceOutputs, comment: "same" };
        },
      ],
      client,
      journalDir,
    },
  );
  const [row] = await toArray(result.readRows());
  expect(row).toMatchObject({ outputs: 2, scores: [{ key: "judge", score: true }] });
  await client.flush();
  const run = await client.runs.read(row?.runId ?? "", { withChildRuns: true });
  expect(run.childRuns?.map(({ name }) => name)).toEqual(["model of the target"]);
  const judge = await client.runs.read(row?.scores[0]?.sourceRunId ?? "", { withChildRuns: true });
  expect(judge).toMatchObject({ name: "judge", projectName: "evaluators" });
  expect(judge.childRuns?.map(({ name }) => name)).toEqual(["model of the judge"]);
  const [feedback] = await client.feedback.list({ runIds: [run.id] }).toArray();
  expect(feedback).toMatchObject({
    key: "judge",
    score: true,
    comment: "same",
    source: { type: "model", metadata: { __run: { run_id: judge.id } } },
  });
});

describe("evaluators", () => {
  test("a score, a verdict, a category, several scores and none are recorded", async () => {
    const { client, journalDir } = await openClient();
    const result = await evaluate(() => "text", {
      data: [{ inputs: { a: 1 }, outputs: "text" }],
      evaluators: [
        { name: "number", evaluate: () => 0.25 },
        { name: "verdict", evaluate: () => Promise.resolve(true) },
        { name: "category", evaluate: () => "good" },
        {
          name: "several",
          evaluate: () => [
            { key: "a", score: 1 },
            { key: "b", value: { c: 1 } },
          ],
        },
        { name: "platform", evaluate: () => ({ results: [{ key: "d", score: 2 }] }) },
        { name: "none", evaluate: () => null },
      ],
      client,
      journalDir,
    });
    const [row] = await toArray(result.readRows());
    expect(row?.scores.map(({ sourceRunId: _, ...score }) => score)).toEqual([
      { key: "number", score: 0.25 },
      { key: "verdict", score: true },
      { key: "category", value: "good" },
      { key: "a", score: 1 },
      { key: "b", value: { c: 1 } },
      { key: "d", score: 2 },
    ]);
    const feedback = await client.feedback.list({ runIds: [row?.runId ?? ""] }).toArray();
    expect(
      Object.fromEntries(feedback.map(({ key, score, value }) => [key, score ?? value])),
    ).toEqual({
      number: 0.25,
      verdict: true,
      category: "good",
      a: 1,
      b: { c: 1 },
      d: 2,
    });
  });

  test("one that throws is recorded as its failure, beside the scores of the others", async () => {
    const { client, journalDir } = await openClient();
    const result = await evaluate(() => 1, {
      data: [{ inputs: { a: 1 }, outputs: 1 }],
      evaluators: [
        function broken(): never {
          throw new TypeError("no model");
        },
        {
          name: "works",
          evaluate: ({ outputs, referenceOutputs }) => outputs === referenceOutputs,
        },
      ],
      client,
      journalDir,
    });
    expect(result).toMatchObject({
      evaluatorErrors: 1,
      scores: { broken: { count: 0, errors: 1 }, works: { count: 1, mean: 1, errors: 0 } },
    });
    const [row] = await toArray(result.readRows());
    expect(row?.scores[0]).toMatchObject({ key: "broken", error: "TypeError: no model" });
    const feedback = await client.feedback
      .list({ runIds: [row?.runId ?? ""], keys: ["broken"] })
      .toArray();
    expect(feedback).toMatchObject([
      { comment: "TypeError: no model", source: { metadata: { error: true } } },
    ]);
    expect(feedback[0]?.score).toBeUndefined();
  });

  test("scorers of autoevals work as they are", async () => {
    /** As the type `Scorer` of autoevals 0.x. */
    interface AutoevalsScore {
      name: string;
      score: number | null;
      metadata?: Record<string, unknown>;
      error?: unknown;
    }
    const Levenshtein = (args: { output: string; expected?: string }): AutoevalsScore => ({
      name: "Levenshtein",
      score: args.output === args.expected ? 1 : 0,
    });
    const Factuality = async ({
      input,
      output,
      expected,
    }: {
      input: string;
      output: string;
      expected?: string;
    }): Promise<AutoevalsScore> => {
      await Promise.resolve();
      return {
        name: "Factuality",
        score: input === "q" && output === expected ? 0.6 : 0,
        metadata: { rationale: "same" },
      };
    };
    const Failing = (_: { output: unknown }): AutoevalsScore => ({
      name: "Failing",
      score: null,
      error: new Error("no key"),
    });
    const { client, journalDir } = await openClient();
    const result = await evaluate(({ question }) => ({ answer: question === "q" ? "yes" : "no" }), {
      data: [{ inputs: { question: "q" }, outputs: { answer: "yes" } }],
      evaluators: [Levenshtein, Factuality, Failing],
      client,
      journalDir,
    });
    expect(result.scores).toMatchObject({
      Levenshtein: { mean: 1 },
      Factuality: { mean: 0.6 },
      Failing: { errors: 1 },
    });
    const [row] = await toArray(result.readRows());
    expect(row?.scores[1]).toMatchObject({ metadata: { rationale: "same" } });
  });

  test("summary evaluators judge all rows, as feedback on the experiment", async () => {
    const { client, journalDir } = await openClient();
    const options = {
      data: await createSums(client),
      summaryEvaluators: [
        async function largest({ readRows }: { readRows: () => AsyncIterable<EvaluatedRow> }) {
          const rows = await toArray(readRows());
          return Math.max(...rows.map(({ outputs }) => (outputs as { sum: number }).sum));
        },
        function fails(): never {
          throw new Error("no");
        },
      ],
      experiment: "summarized",
      client,
      journalDir,
    };
    const result = await evaluate(add, options);
    expect(result.summaryScores).toEqual([
      { key: "largest", score: 4 },
      { key: "fails", error: "Error: no" },
    ]);
    // Again: the feedback is updated.
    await evaluate(add, { ...options, resume: true });
    const feedback = await client.feedback
      .list({ projectIds: [result.experiment.id], level: "project" })
      .toArray();
    expect(feedback).toHaveLength(2);
    expect(
      Object.fromEntries(feedback.map(({ key, score, comment }) => [key, score ?? comment])),
    ).toEqual({ fails: "Error: no", largest: 4 });
  });
});

describe("while it runs", () => {
  test("rows can be iterated from the first on, and progress be read", async () => {
    const { client, journalDir } = await openClient();
    const evaluation = evaluate(
      async ({ a }: { a: number }) => {
        await delay(a * 30);
        return a;
      },
      {
        data: Array.from({ length: 5 }, (_, a) => ({ inputs: { a } })),
        concurrency: 5,
        client,
        journalDir,
      },
    );
    const seen: unknown[] = [];
    let firstProgress: EvaluationProgress | undefined;
    for await (const { outputs, isResumed } of evaluation) {
      seen.push([outputs, isResumed]);
      firstProgress ??= evaluation.progress();
    }
    expect(firstProgress?.total).toBe(5);
    expect(firstProgress?.rows).toBeLessThan(5);
    expect(seen).toEqual([0, 1, 2, 3, 4].map((a) => [a, false]));
    expect((await evaluation).rows).toBe(5);
    // Also afterwards.
    expect(await toArray(evaluation)).toHaveLength(5);
  });

  test("no more rows than the concurrency are in progress, and onRow holds them back", async () => {
    const { client, journalDir } = await openClient();
    let [running, highest] = [0, 0];
    const warnings = await evaluate(
      async () => {
        running += 1;
        highest = Math.max(highest, running);
        await delay(5);
        return 1;
      },
      {
        data: Array.from({ length: 20 }, (_, a) => ({ inputs: { a } })),
        concurrency: 3,
        onRow: async ({ exampleId }) => {
          await delay(5);
          running -= 1;
          if (exampleId !== "") {
            throw new Error("of the callback");
          }
        },
        client,
        journalDir,
      },
    ).then((result) => result.warnings);
    expect(highest).toBe(3);
    expect(warnings).toEqual(["onRow threw: Error: of the callback"]);
  });
});

test("each repetition is a run of its own, and code can tell which one it is in", async () => {
  const { client, journalDir } = await openClient();
  const seen: unknown[] = [];
  const result = await evaluate(
    (_, { repetition }) => {
      seen.push([repetition, currentRow()?.repetition]);
      return repetition;
    },
    {
      data: [{ inputs: { a: 1 } }],
      repetitions: 3,
      evaluators: [{ name: "repetition", evaluate: () => currentRow()?.repetition }],
      client,
      journalDir,
    },
  );
  expect(new Set(seen)).toEqual(new Set([1, 2, 3].map((repetition) => [repetition, repetition])));
  expect(currentRow()).toBeUndefined();
  expect(result).toMatchObject({
    rows: 3,
    total: 3,
    scores: { repetition: { count: 3, mean: 2 } },
  });
  const rows = await toArray(result.readRows());
  expect(new Set(rows.map(({ runId }) => runId)).size).toBe(3);
  expect(new Set(rows.map(({ exampleId }) => exampleId)).size).toBe(1);
});

test("a failed call is repeated as often as `retries` says, within one run", async () => {
  const { client, journalDir } = await openClient();
  const result = await evaluate(
    (_, { attempt }) => {
      if (attempt < 3) {
        throw new Error(`attempt ${attempt}`);
      }
      return attempt;
    },
    { data: [{ inputs: { a: 1 } }], retries: 2, client, journalDir },
  );
  expect(result).toMatchObject({ rows: 1, failed: 0 });
  const [row] = await toArray(result.readRows());
  expect(row).toMatchObject({ outputs: 3, attempts: 3 });
  await client.flush();
  const run = await client.runs.read(row?.runId ?? "");
  expect(run.events).toMatchObject([
    { name: "retry", kwargs: { attempt: 1, error: "Error: attempt 1" } },
    { name: "retry", kwargs: { attempt: 2 } },
  ]);
});

test("an object with `invoke`, such as a chain of LangChain, is a target", async () => {
  const { client, journalDir } = await openClient();
  class Chain {
    readonly #step = 2;
    invoke({ a }: { a: number }): Promise<number> {
      return Promise.resolve(a * this.#step);
    }
  }
  const result = await evaluate(new Chain(), { data: [{ inputs: { a: 4 } }], client, journalDir });
  const [row] = await toArray(result.readRows());
  expect(row?.outputs).toBe(8);
  expect(result.experiment.name).toBe("Chain on rows");
});

test("tokens and cost of the target are summed, without those of the evaluators", async () => {
  const { client, journalDir } = await openClient();
  const callModel = (cost: number): void => {
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15, total_cost: cost };
    currentRun()
      ?.startChild({ name: "model", runType: "llm", metadata: { usage_metadata: usage } })
      .end({ text: "yes" });
  };
  const result = await evaluate(
    () => {
      callModel(0.25);
      return 1;
    },
    {
      data: [{ inputs: { a: 1 } }, { inputs: { a: 2 } }],
      evaluators: [
        function judge() {
          callModel(10);
          return true;
        },
      ],
      client,
      journalDir,
    },
  );
  expect(result).toMatchObject({ totalTokens: 30, totalCost: 0.5 });
});
