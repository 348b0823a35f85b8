import { RunnableLambda } from "@langchain/core/runnables";
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  Client,
  ConflictError,
  InternalServerError,
  LangsmithError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  RunTree,
  UnprocessableEntityError,
} from "@millrace/langsmith";
import { evaluate } from "@millrace/langsmith/evaluation";
import type { Example } from "@millrace/langsmith/schemas";
import { traceable } from "@millrace/langsmith/traceable";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { traceable as realTraceable } from "langsmith/traceable";
import { Client as MillraceClient, HttpError } from "millrace";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";

// What docs/moving-over.md says about differences.

let server: RunningServer;
let client: Client;
let reader: MillraceClient;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  client = new Client({ apiUrl: server.url });
  reader = new MillraceClient({ endpoint: server.url });
});

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

afterAll(async () => {
  await client.millrace.close();
  await reader.close();
  await server.close();
});

test("a value is recorded as it is at the call", async () => {
  const work = traceable(
    async (input: { n: number }) => {
      input.n = 2;
      return input;
    },
    { name: "work", client, project_name: "values", tracingEnabled: true },
  );
  await work({ n: 1 });
  await client.flush();
  const [run] = await reader.runs.list({ projectNames: ["values"] }).toArray();
  expect(run).toMatchObject({ inputs: { n: 1 }, outputs: { n: 2 } });
});

test("LANGSMITH_TRACING=false also holds back runs that are sent by hand", async () => {
  vi.stubEnv("LANGSMITH_TRACING", "false");
  const off = new Client({ apiUrl: server.url });
  onTestFinished(async () => void (await off.millrace.close()));
  const run = new RunTree({ name: "by hand", client: off, project_name: "off" });
  await run.postRun();
  await run.patchRun();
  await off.flush();
  expect(off.millrace.stats().accepted).toBe(0);
});

test("without an address, runs go to the local server", () => {
  for (const name of ["MILLRACE", "LANGSMITH", "LANGCHAIN"]) {
    vi.stubEnv(`${name}_ENDPOINT`, "");
  }
  const local = new Client({ apiKey: "lsv2_pt_hosted" });
  onTestFinished(async () => void (await local.millrace.close()));
  expect(String(local)).toBe('[LangSmithClient apiUrl="http://localhost:1984"]');
  vi.stubEnv("LANGSMITH_ENDPOINT", server.url);
  expect(local.getHostUrl()).toBe(server.url);
});

test("LANGSMITH_RUNS_ENDPOINTS and replicas cause a warning, and TRACING_MODE=otel an error", async () => {
  vi.stubEnv("LANGSMITH_RUNS_ENDPOINTS", "[]");
  const other = new Client({ apiUrl: server.url });
  onTestFinished(async () => void (await other.millrace.close()));
  const run = new RunTree({ name: "copied", client, replicas: [{ projectName: "copy" }] });
  expect(run.name).toBe("copied");
  expect(vi.mocked(console.warn).mock.calls.flat()).toEqual([
    expect.stringContaining("LANGSMITH_RUNS_ENDPOINTS has no effect"),
    expect.stringContaining("`replicas` of a run are not supported"),
  ]);
  vi.stubEnv("LANGSMITH_TRACING_MODE", "otel");
  expect(() => new Client()).toThrow("Pass the option `otlp`");
});

test("an option that evaluate does not have causes a warning that lists those it has", async () => {
  const examples = [{ id: crypto.randomUUID(), inputs: { n: 1 } }] as unknown as Example[];
  const misspelled = { evalutors: [], data: examples, client, experiment: "mine" };
  const { experimentName } = await evaluate(({ n }: { n: number }) => ({ n }), misspelled);
  await evaluate(({ n }: { n: number }) => ({ n }), misspelled);
  const known =
    "data, evaluators, summaryEvaluators, experimentPrefix, description, metadata, numRepetitions, maxConcurrency, targetConcurrency, evaluationConcurrency, includeAttachments, disableEvaluatorTracing, client";
  expect(vi.mocked(console.warn).mock.calls.flat()).toEqual([
    `[@millrace/langsmith] The option evalutors of evaluate has no effect: there is no such option. Known: ${known}.`,
    expect.stringContaining("The option experiment of evaluate has no effect"),
  ]);
  vi.mocked(console.warn).mockClear();
  const comparison = { evaluators: [], maxConcurency: 2, numRepetitions: 2, client };
  await expect(evaluate([experimentName], comparison)).rejects.toThrow("experiments");
  expect(vi.mocked(console.warn).mock.calls.flat()).toEqual([
    expect.stringContaining("The option maxConcurency of evaluateComparative has no effect"),
    expect.stringContaining("The option numRepetitions of evaluateComparative has no effect"),
  ]);
});

