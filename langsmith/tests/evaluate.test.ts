import { Client } from "@millrace/langsmith";
import { evaluate, StringEvaluator } from "@millrace/langsmith/evaluation";
import type { Example, Run } from "@millrace/langsmith/schemas";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { getCurrentRunTree, traceable } from "@millrace/langsmith/traceable";
import { wrapOpenAI } from "@millrace/langsmith/wrappers/openai";
import { OpenAI } from "openai";
import { startModelApi } from "../../tests/support/fake-model-api.ts";
import { replyAsOpenAi } from "../../tests/support/openai-replies.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

let server: RunningServer;
let client: Client;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  client = new Client({ apiUrl: server.url });
});

beforeEach(() => {
  vi.stubEnv("LANGSMITH_TRACING", "true");
  vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

afterAll(async () => {
  await client.millrace.close();
  await server.close();
});

/** Creates a dataset with an example for each object of inputs, and returns its name. */
async function createDataset(...inputs: readonly Record<string, unknown>[]): Promise<string> {
  const name = `dataset ${crypto.randomUUID()}`;
  const { id: datasetId } = await client.createDataset(name);
  await client.createExamples({
    datasetId,
    inputs: [...inputs],
    outputs: inputs.map(() => ({ a: 1 })),
  });
  return name;
}

test("the results count the rows, and can be iterated", async () => {
  const data = await createDataset({ q: 1 }, { q: 2 });
  const results = await evaluate(async () => ({ a: 1 }), { data, client });
  expect(results.processedCount).toBe(2);
  expect(results.length).toBe(2);
  const iterated = [];
  for await (const row of results) {
    iterated.push(row);
  }
  expect(iterated).toEqual(results.results);
});

test("the line about the result ends with the address, or with the name if there is no address", async () => {
  const data = await createDataset({ q: 1 });
  const printed = vi.mocked(console.log).mock.calls;
  const addressed = await evaluate(async () => ({ a: 1 }), { data, client });
  vi.spyOn(client.millrace.datasets, "url").mockRejectedValue(new Error("no tenant"));
  const unaddressed = await evaluate(async () => ({ a: 1 }), { data, client });
  expect(printed.flat()).toEqual([
    expect.stringContaining(
      `Evaluated 1 rows as the experiment ${addressed.experimentName}: ${server.url}/`,
    ),
    `Evaluated 1 rows as the experiment ${unaddressed.experimentName}`,
  ]);
});

test("a grading function gets the values as they are, and its key is the key of the feedback", async () => {
  const graded: unknown[] = [];
  const grade = (key: string | undefined) =>
    new StringEvaluator({
      evaluationName: "named",
      inputKey: "q",
      predictionKey: "a",
      answerKey: "a",
      gradingFunction: async (params) => {
        graded.push(params);
        return { ...(key === undefined ? {} : { key }), score: 1, value: "v", comment: "why" };
      },
    });
  const data = await createDataset({ q: { deep: true } });
  const { results } = await evaluate(async () => ({ a: 1 }), {
    data,
    client,
    evaluators: [grade("own"), grade(undefined)],
  });
  const params = { input: { deep: true }, prediction: 1, answer: 1 };
  expect(graded).toEqual([params, params]);
  expect(results[0]?.evaluationResults.results).toMatchObject([
    { key: "own", score: 1, value: "v", comment: "why" },
    { key: "named", score: 1 },
  ]);
});

test("without an answerKey, a grading function gets the member output of the reference outputs", async () => {
  const grade = vi.fn<(params: object) => Promise<{ score: number }>>(async () => ({ score: 1 }));
  const run = { id: "1", inputs: { input: 1 }, outputs: { output: null } } as unknown as Run;
  const example = { outputs: { output: [2] } } as unknown as Example;
  const evaluator = new StringEvaluator({ evaluationName: "e", gradingFunction: grade });
  await evaluator.evaluateRun(run, example);
  expect(grade).toHaveBeenCalledWith({ input: 1, prediction: null, answer: [2] });
  const unnamed = new StringEvaluator({ gradingFunction: grade });
  await expect(unnamed.evaluateRun(run, example)).rejects.toThrow("evaluationName");
});

test("updatePrompt resolves to an object with the prompt as its member repo", async () => {
  await client.createPrompt("greet", { description: "old" });
  const updated = await client.updatePrompt("greet", { description: "new" });
  expect(updated).toMatchObject({ repo: { repo_handle: "greet", description: "new" } });
});

test("evaluators get the run with its children, times in milliseconds, metadata, tags and events", async () => {
  const retrieve = traceable(async (q: string) => [{ page_content: q }], {
    name: "retrieve",
    run_type: "retriever",
  });
  const rag = traceable(
    async ({ q }: { q: string }) => {
      getCurrentRunTree().addEvent("began");
      return { a: (await retrieve(q)).length };
    },
    { name: "rag", tags: ["inner"] },
  );
  const judged: Run[] = [];
  const data = await createDataset({ q: "a" });
  const { results, experimentName } = await evaluate((inputs: { q: string }) => rag(inputs), {
    data,
    client,
    metadata: { model: "m" },
    evaluators: [
      (run: Run) => {
        judged.push(run);
        return { key: "latency", score: Number(run.end_time) - Number(run.start_time) };
      },
    ],
    summaryEvaluators: [
      (runs: Run[]) => ({ key: "children", score: runs[0]?.child_runs?.length ?? 0 }),
    ],
  });
  const [run] = judged;
  const [inner] = run?.child_runs ?? [];
  expect(run).toMatchObject({
    trace_id: run?.id,
    outputs: { a: 1 },
    extra: { metadata: { model: "m" } },
    session_id: expect.any(String) as string,
  });
  expect(inner).toMatchObject({
    name: "rag",
    tags: ["inner"],
    parent_run_id: run?.id,
    events: [{ message: "began" }],
  });
  expect(inner?.dotted_order?.startsWith(`${run?.dotted_order}.`)).toBe(true);
  expect(inner?.child_runs).toMatchObject([
    { name: "retrieve", run_type: "retriever", outputs: { outputs: [{ page_content: "a" }] } },
  ]);
  for (const one of [run, inner, inner?.child_runs?.[0]]) {
    expect([typeof one?.start_time, typeof one?.end_time]).toEqual(["number", "number"]);
  }
  const [row] = results;
  expect(row?.evaluationResults.results[0]?.score).toBeGreaterThanOrEqual(0);
  expect(row?.run.child_runs?.map(({ name }) => name)).toEqual(["rag"]);
  expect(row?.run.start_time).toBe(run?.start_time);
  await client.flush();
  const stored = await listStored(experimentName);
  expect(stored.map(({ name }) => name)).toEqual(["target", "rag", "retrieve"]);
});

test("child_runs contain the model calls of wrapped clients", async () => {
  const api = await startModelApi(replyAsOpenAi);
  const openai = wrapOpenAI(new OpenAI({ baseURL: api.url, apiKey: "none", maxRetries: 0 }));
  const messages = [{ role: "user" as const, content: "Where?" }];
  const ask = traceable(
    async () => openai.chat.completions.create({ model: "gpt-test", messages }),
    { name: "ask" },
  );
  const judged: Run[] = [];
  await evaluate(async () => ({ a: (await ask()).choices.length }), {
    data: await createDataset({ q: "a" }),
    client,
    evaluators: [
      (run: Run) => {
        judged.push(run);
        return { key: "seen", score: 1 };
      },
    ],
  });
  expect(judged[0]?.child_runs).toMatchObject([
    {
      name: "ask",
      child_runs: [
        {
          name: "ChatOpenAI",
          run_type: "llm",
          inputs: { messages },
          start_time: expect.any(Number) as number,
          child_runs: [],
        },
      ],
    },
  ]);
});

test("a traced target is the root run itself, with its name, tags, metadata and processed outputs", async () => {
  const target = traceable(async ({ q }: { q: string }) => ({ a: q, secret: 1 }), {
    name: "my target",
    run_type: "tool",
    tags: ["t"],
    metadata: { mine: 1 },
    processOutputs: ({ a }) => ({ a: a }),
  });
  const data = await createDataset({ q: "a" });
  const { results, experimentName } = await evaluate(target, {
    data,
    client,
    metadata: { model: "m" },
  });
  await client.flush();
  const stored = await listStored(experimentName);
  expect(stored).toMatchObject([
    {
      id: results[0]?.run.id,
      name: "my target",
      runType: "tool",
      tags: ["t"],
      inputs: { q: "a" },
      outputs: { a: "a" },
      referenceExampleId: results[0]?.example.id,
      extra: { metadata: { mine: 1, model: "m" } },
    },
  ]);
  expect(results[0]?.run).toMatchObject({ name: "my target", outputs: { a: "a" } });
  expect(results[0]?.run.outputs).not.toHaveProperty("secret");
});

test("a target that streams is read to its end, and its aggregated outputs are evaluated", async () => {
  const target = traceable(
    async function* ({ q }: { q: string }) {
      yield q;
      yield "b";
    },
    { name: "stream", aggregator: (chunks: string[]) => ({ a: chunks.join("") }) },
  );
  const data = await createDataset({ q: "a" });
  const { results } = await evaluate(target as never, { data, client });
  expect(results[0]?.run.outputs).toEqual({ a: "ab" });
});

test("what fails is printed, one line each, and stored as feedback", async () => {
  const data = await createDataset({ q: 1 }, { q: 2 });
  function picky({ q }: { q: number }) {
    if (q === 2) {
      throw new Error("target broke\nbadly");
    }
    return { a: 1 };
  }
  function broken() {
    throw new Error("evaluator broke");
  }
  const nan = () => ({ key: "nan", score: Number.NaN });
  function total() {
    throw new Error("summary broke");
  }
  const { results, experimentName, summaryResults } = await evaluate(picky, {
    data,
    client,
    evaluators: [broken as never, nan],
    summaryEvaluators: [total as never],
  });
  const good = results.find(({ example }) => example.inputs["q"] === 1);
  const bad = results.find(({ example }) => example.inputs["q"] === 2);
  const printed = vi.mocked(console.error).mock.calls.map(([line]) => String(line));
  expect(printed).toHaveLength(4);
  expect(printed).toEqual(
    expect.arrayContaining([
      `Error running evaluator broken on run ${good?.run.id}: Error: evaluator broke`,
      expect.stringMatching(`^Error running evaluator nan on run ${good?.run.id}: .*NaN`),
      "Error running summary evaluator total: Error: summary broke",
      `Error running target function picky on example ${bad?.example.id}: Error: target broke badly`,
    ]),
  );
  expect(bad?.run.error).toContain("target broke");
  await client.flush();
  const [root] = (await listStored(experimentName)).filter(({ id }) => id === bad?.run.id);
  expect(root?.error).toContain("target broke");
  const keys = [];
  for await (const { key } of client.listFeedback({ runIds: [String(good?.run.id)] })) {
    keys.push(key);
  }
  expect(keys.toSorted()).toEqual(["broken", "nan"]);
  expect(summaryResults.results).toMatchObject([{ key: "total" }]);
});

/** Reads the runs of an experiment, in the order of their starts. */
const listStored = (experimentName: string) =>
  client.millrace.runs.list({ projectNames: [experimentName], order: "asc" }).toArray();
