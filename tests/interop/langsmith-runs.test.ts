import { beforeAll, describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { versions, newVersions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("runs");

const start = Date.UTC(2026, 0, 2, 3, 4, 5, 0);

interface Draft {
  readonly name: string;
  readonly run_type?: string;
  readonly parent?: string;
  readonly seconds?: number;
  readonly error?: string;
  readonly tags?: string[];
  readonly metadata?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
}

/** A project with two traces: `good` has three levels, and `bad` failed. */
class Sample {
  readonly project = unique("runs");
  readonly ids = new Map<string, string>();

  static async make(): Promise<Sample> {
    const sample = new Sample();
    const slow = { seconds: 12, tags: ["beta"], metadata: { plan: "pro", thread_id: "talk" } };
    await sample.#send([
      { name: "good", ...slow },
      { name: "model", parent: "good", run_type: "llm", outputs: { text: "umbrella" } },
      { name: "tool", parent: "model", run_type: "tool" },
      { name: "bad", error: "no umbrella", metadata: { thread_id: "other" } },
      { name: "broken", parent: "bad", run_type: "tool", error: "no umbrella" },
    ]);
    return sample;
  }

  id(name: string): string {
    return this.ids.get(name)!;
  }

  async #send(drafts: readonly Draft[]): Promise<void> {
    const orders = new Map<string, string>();
    for (const [index, draft] of drafts.entries()) {
      const { name, parent, seconds = 1, run_type = "chain", metadata = {}, ...others } = draft;
      const id = crypto.randomUUID();
      const segment = `20260102T030405${String(index).padStart(6, "0")}Z${id}`;
      const above = orders.get(parent ?? "");
      const dottedOrder = above === undefined ? segment : `${above}.${segment}`;
      orders.set(name, dottedOrder);
      this.ids.set(name, id);
      const traceId = dottedOrder.slice(22, 58);
      const run = {
        ...others,
        id,
        name,
        run_type,
        trace_id: traceId,
        dotted_order: dottedOrder,
        ...(parent === undefined ? {} : { parent_run_id: this.id(parent) }),
        inputs: { of: name },
        start_time: start + index,
        end_time: start + index + seconds * 1_000,
        extra: { metadata },
        session_name: this.project,
      };
      await fetch(`${testServer.url}/runs`, { method: "POST", body: JSON.stringify(run) });
    }
  }
}

let sample: Sample;

beforeAll(async () => {
  sample = await Sample.make();
});