test("an option that a client or a traced function does not have causes a warning", async () => {
  const misspelled = { apiUrl: server.url, hideInput: true, mode: undefined };
  const own = new Client(misspelled);
  onTestFinished(async () => void (await own.millrace.close()));
  const options = { nmae: "answer", runType: "llm", client, project_name: "misspelled" };
  const answer = traceable(async () => 1, options);
  expect(await answer()).toBe(1);
  traceable(async () => 1, { name: "answer", __finalTracedIteratorKey: "stream" });
  const warnings = vi.mocked(console.warn).mock.calls.flat();
  expect(warnings).toEqual([
    expect.stringMatching(/The option hideInput of Client has no effect: .* Known: .*hideInputs/),
    expect.stringMatching(/The option nmae of traceable has no effect: .* Known: name, run_type/),
    expect.stringContaining("The option runType of traceable has no effect"),
  ]);
  expect(String(warnings[1])).not.toContain("__");
});

test("errors name the calls of langsmith's client", async () => {
  const createDataset = 'Create it with client.createDataset("no \\"pe"), or check';
  const readError = await client.readDataset({ datasetName: 'no "pe' }).catch(String);
  expect(readError).toContain(createDataset);
  const examples = client.listExamples({ datasetName: 'no "pe' })[Symbol.asyncIterator]();
  await expect(examples.next()).rejects.toThrow(createDataset);
  const evaluated = evaluate(() => ({}), { data: 'no "pe', client });
  const error: unknown = await evaluated.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining(createDataset) as string,
    stack: expect.stringContaining(createDataset) as string,
  });
  await expect(client.readProject({ projectName: "none" })).rejects.toThrow(
    'client.createProject({ projectName: "none" })',
  );
  await expect(client.likePrompt("none")).rejects.toThrow("Create it with client.createPrompt,");
  await expect(client.readDataset({ datasetName: "" })).rejects.toThrow("non-empty");
});

test("the error classes of langsmith recognize Millrace's errors by their status", async () => {
  const notFound: unknown = await client
    .readRun(crypto.randomUUID())
    .catch((error: unknown) => error);
  expect(notFound).toBeInstanceOf(NotFoundError);
  expect(notFound).toBeInstanceOf(APIError);
  expect(notFound).toBeInstanceOf(LangsmithError);
  expect(notFound).toMatchObject({ status: 404 });
  await client.createProject({ projectName: "taken" });
  await expect(client.createProject({ projectName: "taken" })).rejects.toBeInstanceOf(
    ConflictError,
  );
  const classes = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    422: UnprocessableEntityError,
    429: RateLimitError,
    503: InternalServerError,
  };
  const matches = Object.keys(classes).map((status) => {
    const error: unknown = new HttpError({ action: "try", status: Number(status), body: "" });
    return Object.values(classes).filter((one) => error instanceof one);
  });
  expect(matches).toEqual(Object.values(classes).map((one) => [one]));
});

test("a row whose target failed is not judged, and a failed evaluator is feedback with an error", async () => {
  const { id: datasetId } = await client.createDataset("rows");
  await client.createExamples({ datasetId, inputs: [{ n: 1 }, { n: 2 }], outputs: [{}, {}] });
  const judged: unknown[] = [];
  const { results, experimentName } = await evaluate(
    ({ n }: { n: number }) => {
      if (n === 2) {
        throw new Error("too large");
      }
      return { n };
    },
    {
      client,
      data: "rows",
      evaluators: [
        function noted({ inputs }: { inputs: Record<string, unknown> }) {
          judged.push(inputs["n"]);
          return { key: "noted", score: 1 };
        },
        function broken() {
          throw new Error("judge is away");
        },
      ],
    },
  );
  expect(judged).toEqual([1]);
  expect(
    results.map(({ run, evaluationResults }) => [run.error, evaluationResults.results]),
  ).toEqual(
    expect.arrayContaining([
      [undefined, [expect.objectContaining({ key: "noted", score: 1 })]],
      ["Error: too large", []],
    ]),
  );
  const [good] = results.filter(({ run }) => run.error === undefined);
  const feedback = await reader.feedback.list({ runIds: [good!.run.id] }).toArray();
  expect(new Map(feedback.map(({ key, score }) => [key, score]))).toEqual(
    new Map([
      ["broken", undefined],
      ["noted", 1],
    ]),
  );
  expect(experimentName).toMatch(/^evaluation-[\da-f]{8}$/);
});

