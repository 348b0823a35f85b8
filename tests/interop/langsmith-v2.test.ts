import type { Client as TodaysClient } from "langsmith";
import type { Client as NewestClient } from "langsmith-0.12";
import { beforeAll, describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { realVersions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("runs");
const project = unique("v2");
const ids = new Map<string, string>();
const start = Date.UTC(2026, 0, 2, 3, 4, 5);
/** The runs are older than a day, which is the default time range of queries. */
const since = { min_start_time: new Date(start - 1_000).toISOString() };
let projectId = "";

const id = (name: string): string => ids.get(name) ?? "";

interface Draft {
  readonly name: string;
  readonly parent?: string;
  readonly thread?: string;
  readonly error?: string;
  readonly tokens?: number;
}

async function record(drafts: readonly Draft[]): Promise<void> {
  const orders = new Map<string, string>();
  const post = drafts.map(({ name, parent, thread, error, tokens = 0 }, index) => {
    const runId = crypto.randomUUID();
    ids.set(name, runId);
    const above = parent === undefined ? "" : `${orders.get(parent)}.`;
    const order = `${above}20260102T03040${5 + index}000000Z${runId}`;
    orders.set(name, order);
    return {
      id: runId,
      name,
      run_type: parent === undefined ? "chain" : "llm",
      trace_id: order.slice(22, 58),
      dotted_order: order,
      ...(parent === undefined ? {} : { parent_run_id: id(parent) }),
      inputs: { of: name, big: 12_345_678_901_234_567_890n.toString() },
      outputs: {
        done: name,
        usage_metadata: {
          input_tokens: tokens,
          output_tokens: 1,
          input_token_details: { cache_read: tokens },
          output_cost_details: { reasoning: 0.5 },
        },
      },
      start_time: start + index * 1_000,
      end_time: start + index * 1_000 + 500,
      tags: ["beta"],
      ...(error === undefined ? {} : { error }),
      ...(thread === undefined ? {} : { extra: { metadata: { thread_id: thread, plan: "pro" } } }),
      session_name: project,
    };
  });
  const response = await fetch(`${testServer.url}/runs/batch`, {
    method: "POST",
    body: JSON.stringify({ post }),
  });
  expect(response.status).toBe(202);
}

beforeAll(async () => {
  await record([
    { name: "first", thread: "talk", tokens: 10 },
    { name: "model", parent: "first", tokens: 7 },
    { name: "second", thread: "talk", tokens: 20, error: "too late" },
    { name: "alone", thread: "other" },
  ]);
  const sessions = await fetch(`${testServer.url}/sessions?name=${encodeURIComponent(project)}`);
  [{ id: projectId }] = (await sessions.json()) as [{ id: string }];
});

/** Creates a dataset of two examples, and an experiment that scored 0 on the first and 1 on the second. */
async function recordExperiment() {
  const { reader } = testServer;
  const { id: dataset } = await reader.datasets.create({ name: unique("v2 experiment") });
  const examples = [crypto.randomUUID(), crypto.randomUUID()];
  for (const [n, example] of examples.entries()) {
    await reader.examples.create({ datasetId: dataset, id: example, inputs: { n } });
  }
  const name = unique("v2 try");
  const { id: experiment } = await reader.projects.create({ name, referenceDatasetId: dataset });
  const runs = examples.map(() => crypto.randomUUID());
  const post = runs.map((run, n) => ({
    id: run,
    trace_id: run,
    dotted_order: `20260102T03040${n}000000Z${run}`,
    name: `try ${n}`,
    run_type: "chain",
    inputs: { n },
    start_time: start + n * 1_000,
    end_time: start + n * 1_000 + 500,
    session_name: name,
    reference_example_id: examples[n],
  }));
  await fetch(`${testServer.url}/runs/batch`, { method: "POST", body: JSON.stringify({ post }) });
  for (const [n, run] of runs.entries()) {
    await reader.feedback.create({ runId: run, key: "quality", score: n });
  }
  return { dataset, experiment, examples, runs };
}

describe.each(realVersions)("/api/v2 with %s", (newer) => {
  const client = (): TodaysClient => testServer.newest(newer);

  test("queries runs page by page, with the fields that are selected", async () => {
    const runs = await toArray(
      client().runs.query({
        project_ids: [projectId],
        ...since,
        page_size: 2,
        selects: [
          "NAME",
          "RUN_TYPE",
          "STATUS",
          "INPUTS",
          "TOTAL_TOKENS",
          "LATENCY_SECONDS",
          "IS_ROOT",
        ],
      }),
    );
    expect(runs.map(({ name }) => name)).toEqual(["alone", "second", "model", "first"]);
    expect(runs[1]).toEqual({
      id: id("second"),
      name: "second",
      run_type: "CHAIN",
      status: "ERROR",
      inputs: { of: "second", big: "12345678901234567890" },
      total_tokens: 21,
      latency_seconds: 0.5,
      is_root: true,
    });
  });

  test.each([
    ["roots", { is_root: true }, ["alone", "second", "first"]],
    ["what failed", { has_error: true }, ["second"]],
    ["a type", { run_type: "LLM" as const }, ["model"]],
    ["a trace", { trace_id: "first" }, ["model", "first"]],
    ["a filter", { filter: 'eq(name, "alone")' }, ["alone"]],
    ["a filter of the tree", { tree_filter: 'eq(name, "model")' }, ["model", "first"]],
    [
      "a time",
      {
        min_start_time: new Date(start + 1_000).toISOString(),
        max_start_time: new Date(start + 2_000).toISOString(),
      },
      ["second", "model"],
    ],
  ])("queries %s", async (_what, filter, names) => {
    const trace = "trace_id" in filter ? { trace_id: id(filter.trace_id) } : {};
    const runs = await toArray(
      client().runs.query({
        project_ids: [projectId],
        ...since,
        selects: ["NAME"],
        ...filter,
        ...trace,
      }),
    );
    expect(runs.map(({ name }) => name)).toEqual(names);
  });

  test("returns only ids without selects, and names an unknown field", async () => {
    const runs = await toArray(
      client().runs.query({ project_ids: [projectId], ...since, is_root: true }),
    );
    expect(runs[0]).toEqual({ id: id("alone") });
    const wrong = { project_ids: [projectId], selects: ["NAMES" as "NAME"] };
    await expect(toArray(client().runs.query(wrong))).rejects.toThrow(/422.*NAMES/s);
    await expect(toArray(client().runs.query({}))).rejects.toThrow(/422.*project_ids/s);
  });

  test("reads one run, and returns the address of its page", async () => {
    const run = await client().runs.retrieve(id("model"), {
      project_id: projectId,
      selects: ["NAME", "PARENT_RUN_IDS", "TRACE_ID", "TAGS", "OUTPUTS_PREVIEW"],
    });
    expect(run).toEqual({
      id: id("model"),
      name: "model",
      parent_run_ids: [id("first")],
      trace_id: id("first"),
      tags: ["beta"],
      outputs_preview: expect.stringContaining('"done":"model"') as unknown,
    });
    const where = { project_id: projectId, trace_id: id("first") };
    const { url = "" } = await client().runs.getURL(id("model"), where);
    expect(new URL(url).origin).toBe(testServer.url);
    expect(new URL(url).pathname).toMatch(
      new RegExp(`^/o/[^/]+/projects/p/${projectId}/r/${id("model")}$`),
    );
    const missing = { project_id: projectId };
    await expect(client().runs.retrieve(crypto.randomUUID(), missing)).rejects.toThrow("404");
  });

  test("returns when a run was last queued, and omits fields that no run has", async () => {
    const { annotationQueues } = testServer.reader;
    const selects = ["NAME", "LAST_QUEUED_AT", "PRICE_MODEL_ID", "THREAD_EVALUATION_TIME"] as const;
    const shown = { project_id: projectId, selects: [...selects] };
    expect(await client().runs.retrieve(id("alone"), shown)).toEqual({
      id: id("alone"),
      name: "alone",
    });
    const before = Date.now();
    for (const name of ["first queue", "second queue"]) {
      const queue = await annotationQueues.create({ name: unique(name) });
      await annotationQueues.addRuns(queue.id, { runIds: [id("alone")] });
    }
    const run = await client().runs.retrieve(id("alone"), shown);
    expect(run).toEqual({
      id: id("alone"),
      name: "alone",
      last_queued_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)$/) as string,
    });
    expect(Date.parse(String(run.last_queued_at))).toBeGreaterThanOrEqual(before - 1_000);
    // The types of 0.10 lack the user's field.
    const ofUser = `project_id=${projectId}&selects=LS_USER_ID`;
    const response = await fetch(`${testServer.url}/api/v2/runs/${id("alone")}?${ofUser}`);
    expect(await response.json()).toEqual({ id: id("alone") });
    const query = { project_ids: [projectId], ...since, selects: [...selects] };
    const listed = await toArray(client().runs.query(query));
    expect(listed.filter((one) => one.last_queued_at !== undefined)).toMatchObject([run]);
    for (const { id: queueId } of await annotationQueues.list().toArray()) {
      await annotationQueues.delete(queueId);
    }
  });

  test("shares and unshares a run", async () => {
    const { share_token: token } = await client().runs.share.create(id("first"), {});
    const selects: "SHARE_URL"[] = ["SHARE_URL"];
    const shared = { project_id: projectId, selects };
    const { share_url: url } = await client().runs.retrieve(id("first"), shared);
    expect(url).toBe(`${testServer.url}/public/${token}/r`);
    expect((await fetch(`${testServer.url}/public/${token}/run`)).status).toBe(200);
    await client().runs.share.delete(id("first"), {});
    expect((await fetch(`${testServer.url}/public/${token}/run`)).status).toBe(404);
  });

  test("lists the runs of a trace in their order", async () => {
    const { items } = await client().traces.listRuns(id("first"), {
      project_id: projectId,
      selects: ["NAME"],
    });
    expect(items).toEqual([
      { id: id("first"), name: "first" },
      { id: id("model"), name: "model" },
    ]);
  });

  test("queries threads page by page, the most recently active first", async () => {
    const threads = await toArray(
      client().threads.query({ project_id: projectId, ...since, page_size: 1 }),
    );
    expect(threads.map(({ thread_id: thread, count }) => [thread, count])).toEqual([
      ["other", 1],
      ["talk", 2],
    ]);
    expect(threads[1]).toMatchObject({
      first_trace_id: id("first"),
      last_trace_id: id("second"),
      last_error: "too late",
      num_errored_turns: 1,
      total_tokens: 32,
      latency_p50: 0.5,
    });
    const failed = client().threads.query({
      project_id: projectId,
      ...since,
      filter: 'eq(status, "error")',
    });
    expect((await toArray(failed)).map(({ thread_id: thread }) => thread)).toEqual(["talk"]);
  });

  test("lists a thread's traces and totals", async () => {
    const traces = await toArray(
      client().threads.listTraces("talk", {
        project_id: projectId,
        selects: ["NAME", "LATENCY", "ERROR"],
      }),
    );
    expect(traces).toEqual([
      { trace_id: id("second"), name: "second", latency: 0.5, error: "too late" },
      { trace_id: id("first"), name: "first", latency: 0.5 },
    ]);
    const stats = await client().threads.stats("talk", {
      session_id: projectId,
      selects: ["TURNS", "TOTAL_TOKENS", "LATENCY_P99", "LAST_START_TIME"],
    });
    expect(stats).toMatchObject({ turns: 2, total_tokens: 32, latency_p99_seconds: 0.5 });
    expect(Date.parse(stats.last_start_time ?? "")).toBe(start + 2_000);
    expect(Object.keys(stats)).toHaveLength(4);
  });

  test("queries only the last day by default", async () => {
    const [runs, threads, traces] = await Promise.all([
      toArray(client().runs.query({ project_ids: [projectId] })),
      toArray(client().threads.query({ project_id: projectId })),
      toArray(client().traces.query({ project_id: projectId })),
    ]);
    expect([runs, threads, traces]).toEqual([[], [], []]);
    const today = unique("v2 today");
    const run = { name: "now", run_type: "chain" as const, inputs: {}, project_name: today };
    await testServer.reader.createRun({ ...run, id: crypto.randomUUID(), start_time: Date.now() });
    await testServer.reader.flush();
    const { id: todayId } = await testServer.reader.projects.read({ projectName: today });
    const recent = client().runs.query({ project_ids: [todayId], selects: ["NAME"] });
    expect((await toArray(recent)).map(({ name }) => name)).toEqual(["now"]);
  });

  test("queries traces with the totals of each trace", async () => {
    const query = { project_id: projectId, ...since, page_size: 2 };
    const traces = await toArray(
      client().traces.query({ ...query, selects: ["NAME", "TOTAL_TOKENS"] }),
    );
    expect(traces).toEqual([
      { root_run: { id: id("alone"), name: "alone" }, trace_aggregates: { total_tokens: 0 } },
      { root_run: { id: id("second"), name: "second" }, trace_aggregates: { total_tokens: 0 } },
      // The sum of its two runs of type llm: 7 and 1.
      { root_run: { id: id("first"), name: "first" }, trace_aggregates: { total_tokens: 8 } },
    ]);
    const one = { ...query, trace_ids: [id("first"), id("alone")] };
    const found = client().traces.query({ ...one, tree_filter: 'eq(name, "model")' });
    expect(await toArray(found)).toEqual([{ root_run: { id: id("first") } }]);
    // The upper bound is exclusive.
    const before = { ...query, max_start_time: new Date(start + 2_000).toISOString() };
    const earlier = await toArray(client().traces.query(before));
    expect(earlier.map(({ root_run: root }) => root?.id)).toEqual([id("first")]);
    await expect(toArray(client().traces.query({ ...query, project_id: "x" }))).rejects.toThrow(
      /422.*project_id/s,
    );
  });

  test("returns when the first token of a trace arrived", async () => {
    const traced = unique("v2 streamed");
    const [root, child] = [crypto.randomUUID(), crypto.randomUUID()];
    const order = `20260102T030405000000Z${root}`;
    const at = "2026-01-02T03:04:05.250000Z";
    const common = { trace_id: root, inputs: {}, start_time: start, session_name: traced };
    const post = [
      { ...common, id: root, name: "root", run_type: "chain", dotted_order: order },
      {
        ...common,
        id: child,
        name: "model",
        run_type: "llm",
        parent_run_id: root,
        dotted_order: `${order}.20260102T030405000000Z${child}`,
        events: [{ name: "new_token", time: at }],
      },
    ];
    await fetch(`${testServer.url}/runs/batch`, { method: "POST", body: JSON.stringify({ post }) });
    const { id: of } = await testServer.reader.projects.read({ projectName: traced });
    const query = { project_id: of, ...since, selects: ["FIRST_TOKEN_TIME" as const] };
    expect(await toArray(client().traces.query(query))).toEqual([
      { root_run: { id: root }, trace_aggregates: { first_token_time: at } },
    ]);
  });

  test("returns tokens and costs by category, and the dataset of an experiment's runs", async () => {
    const selects = [
      "PROMPT_TOKEN_DETAILS" as const,
      "COMPLETION_TOKEN_DETAILS" as const,
      "COMPLETION_COST_DETAILS" as const,
      "REFERENCE_DATASET_ID" as const,
    ];
    const where = { project_id: projectId, selects };
    expect(await client().runs.retrieve(id("model"), where)).toEqual({
      id: id("model"),
      prompt_token_details: { raw: { cache_read: 7 } },
      completion_cost_details: { raw: { reasoning: 0.5 } },
    });
    const { dataset, experiment, runs } = await recordExperiment();
    const found = await toArray(
      client().runs.query({ reference_dataset_id: dataset, selects: ["REFERENCE_DATASET_ID"] }),
    );
    expect(found.map((run) => run.reference_dataset_id)).toEqual([dataset, dataset]);
    const run = { project_id: experiment, selects: ["REFERENCE_DATASET_ID" as const] };
    expect(await client().runs.retrieve(runs[0] ?? "", run)).toMatchObject({
      reference_dataset_id: dataset,
    });
    const both = { reference_dataset_id: dataset, project_ids: [experiment] };
    await expect(toArray(client().runs.query(both))).rejects.toThrow(
      /422.*pass either project_ids/s,
    );
  });

  test("queries the runs of an experiment by example, page by page and by score", async () => {
    const { dataset, experiment, examples, runs } = await recordExperiment();
    const baseQuery = { experiment_ids: [experiment], page_size: 1, selects: ["NAME" as const] };
    const byExample = await toArray(client().datasets.experimentRuns.query(dataset, baseQuery));
    expect(byExample).toMatchObject([
      { id: examples[0], inputs: { n: 0 }, runs: [{ id: runs[0], name: "try 0" }] },
      { id: examples[1], inputs: { n: 1 }, runs: [{ id: runs[1], name: "try 1" }] },
    ]);
    const order = async (query: object): Promise<unknown[]> => {
      const items = client().datasets.experimentRuns.query(dataset, { ...baseQuery, ...query });
      return (await toArray(items)).map(({ id: example }) => example);
    };
    expect(await order({ sort: { by: "feedback.quality" } })).toEqual([examples[1], examples[0]]);
    expect(await order({ sort: { by: "quality", order: "ASC" } })).toEqual(examples);
    expect(await order({ example_ids: [examples[1]] })).toEqual([examples[1]]);
    const filters = { [experiment]: ['eq(name, "try 1")', "eq(is_root, true)"] };
    const filtered = { ...baseQuery, page_size: 10, filters };
    const matches = await toArray(client().datasets.experimentRuns.query(dataset, filtered));
    expect(matches.map((example) => example.runs?.length)).toEqual([0, 1]);
  });

  test("reads all runs of a shared trace without a key, and no other", async () => {
    const owner = { session_id: projectId, trace_id: id("first") };
    const { share_token: token = "" } = await client().runs.share.create(id("model"), owner);
    // The root and its descendants have the same share.
    expect(await client().runs.share.create(id("first"), owner)).toEqual({ share_token: token });
    const selects: ("NAME" | "IS_ROOT")[] = ["NAME", "IS_ROOT"];
    const root = { id: id("first"), name: "first", is_root: true };
    const child = { id: id("model"), name: "model", is_root: false };
    const { runs } = client().public;
    expect(await runs.query(token, { selects })).toMatchObject({ items: [root, child] });
    const read = { share_token: token, selects, start_time: new Date(start).toISOString() };
    expect(await runs.retrieve(id("first"), read)).toEqual(root);
    expect(await runs.retrieve(id("model"), read)).toEqual(child);
    await expect(runs.retrieve(id("second"), read)).rejects.toThrow("404");
    const owners = { ...read, selects: ["APP_PATH"] };
    await expect(runs.retrieve(id("first"), owners)).rejects.toThrow("422");
    await client().runs.share.delete(id("first"), { session_id: projectId });
    await client().runs.share.delete(id("first"), { session_id: projectId });
    await expect(runs.query(token, { selects })).rejects.toThrow("404");
  });

  test("returns which runs are linked to examples", async () => {
    const { dataset, experiment } = await recordExperiment();
    const selects: ("NAME" | "IS_IN_DATASET")[] = ["NAME", "IS_IN_DATASET"];
    const { examples } = testServer.reader;
    const { id: example } = await examples.create({
      datasetId: dataset,
      inputs: {},
      sourceRunId: id("alone"),
    });
    const linked = async (of: string): Promise<unknown[]> =>
      (await toArray(client().runs.query({ project_ids: [of], ...since, selects }))).map(
        ({ name, is_in_dataset: is }) => [name, is],
      );
    const others = [
      ["second", false],
      ["model", false],
      ["first", false],
    ];
    expect(await linked(projectId)).toEqual([["alone", true], ...others]);
    expect(await client().runs.retrieve(id("alone"), { project_id: projectId, selects })).toEqual({
      id: id("alone"),
      name: "alone",
      is_in_dataset: true,
    });
    // The runs of an experiment refer to examples.
    expect(await linked(experiment)).toEqual([
      ["try 1", true],
      ["try 0", true],
    ]);
    await examples.delete(example);
    expect(await linked(projectId)).toEqual([["alone", false], ...others]);
  });

  test("numbers the turns of a thread, and sums its categories and its feedback", async () => {
    // The types of 0.10 lack both fields, but the server accepts them from either client.
    const query = {
      project_id: projectId,
      tree_filter: 'eq(name, "model")',
      selects: ["TURN_NUMBER" as "NAME"],
    };
    const turns = await toArray(client().threads.listTraces("talk", query));
    expect(turns).toEqual([{ trace_id: id("first"), turn_number: 1 }]);
    await testServer.reader.feedback.create({ runId: id("second"), key: newer, score: 1 });
    const selects = ["PROMPT_TOKEN_DETAILS" as const, "FEEDBACK_STATS" as const];
    expect(await client().threads.stats("talk", { session_id: projectId, selects })).toMatchObject({
      prompt_token_details: { raw: { cache_read: 30 } },
      feedback_stats: { [newer]: { n: 1, avg: 1 } },
    });
  });

  test("returns 501 for sandboxes, SQL and unsupported searches of the hosted service", async () => {
    const query = { project_ids: [projectId], ai_search: "rude answers" };
    await expect(toArray(client().runs.query(query))).rejects.toThrow(/406.*event-stream/s);
    const filtered = { project_id: projectId, ...since, thread_filter: "gt(count, 1)" };
    await expect(toArray(client().threads.query(filtered))).rejects.toThrow(/501.*thread_filter/s);
    for (const path of ["/api/v2/sandboxes/boxes", "/v2/sandboxes/boxes", "/v2/sql/query"]) {
      const response = await fetch(`${testServer.url}${path}`, { method: "POST", body: "{}" });
      expect(response.status).toBe(501);
      expect(await response.text()).toContain("of the hosted service only");
    }
  });
});