describe.each(versions)("runs of %s", (version) => {
  test("a run is read, also with all its descendants", async () => {
    const client = testServer.either(version);
    const alone = await client.readRun(sample.id("good"));
    expect(alone).toMatchObject({
      name: "good",
      inputs: { of: "good" },
      tags: ["beta"],
      extra: { metadata: { plan: "pro" } },
      trace_id: sample.id("good"),
      status: "success",
    });
    const withChildren = await client.readRun(sample.id("good"), { loadChildRuns: true });
    expect(withChildren.child_runs).toMatchObject([
      {
        id: sample.id("model"),
        outputs: { text: "umbrella" },
        child_runs: [{ id: sample.id("tool"), parent_run_id: sample.id("model") }],
      },
    ]);
    await expect(client.readRun(crypto.randomUUID())).rejects.toThrow("404");
  });

  const names = ["good", "model", "tool", "bad", "broken"];
  const filters = {
    "all of a project": [{}, names],
    roots: [{ isRoot: true }, ["good", "bad"]],
    "what failed": [{ error: true }, ["bad", "broken"]],
    "what did not fail": [{ error: false }, ["good", "model", "tool"]],
    "a type": [{ runType: "tool" }, ["tool", "broken"]],
    "a text": [{ query: "umbrella" }, ["model", "bad", "broken"]],
    "what started later": [{ startTime: new Date(start + 3) }, ["bad", "broken"]],
    "a limit": [{ limit: 2 }, ["bad", "broken"]],
    "a filter": [{ filter: 'and(eq(run_type, "chain"), gt(latency, 10))' }, ["good"]],
    "a filter by tag": [{ filter: 'has(tags, "beta")' }, ["good"]],
    "a filter by metadata": [
      { filter: 'and(eq(metadata_key, "plan"), eq(metadata_value, "pro"))' },
      ["good"],
    ],
    "a filter by error": [{ filter: "neq(error, null)" }, ["bad", "broken"]],
    "a filter by text": [{ filter: 'search("umbrella")' }, ["model", "bad", "broken"]],
    "a filter of the root": [
      { filter: 'eq(run_type, "tool")', traceFilter: 'eq(name, "good")' },
      ["tool"],
    ],
    "a filter of the tree": [
      { isRoot: true, treeFilter: 'and(eq(run_type, "tool"), neq(error, null))' },
      ["bad"],
    ],
  } as const;

  test.each(Object.entries(filters))("%s is listed", async (_, [filter, expected]) => {
    const client = testServer.either(version);
    const found = await toArray(client.listRuns({ projectName: sample.project, ...filter }));
    expect(new Set(found.map(({ name }) => name))).toEqual(new Set(expected));
    expect(found).toHaveLength(expected.length);
  });

  test("runs are listed by trace, by parent and by id", async () => {
    const client = testServer.either(version);
    const namesOf = async (filter: Parameters<typeof client.listRuns>[0]) =>
      new Set((await toArray(client.listRuns(filter))).map(({ name }) => name));
    const trace = await namesOf({ traceId: sample.id("good") });
    expect(trace).toEqual(new Set(["good", "model", "tool"]));
    expect(await namesOf({ parentRunId: sample.id("bad") })).toEqual(new Set(["broken"]));
    const id = [sample.id("tool"), sample.id("bad")];
    expect(await namesOf({ id })).toEqual(new Set(["tool", "bad"]));
    const { id: projectId } = await client.readProject({ projectName: sample.project });
    expect(await namesOf({ projectId: [projectId] })).toEqual(new Set(names));
  });

  test("a list selects fields, and spans several pages", async () => {
    const client = testServer.either(version);
    const [run] = await toArray(
      client.listRuns({ projectName: sample.project, isRoot: true, select: ["id", "name"] }),
    );
    expect(run).not.toHaveProperty("inputs");
    const project = unique("pages");
    const ids = Array.from({ length: 150 }, () => crypto.randomUUID());
    await client.batchIngestRuns({
      runCreates: ids.map((id) => ({
        id,
        trace_id: id,
        dotted_order: `20260102T030405678000Z${id}`,
        name: "one of many",
        run_type: "chain",
        inputs: {},
        start_time: start,
        session_name: project,
      })),
    });
    const listed = await toArray(client.listRuns({ projectName: project }));
    expect(listed.map(({ id }) => id)).toHaveLength(150);
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(ids));
  });

  test("statistics cover the runs that match a filter", async () => {
    const client = testServer.either(version);
    const projectNames = [sample.project];
    const stats = async (filter: object) =>
      (await client.getRunStats({ projectNames, ...filter })) as unknown;
    expect(await stats({})).toMatchObject({ run_count: 5, error_rate: 0.4 });
    expect(await stats({ isRoot: true })).toMatchObject({ run_count: 2, error_rate: 0.5 });
    expect(await stats({ filter: 'eq(name, "good")' })).toMatchObject({
      run_count: 1,
      latency_p50: 12,
      error_rate: 0,
    });
    expect(await stats({ runType: "tool", error: true })).toMatchObject({ run_count: 1 });
    expect(await stats({ trace: sample.id("good"), parentRun: sample.id("good") })).toMatchObject({
      run_count: 1,
    });
  });

  test("the server accepts every filter that the client sends", async () => {
    const client = testServer.either(version);
    const id = sample.id("good");
    const since = new Date(Date.UTC(2020, 0, 1));
    const shared = { filter: 'eq(name, "good")', treeFilter: 'eq(name, "good")', error: false };
    const listed = client.listRuns({
      ...shared,
      projectName: sample.project,
      traceFilter: 'eq(name, "good")',
      executionOrder: 1,
      isRoot: true,
      runType: "chain",
      startTime: since,
      id: [id],
      traceId: id,
      limit: 1,
      select: ["id"],
      query: "good",
    });
    expect(await toArray(listed)).toEqual([expect.objectContaining({ id }) as object]);
    const stats = client.getRunStats({
      ...shared,
      projectNames: [sample.project],
      traceFilter: 'eq(name, "good")',
      isRoot: true,
      runType: "chain",
      startTime: since.toISOString(),
      endTime: new Date(Date.UTC(2100, 0, 1)).toISOString(),
      id: [id],
      trace: id,
      query: "good",
      ...(version === "@millrace/langsmith" ? {} : { dataSourceType: "current" }),
    });
    expect(await stats).toMatchObject({ run_count: 1 });
  });

  test("a shared run has a link until it is unshared", async () => {
    const client = testServer.either(version);
    const id = sample.id("good");
    expect(await client.readRunSharedLink(id)).toBeUndefined();
    const link = await client.shareRun(id);
    expect(await client.readRunSharedLink(id)).toBe(link);
    const [token] = new URL(link).pathname.match(/[0-9a-f-]{36}/u)!;
    expect(await testServer.reader.runs.readShared(token)).toMatchObject({ id, name: "good" });
    await client.unshareRun(id);
    expect(await client.readRunSharedLink(id)).toBeUndefined();
    await expect(testServer.reader.runs.readShared(token)).rejects.toThrow("404");
  });

  test("a run that is shared again keeps its link, whatever token the caller proposes", async () => {
    const client = testServer.either(version);
    const id = sample.id("bad");
    const link = await client.shareRun(id, { shareId: crypto.randomUUID() });
    expect(await client.shareRun(id)).toBe(link);
    const [token] = new URL(link).pathname.match(/[0-9a-f-]{36}/u)!;
    expect(await testServer.reader.runs.readShared(token)).toMatchObject({ id });
    await client.unshareRun(id);
  });

  test("a run's page names the tenant, the project and the run", async () => {
    const client = testServer.either(version);
    const run = await client.readRun(sample.id("tool"));
    const { id: tenantId } = await testServer.reader.tenant.settings();
    const page = `/o/${tenantId}/projects/p/${run.session_id}/r/${run.id}`;
    for (const key of [
      { run },
      { runId: run.id },
      { run: { ...run, session_id: undefined }, projectOpts: { projectName: sample.project } },
    ]) {
      const url = await client.getRunUrl(key as Parameters<typeof client.getRunUrl>[0]);
      expect(new URL(url).pathname).toBe(page);
    }
  });
});

test.each(newVersions)(
  "langsmith 0.10 reads a thread of runs, and lists the threads of a project (%s)",
  async (newer) => {
    const client = testServer.newest(newer);
    const { project: projectName } = sample;
    const thread = await toArray(client.readThread({ threadId: "talk", projectName }));
    expect(thread.map(({ id }) => id)).toEqual([sample.id("good")]);
    const threads = await client.listThreads({ projectName, startTime: new Date(start - 1) });
    const listed = threads.map(({ thread_id, count, runs }) => [thread_id, count, runs[0]!.id]);
    expect(listed).toEqual([
      ["other", 1, sample.id("bad")],
      ["talk", 1, sample.id("good")],
    ]);
  },
);

test.each(newVersions)("langsmith 0.10 lists in either order of time (%s)", async (newer) => {
  const client = testServer.newest(newer);
  const namesIn = async (order: "asc" | "desc") =>
    (await toArray(client.listRuns({ projectName: sample.project, order }))).map(
      ({ name }) => name,
    );
  const expected = ["good", "model", "tool", "bad", "broken"];
  expect(await namesIn("asc")).toEqual(expected);
  expect(await namesIn("desc")).toEqual(expected.toReversed());
});

testServer.expectAllCalled();
