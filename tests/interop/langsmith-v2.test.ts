import type { Client as TodaysClient } from "langsmith";
import { beforeAll, describe, expect, test } from "vitest";
import { Desk, toArray, unique } from "./langsmith/desk.ts";
import { newVersions } from "./langsmith/methods.ts";

const desk = new Desk("runs");
const project = unique("v2");
const ids = new Map<string, string>();
const start = Date.UTC(2026, 0, 2, 3, 4, 5);
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
      outputs: { done: name, usage_metadata: { input_tokens: tokens, output_tokens: 1 } },
      start_time: start + index * 1_000,
      end_time: start + index * 1_000 + 500,
      tags: ["beta"],
      ...(error === undefined ? {} : { error }),
      ...(thread === undefined ? {} : { extra: { metadata: { thread_id: thread, plan: "pro" } } }),
      session_name: project,
    };
  });
  const response = await fetch(`${desk.url}/runs/batch`, {
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
  const sessions = await fetch(`${desk.url}/sessions?name=${encodeURIComponent(project)}`);
  [{ id: projectId }] = (await sessions.json()) as [{ id: string }];
});

describe.each(newVersions)("the second version of the API, asked by %s", (newer) => {
  const client = (): TodaysClient => desk.newest(newer);

  test("queries runs page by page, with the fields that are selected", async () => {
    const runs = await toArray(
      client().runs.query({
        project_ids: [projectId],
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
      client().runs.query({ project_ids: [projectId], selects: ["NAME"], ...filter, ...trace }),
    );
    expect(runs.map(({ name }) => name)).toEqual(names);
  });

  test("without selects has ids alone, and names a field that there is not", async () => {
    const runs = await toArray(client().runs.query({ project_ids: [projectId], is_root: true }));
    expect(runs[0]).toEqual({ id: id("alone") });
    const wrong = { project_ids: [projectId], selects: ["NAMES" as "NAME"] };
    await expect(toArray(client().runs.query(wrong))).rejects.toThrow(/422.*NAMES/s);
    await expect(toArray(client().runs.query({}))).rejects.toThrow(/422.*project_ids/s);
  });

  test("reads one run, and says where its page is", async () => {
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
    expect(new URL(url).origin).toBe(desk.url);
    expect(new URL(url).pathname).toMatch(
      new RegExp(`^/o/[^/]+/projects/p/${projectId}/r/${id("model")}$`),
    );
    const missing = { project_id: projectId };
    await expect(client().runs.retrieve(crypto.randomUUID(), missing)).rejects.toThrow("404");
  });

  test("shares a run and takes that back", async () => {
    const { share_token: token } = await client().runs.share.create(id("first"), {});
    const selects: "SHARE_URL"[] = ["SHARE_URL"];
    const shared = { project_id: projectId, selects };
    const { share_url: url } = await client().runs.retrieve(id("first"), shared);
    expect(url).toBe(`${desk.url}/public/${token}/r`);
    expect((await fetch(`${desk.url}/public/${token}/run`)).status).toBe(200);
    await client().runs.share.delete(id("first"), {});
    expect((await fetch(`${desk.url}/public/${token}/run`)).status).toBe(404);
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

  test("queries threads, the one that was active last first, page by page", async () => {
    const threads = await toArray(client().threads.query({ project_id: projectId, page_size: 1 }));
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
    const failed = client().threads.query({ project_id: projectId, filter: 'eq(status, "error")' });
    expect((await toArray(failed)).map(({ thread_id: thread }) => thread)).toEqual(["talk"]);
  });

  test("lists a thread's traces, and what it comes to", async () => {
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
});