test("beside the langsmith of LangChain, runs of both packages nest in each other", async () => {
  vi.stubEnv("LANGSMITH_TRACING", "true");
  vi.stubEnv("LANGSMITH_ENDPOINT", server.url);
  vi.stubEnv("LANGSMITH_API_KEY", "none");
  const options = { client, project_name: "beside" };
  const inner = traceable(async (text: string) => text.length, { ...options, name: "inner" });
  const chain = RunnableLambda.from(async (text: string) => inner(text)).withConfig({
    runName: "chain",
  });
  // As a library does that has a langsmith of its own.
  const middle = realTraceable(async (text: string) => chain.invoke(text), { name: "middle" });
  const outer = traceable(async (text: string) => middle(text), { ...options, name: "outer" });
  expect(await outer("mills")).toBe(5);
  const readNames = async () => {
    await client.flush();
    const runs = await reader.runs.list({ projectNames: ["beside"], order: "asc" }).toArray();
    const names = new Map(runs.map(({ id, name }) => [id, name]));
    return runs.map(({ name, parentRunId }) => [name, names.get(parentRunId ?? "")]);
  };
  await expect.poll(readNames).toEqual([
    ["outer", undefined],
    ["middle", "outer"],
    ["chain", "middle"],
    ["inner", "chain"],
  ]);
});

test("listThreads computes the figures of a conversation from its root runs", async () => {
  const threads = [
    { id: "a", start: 1_000, seconds: 1, tokens: 3 },
    { id: "b", start: 5_000, seconds: 9, tokens: 1 },
    { id: "a", start: 3_000, seconds: 4, tokens: 5, error: "TypeError: no rain" },
  ];
  const begin = Date.now() - 60_000;
  for (const [index, { id, start, seconds, tokens, error }] of threads.entries()) {
    await client.createRun({
      name: "turn",
      run_type: "llm",
      project_name: "talks",
      inputs: { turn: index },
      outputs: {
        answer: index,
        usage_metadata: { input_tokens: 0, output_tokens: tokens, total_tokens: tokens },
      },
      start_time: begin + start,
      end_time: begin + start + seconds * 1_000,
      extra: { metadata: { thread_id: id } },
      ...(error === undefined ? {} : { error }),
    });
  }
  const [first, second, ...others] = await client.listThreads({ projectName: "talks" });
  expect(others).toEqual([]);
  expect(first).toMatchObject({ thread_id: "b", count: 1, latency_p50: 9, last_error: null });
  expect(second).toMatchObject({
    thread_id: "a",
    count: 2,
    latency_p50: 1,
    latency_p99: 4,
    total_tokens: 8,
    first_inputs: '{"turn":0}',
    last_error: "TypeError: no rain",
  });
  expect(second?.last_outputs).toContain('"answer":2');
});

test("listThreads adds up costs, also costs of 0, and returns null if no run has a cost", async () => {
  const costs = { free: [0, 0], paid: [0, 0.25], unknown: [undefined] };
  for (const [threadId, totals] of Object.entries(costs)) {
    for (const total of totals) {
      await client.createRun({
        name: "turn",
        run_type: "llm",
        project_name: "costs",
        inputs: {},
        outputs: total === undefined ? {} : { usage_metadata: { total_cost: total } },
        end_time: Date.now() + 1,
        extra: { metadata: { thread_id: threadId } },
      });
    }
  }
  const threads = await client.listThreads({ projectName: "costs" });
  const totals = threads.map((thread) => [thread.thread_id, thread.total_cost] as const);
  expect(Object.fromEntries(totals)).toEqual({ free: 0, paid: 0.25, unknown: null });
});
