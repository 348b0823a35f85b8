import { onTestFinished, describe, expect, test } from "vitest";
import { runServer, temporaryFolder } from "../../server/tests/support/running-server.ts";
import { currentRow, evaluate } from "../../src/evaluation/index.ts";
import { Client, currentRun } from "../../src/main/index.ts";

async function openClient(): Promise<{ client: Client; journalDir: string }> {
  const server = await runServer();
  const client = new Client({ endpoint: server.url });
  onTestFinished(() => client.close().then(() => {}));
  return { client, journalDir: await temporaryFolder() };
}

async function createDataset(client: Client, count = 4): Promise<string> {
  const name = `sums ${crypto.randomUUID()}`;
  await client.datasets.create({ name });
  await client.examples.createMany({
    datasetName: name,
    examples: Array.from({ length: count }, (_, index) => ({
      inputs: { a: index, b: 1 },
      outputs: { sum: index + 1 },
      split: index % 2 === 0 ? "even" : "odd",
    })),
  });
  return name;
}

interface Sum {
  readonly sum: number;
}

const add = ({ a, b }: { readonly a: number; readonly b: number }): Sum => ({ sum: a + b });
const isRight = ({ outputs, referenceOutputs }: { outputs: Sum; referenceOutputs: Sum }): boolean =>
  outputs.sum === referenceOutputs.sum;

describe("a dataset", () => {
  test("each example becomes a run of the experiment, with the scores as feedback", async () => {
    const { client, journalDir } = await openClient();
    const data = await createDataset(client);
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
  const [row] = await Array.fromAsync(result.readRows());
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
    score: 1,
    comment: "same",
    source: { type: "model", metadata: { __run: { run_id: judge.id } } },
  });
});
