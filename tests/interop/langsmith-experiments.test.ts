import {
  evaluate as movedEvaluate,
  evaluateComparative as movedComparative,
} from "@millrace/langsmith/evaluation";
import {
  evaluate as todaysEvaluate,
  evaluateComparative as todaysComparative,
} from "langsmith/evaluation";
import {
  evaluate as oldEvaluate,
  evaluateComparative as oldComparative,
} from "langsmith-0.1/evaluation";
import {
  evaluate as newestEvaluate,
  evaluateComparative as newestComparative,
} from "langsmith-0.12/evaluation";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import type { OldClient } from "./langsmith/test-server.ts";
import { doubles } from "./langsmith/doubles.ts";
import { versions, newVersions } from "./langsmith/methods.ts";
import type { Version } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("experiments");

beforeAll(() => {
  // Evaluators are traced with the package's own client, which the environment configures.
  vi.stubEnv("LANGSMITH_TRACING", "true");
  vi.stubEnv("LANGSMITH_ENDPOINT", testServer.url);
  vi.stubEnv("LANGSMITH_API_KEY", "none");
  // Both print the address of the experiment's page.
  vi.spyOn(console, "log").mockImplementation(() => undefined);
});

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const evaluates = {
  "langsmith-0.1": oldEvaluate,
  langsmith: todaysEvaluate as unknown,
  "langsmith-0.12": newestEvaluate as unknown,
  "@millrace/langsmith": movedEvaluate as unknown,
};
const evaluateOf = (version: Version) => evaluates[version] as typeof oldEvaluate;
const comparatives = {
  "langsmith-0.1": oldComparative,
  langsmith: todaysComparative as unknown,
  "langsmith-0.12": newestComparative as unknown,
  "@millrace/langsmith": movedComparative as unknown,
};
const comparativeOf = (version: Version) => comparatives[version] as typeof oldComparative;

/** Runs an experiment over the dataset. The target doubles each number, or adds one, which is correct only for 1. */
async function experiment(
  { version, client }: { version: Version; client: OldClient },
  { data, target }: { data: string; target: "doubling" | "adding" },
) {
  return await evaluateOf(version)(
    ({ n }: { n: number }) => ({ double: target === "doubling" ? n * 2 : n + 1 }),
    {
      client,
      data,
      experimentPrefix: target,
      metadata: { target },
      maxConcurrency: 1,
      evaluators: [
        (run, example) => ({
          key: "correct",
          score: run.outputs?.["double"] === example?.outputs?.["double"],
          comment: `of ${JSON.stringify(example?.inputs)}`,
        }),
      ],
      summaryEvaluators: [
        (runs, examples) => ({
          key: "share",
          score:
            runs.filter(
              ({ outputs }, index) => outputs?.["double"] === examples[index]?.outputs?.["double"],
            ).length / runs.length,
        }),
      ],
    },
  );
}