describe("/api/v2 with langsmith 0.12 only", () => {
  const client = (): NewestClient => testServer.newest("langsmith-0.12") as unknown as NewestClient;

  test("streams a page item by item, and continues with the next page", async () => {
    const baseQuery = { ...since, page_size: 2 };
    const { runs, threads, traces } = client();
    const ofRuns = { ...baseQuery, project_ids: [projectId], selects: ["NAME" as const] };
    const events = await toArray(await runs.streaming.queryV2(ofRuns));
    expect(events.map(([patch]) => patch?.path)).toEqual(["", "/items/-", "/items/-"]);
    const names = await toArray(runs.streaming.queryV2Items(ofRuns));
    expect(names.map(({ name }) => name)).toEqual(["alone", "second", "model", "first"]);
    const of = { ...baseQuery, project_id: projectId };
    const found = await toArray(traces.streaming.queryItems(of));
    expect(found.map(({ root_run: root }) => root?.id)).toEqual([
      id("alone"),
      id("second"),
      id("first"),
    ]);
    const talks = await toArray(threads.streaming.queryItems({ ...of, page_size: 1 }));
    expect(talks.map(({ thread_id: thread }) => thread)).toEqual(["other", "talk"]);
    const search = { ...ofRuns, ai_search: "rude answers" };
    await expect(runs.streaming.queryV2(search)).rejects.toThrow(/501.*ai_search/s);
  });

  test("streams a payload that was received with line breaks", async () => {
    const failedProject = unique("v2 lines");
    const run = crypto.randomUUID();
    const post = `{"id":"${run}","trace_id":"${run}","name":"lines","run_type":"chain",
      "dotted_order":"20260102T030405000000Z${run}","session_name":"${failedProject}","start_time":${start},"inputs":{\n"text":\r\n"two\\nlines"}}`;
    const body = `{"post":[${post}]}`;
    await fetch(`${testServer.url}/runs/batch`, { method: "POST", body });
    const { id: of } = await testServer.reader.projects.read({ projectName: failedProject });
    const baseQuery = { project_ids: [of], ...since, selects: ["INPUTS" as const] };
    const [found] = await toArray(client().runs.streaming.queryV2Items(baseQuery));
    expect(found?.inputs).toEqual({ text: "two\nlines" });
  });

  test("counts the threads of a project together", async () => {
    const baseQuery = { project_id: projectId, ...since };
    const { threads } = client();
    const select = ["THREAD_COUNT", "TRACE_COUNT", "ERROR_RATE", "MEDIAN_TOKENS"] as const;
    expect(await threads.aggregateStats({ ...baseQuery, select: [...select] })).toEqual({
      thread_count: 2,
      trace_count: 3,
      error_rate: 1 / 3,
      median_tokens: 11,
    });
    // All traces of the threads that contain a matching trace.
    const failed = { ...baseQuery, trace_filter: 'eq(status, "error")' };
    const of = ["TRACE_COUNT", "LATENCY_P50", "PROMPT_TOKEN_DETAILS"] as const;
    expect(await threads.aggregateStats({ ...failed, select: [...of] })).toEqual({
      trace_count: 2,
      latency_p50_seconds: 0.5,
      prompt_token_details: { cache_read: 30 },
    });
  });

  test("shares a whole thread, returns its token, and unshares it", async () => {
    const { share } = client().threads;
    const where = { project_id: projectId };
    expect(await share.retrieve("talk", where)).toEqual({});
    const { share_token: token = "" } = await share.create("talk", where);
    expect(await share.create("talk", where)).toEqual({ share_token: token });
    expect(await share.retrieve("talk", where)).toEqual({ share_token: token });
    const { runs } = client().public;
    const { items = [] } = await runs.query(token, { selects: ["NAME"] });
    expect(items.map(({ name }) => name)).toEqual(["first", "model", "second"]);
    const read = {
      share_token: token,
      selects: ["NAME"],
      start_time: new Date(start).toISOString(),
    };
    expect(await runs.retrieve(id("model"), read)).toEqual({ id: id("model"), name: "model" });
    await expect(runs.retrieve(id("alone"), read)).rejects.toThrow("404");
    await share.delete("talk", where);
    await share.delete("talk", where);
    expect(await share.retrieve("talk", where)).toEqual({});
    await expect(runs.query(token, { selects: ["NAME"] })).rejects.toThrow("404");
    await expect(share.create("no such talk", where)).rejects.toThrow("404");
    const nowhere = { project_id: crypto.randomUUID() };
    await expect(share.create("talk", nowhere)).rejects.toThrow("404");
  });

  test("lists projects and experiments page by page", async () => {
    const { dataset, experiment } = await recordExperiment();
    const { sessions } = client();
    const of = { reference_dataset_id: [dataset], include_stats: true };
    expect(await toArray(sessions.listV2(of))).toMatchObject([
      { id: experiment, type: "EXPERIMENT", reference_dataset_id: dataset, run_count: 2 },
    ]);
    const [name, other] = [unique("v2 list"), unique("v2 list")];
    await testServer.reader.projects.create({ name });
    await testServer.reader.projects.create({ name: other });
    const baseQuery = { name_contains: "v2 list", page_size: 1, sort_by: "NAME" as const };
    const listed = async (query: object): Promise<unknown[]> =>
      (await toArray(sessions.listV2({ ...baseQuery, ...query }))).map((one) => one.name);
    const names = [name, other].toSorted();
    expect(await listed({ sort_order: "asc" })).toEqual(names);
    expect(await listed({ sort_order: "desc", type: ["PROJECT"] })).toEqual(names.toReversed());
    expect(await listed({ type: ["EXPERIMENT"] })).toEqual([]);
    expect(await listed({ type: ["AGENT"] })).toEqual([]);
    await expect(listed({ sort_by: "ERROR_RATE" })).rejects.toThrow(/422.*NAME, START_TIME/s);
    await expect(listed({ filter: "eq(name, 'x')" })).rejects.toThrow(/501.*filter/s);
  });

  test("lists datasets page by page", async () => {
    const names = [unique("v2 set"), unique("v2 set")].toSorted();
    for (const name of names) {
      await testServer.reader.datasets.create({ name });
    }
    const baseQuery = { name_contains: "v2 set", page_size: 1, sort_by: "name" as const };
    const { datasets } = client();
    const listed = await toArray(datasets.listV2({ ...baseQuery, sort_order: "asc" }));
    expect(listed.map(({ name, example_count: count }) => [name, count])).toEqual(
      names.map((name) => [name, 0]),
    );
    const exclude: "example_count"[] = ["example_count"];
    const [last] = await toArray(datasets.listV2({ ...baseQuery, exclude }));
    expect(last).toMatchObject({ name: names[1], example_count: null });
  });
});
