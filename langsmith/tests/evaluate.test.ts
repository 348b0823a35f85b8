import { Client } from "@millrace/langsmith";
import { evaluate, StringEvaluator } from "@millrace/langsmith/evaluation";
import type { Example, Run } from "@millrace/langsmith/schemas";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
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