describe.each(versions)("experiments of %s", (version) => {
  test("an evaluation is a project of runs over the examples, each with its feedback", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const { experimentName } = await experiment(
      { version, client },
      { data: dataset.name, target: "adding" },
    );
    await client.awaitPendingTraceBatches();
    expect(experimentName).toMatch(/^adding/u);
    const project = await client.readProject({ projectName: experimentName, includeStats: true });
    expect(project).toMatchObject({
      reference_dataset_id: dataset.id,
      extra: { metadata: { target: "adding" } },
      run_count: 3,
      feedback_stats: { correct: { n: 3 } },
    });
    const runs = await toArray(client.listRuns({ projectName: experimentName, isRoot: true }));
    const byExample = new Map(runs.map((run) => [run.reference_example_id, run]));
    for (const example of examples) {
      const { n } = example.inputs as { n: number };
      const run = byExample.get(example.id)!;
      expect(run).toMatchObject({ inputs: { n }, outputs: { double: n + 1 } });
      const [feedback] = await toArray(
        client.listFeedback({ runIds: [run.id], feedbackKeys: ["correct"] }),
      );
      expect(Number(feedback!.score)).toBe(n === 1 ? 1 : 0);
      expect(feedback).toMatchObject({ comment: `of {"n":${n}}` });
    }
    const feedback = await testServer.reader.feedback
      .list({ projectIds: [project.id], level: "project" })
      .toArray();
    const [share] = feedback.filter(({ key }) => key === "share");
    expect(share?.score).toBeCloseTo(1 / 3);
    const listed = await toArray(client.listProjects({ referenceDatasetId: dataset.id }));
    expect(listed.map(({ id }) => id)).toEqual([project.id]);
    const [, one] = examples;
    const ofOne = await toArray(
      client.listRuns({ projectName: experimentName, referenceExampleId: one!.id }),
    );
    expect(ofOne.map(({ id }) => id)).toEqual([byExample.get(one!.id)!.id]);
  });

  test("two experiments are compared, and each comparison is feedback on both runs", async () => {
    const client = testServer.either(version);
    const { dataset } = await doubles(client, 2);
    const at = { version, client };
    const first = await experiment(at, { data: dataset.name, target: "doubling" });
    const second = await experiment(at, { data: dataset.name, target: "adding" });
    await client.awaitPendingTraceBatches();
    const names = [first.experimentName, second.experimentName];
    const compared = await comparativeOf(version)(names, {
      client,
      description: "Which is better",
      metadata: { judge: "rule" },
      evaluators: [
        (runs, example) => ({
          key: "better",
          scores: Object.fromEntries(
            runs.map((run) => [
              run.id,
              run.outputs?.["double"] === example.outputs?.["double"] ? 1 : 0,
            ]),
          ),
        }),
      ],
    });
    expect(compared.results).toHaveLength(2);
    const { source_run_id: judgeId } = compared.results[0] as { readonly source_run_id?: string };
    const readJudgeRun = async () =>
      await testServer.reader.runs.read(judgeId ?? "").catch(() => undefined);
    await expect
      .poll(readJudgeRun)
      .toMatchObject({ outputs: { key: "better" }, endTime: expect.any(String) as unknown });
    const [comparison] = await testServer.reader.experiments
      .listComparative({ datasetId: dataset.id })
      .toArray();
    expect(comparison).toMatchObject({
      name: compared.experimentName,
      description: "Which is better",
      referenceDatasetId: dataset.id,
    });
    const better = async (projectName: string) => {
      const runs = await toArray(client.listRuns({ projectName, isRoot: true }));
      const feedback = await toArray(
        client.listFeedback({ runIds: runs.map(({ id }) => id), feedbackKeys: ["better"] }),
      );
      expect(feedback.every((one) => "comparative_experiment_id" in one)).toBe(true);
      return feedback.map(({ score }) => score).toSorted((a, b) => Number(a) - Number(b));
    };
    expect(await better(names[0]!)).toEqual([1, 1]);
    expect(await better(names[1]!)).toEqual([0, 1]);
  });

  test("a comparison is created directly, for the dataset of the first experiment", async () => {
    const client = testServer.either(version);
    const { id: referenceDatasetId } = await client.createDataset(unique("dataset"));
    const experimentIds: string[] = [];
    for (const stem of ["first", "second"]) {
      const created = await client.createProject({ projectName: unique(stem), referenceDatasetId });
      experimentIds.push(created.id);
    }
    const id = crypto.randomUUID();
    const name = unique("comparison");
    const created = await client.createComparativeExperiment({
      id,
      name,
      experimentIds,
      createdAt: new Date("2026-01-02T03:04:05.678Z"),
      description: "By hand",
      metadata: { team: "search" },
    });
    expect(created).toMatchObject({ id, name, reference_dataset_id: referenceDatasetId });
    const [read] = await testServer.reader.experiments
      .listComparative({ datasetId: referenceDatasetId, ids: [id] })
      .toArray();
    expect(read).toMatchObject({ id, name, description: "By hand", metadata: { team: "search" } });
    expect(new Set(read!.experiments?.map((one) => one.id))).toEqual(new Set(experimentIds));
  });
});

/** The config that a target receives in addition to the inputs. */
interface TargetConfig {
  readonly attachments?: Readonly<Record<string, { readonly presigned_url: string }>>;
}

interface EvaluatorInput {
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly referenceOutputs?: Readonly<Record<string, unknown>>;
  readonly attachments?: object;
}

test.each(newVersions)(
  "langsmith 0.10 evaluates with arguments by name, attachments, repetitions and several scores (%s)",
  async (newer) => {
    const client = testServer.newest(newer);
    const { id: dataset_id, name } = await client.createDataset(unique("dataset"));
    await client.createExample({
      dataset_id,
      inputs: { question: "How long?" },
      outputs: { length: 3 },
      attachments: { bytes: ["application/octet-stream", new Uint8Array([0, 255, 1])] },
    });
    const evaluate =
      newer === "@millrace/langsmith"
        ? (evaluates[newer] as typeof todaysEvaluate)
        : todaysEvaluate;
    const { experimentName } = await evaluate(
      async (_inputs: { question: string }, config?: TargetConfig) => {
        const response = await fetch(config?.attachments?.["bytes"]?.presigned_url ?? "");
        return { length: (await response.arrayBuffer()).byteLength };
      },
      {
        client,
        data: name,
        includeAttachments: true,
        numRepetitions: 2,
        evaluators: [
          ({ outputs, referenceOutputs, attachments }: EvaluatorInput) => ({
            results: [
              { key: "correct", score: outputs["length"] === referenceOutputs?.["length"] },
              { key: "files", score: Object.keys(attachments ?? {}).length },
            ],
          }),
        ],
        summaryEvaluators: [
          ({ outputs }: { readonly outputs: readonly object[] }) => ({
            key: "count",
            score: outputs.length,
          }),
        ],
      },
    );
    await client.awaitPendingTraceBatches();
    const project = await client.readProject({ projectName: experimentName, includeStats: true });
    expect(project).toMatchObject({
      run_count: 2,
      feedback_stats: { correct: { n: 2, avg: 1 }, files: { n: 2, avg: 1 } },
    });
    const feedback = await testServer.reader.feedback
      .list({ projectIds: [project.id], level: "project" })
      .toArray();
    expect(feedback.find(({ key }) => key === "count")).toMatchObject({ score: 2 });
  },
);

testServer.expectAllCalled();
