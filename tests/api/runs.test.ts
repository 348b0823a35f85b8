import { randomUUID } from "node:crypto";
import { useServer } from "../../server/tests/support/running-server.ts";
import * as fc from "fast-check";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { nestRuns, Runs } from "../../src/api/runs/runs.ts";
import { Projects } from "../../src/api/projects.ts";
import { microsToStamp } from "../../src/model/dotted-order.ts";
import { parseRun } from "../../src/model/resources/run-response.ts";
import type { Run } from "../../src/model/resources/run-response.ts";
import type { WireRun } from "../../src/model/run.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const host = "http://host.test";

function runsAt(endpoint: string): Runs {
  const { http } = createTestHttp(endpoint);
  const projects = new Projects(http.call, host);
  return new Runs(http, { host, endpoint, projects, uploader: noUploads });
}

describe("requests", () => {
  test("every filter is sent in the body under its wire name", async () => {
    const server = await mswServer(
      on.post("*/runs/query", () => HttpResponse.json({ runs: [], cursors: {} })),
      on.get("*/sessions", () => HttpResponse.json([{ id, tenant_id: "t", name: "n" }])),
    );
    const time = "2026-11-21T10:11:12.345678Z";
    await runsAt(server.endpoint)
      .list({
        projectIds: [id],
        projectNames: ["n"],
        ids: [id],
        traceId: id,
        parentRunId: id,
        runType: "llm",
        referenceExampleIds: [id],
        isRoot: false,
        error: true,
        startTime: time,
        endTime: new Date("2026-11-21T10:11:12Z"),
        query: "q",
        filter: "f",
        traceFilter: "t",
        treeFilter: "r",
        select: ["id", "runType", "projectId"],
        order: "asc",
        limit: 7,
      })
      .toArray();
    expect(server.requests.map(({ target }) => target)).toEqual([
      "GET /sessions?name=n&limit=1",
      "POST /runs/query",
    ]);
    expect(server.requests[1]?.body).toEqual({
      session: [id, id],
      id: [id],
      trace: id,
      parent_run: id,
      run_type: "llm",
      reference_example: [id],
      is_root: false,
      error: true,
      start_time: time,
      end_time: "2026-11-21T10:11:12.000Z",
      query: "q",
      filter: "f",
      trace_filter: "t",
      tree_filter: "r",
      select: ["id", "run_type", "session_id"],
      order: "asc",
      limit: 7,
    });
  });

  test("a response that is not a page of runs is a ResponseError", async () => {
    const server = await mswServer(on.post("*", () => HttpResponse.json({ runs: [{}] })));
    await expect(runsAt(server.endpoint).list().toArray()).rejects.toMatchObject({
      code: "ANSWER",
    });
  });
});

describe("refused before anything is sent", () => {
  test("invalid ids, times, tokens and limits", async () => {
    const server = await mswServer();
    const runs = runsAt(server.endpoint);
    const calls = [
      runs.read("x"),
      runs.share("x"),
      runs.unshare("x"),
      runs.url("x"),
      runs.readShared("https://host.test/"),
      runs.stats({ traceId: "x" }),
      runs.stats({ startTime: "soon" }),
      runs.stats({ startTime: 1_795_000_000_000 as unknown as Date }),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
    );
    await expect(runs.readShared("x")).rejects.toThrow("Invalid public run URL or token");
    for (const limit of [0, -1, Number.NaN, "100" as unknown as number]) {
      expect(() => runs.list({ limit })).toThrow(/^limit must be/);
    }
    expect(() => runs.list({ ids: ["x"] })).toThrow('Invalid UUID for run id: "x"');
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const runs = runsAt(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      runs.read(id, { signal }),
      runs.list({ signal }).toArray(),
      runs.stats({ projectNames: ["p"], signal }),
      runs.share(id, { signal }),
      runs.unshare(id, { signal }),
      runs.readShared(id, { signal }),
      runs.url(id, { signal }),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});

describe("child runs", () => {
  test("every run of a tree is nested once, below its parent", () => {
    const anyParents = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(anyParents, (parents) => {
        const trace = parents.map((parent, n) => runOf(`${n}`, n, n === 0 ? null : parent % n));
        const [root = runOf("0", 0, null)] = trace;
        const seen: string[] = [];
        const walk = (run: Run): void => {
          seen.push(run.id);
          for (const child of run.childRuns ?? []) {
            expect(child.parentRunId).toBe(run.id);
            walk(child);
          }
        };
        walk(nestRuns(root, trace.toReversed()));
        expect(seen.toSorted()).toEqual(trace.map((run) => run.id).toSorted());
      }),
    );
  });

  test("runs that are each other's ancestors do not recurse forever", () => {
    const ring = [runOf("a", 1, null), { ...runOf("b", 2, null), parentRunId: "a" }];
    const [first = runOf("a", 1, null)] = ring;
    const turned = { ...first, parentRunId: "b" };
    expect(nestRuns(turned, [turned, ...ring.slice(1)]).childRuns).toHaveLength(1);
  });
});

describe("a run that is read back", () => {
  const metadata = { user_id: 7, run_type: "theirs", nested: { start_time: null } };
  const wire = {
    id,
    name: "n",
    run_type: "llm",
    start_time: "2026-11-21T10:11:12.345678Z",
    end_time: null,
    session_id: id,
    parent_run_id: null,
    total_tokens: 7,
    inputs: metadata,
    outputs: null,
    extra: { metadata, some_key: 1 },
    of_nobody: 1,
  };

  test("has this client's field names, its payload unchanged, and no null fields", () => {
    expect(parseRun(wire)).toStrictEqual({
      id,
      name: "n",
      runType: "llm",
      startTime: wire.start_time,
      projectId: id,
      totalTokens: 7,
      inputs: metadata,
      extra: { metadata, some_key: 1 },
    });
  });

  test("select accepts only this client's field names", async () => {
    const server = await mswServer();
    const select = ["run_type"] as unknown as ["runType"];
    expect(() => runsAt(server.endpoint).list({ select })).toThrow(
      "runs.list: select has an unknown field `run_type`; did you mean `runType`?",
    );
    expect(server.requests).toEqual([]);
  });
});

describe("against the local server", () => {
  const server = useServer();

  /** Records a trace of a root, two children and a grandchild. */
  async function record(project: string, name = "run"): Promise<readonly WireRun[]> {
    const root = rooted(name, project);
    const first = below(root, 1, { error: "boom" });
    const runs = [root, first, below(root, 2), below(first, 3, { error: undefined })];
    await send(runs);
    return runs;
  }

  async function send(post: readonly WireRun[]): Promise<void> {
    const body = JSON.stringify({ post });
    const response = await fetch(`${server.url}/runs/batch`, { method: "POST", body });
    expect(response.status).toBe(202);
  }

  test("a run is read alone, or with its descendants", async () => {
    const text = `<b>'; DROP TABLE runs; --"\u0000`;
    const [root, first, second, deep] = await record("tree", text);
    const runs = runsAt(server.url);
    expect(await runs.read(root!.id)).toMatchObject({ id: root!.id, name: text });
    expect(await runs.read(root!.id)).not.toHaveProperty("childRuns");
    expect(await runs.read(second!.id)).toMatchObject({
      runType: "chain",
      traceId: root!.id,
      parentRunId: root!.id,
      projectName: "tree",
      totalTokens: 0,
    });
    expect(await runs.read(root!.id, { withChildRuns: true })).toMatchObject({
      id: root!.id,
      childRuns: [
        { id: first!.id, childRuns: [{ id: deep!.id, childRuns: [] }] },
        { id: second!.id, childRuns: [] },
      ],
    });
    expect(await runs.read(first!.id, { withChildRuns: true })).toMatchObject({
      childRuns: [{ id: deep!.id }],
    });
    await expect(runs.read(randomUUID())).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        "Failed to read run: 404 Run not found. Check the id or name, the endpoint and the tenant of the key",
    });
  });

  test("a list spans several pages by cursor, in order, up to its limit", async () => {
    const sentRuns = Array.from({ length: 130 }, (_, n) => rooted(`r${n}`, "many", n));
    await send(sentRuns);
    const runs = runsAt(server.url);
    const namesOf = async (filter: Parameters<Runs["list"]>[0]): Promise<readonly string[]> =>
      (await runs.list({ projectNames: ["many"], ...filter }).toArray()).map(({ name }) => name);
    const names = sentRuns.map(({ name }) => name);
    expect(await namesOf({ order: "asc" })).toEqual(names);
    expect(await namesOf({})).toEqual(names.toReversed());
    expect(await namesOf({ order: "asc", limit: 101 })).toEqual(names.slice(0, 101));
    expect(await namesOf({ query: "r129" })).toEqual(["r129"]);
    await expect(namesOf({ projectNames: ["none"] })).rejects.toThrow(
      "Project[name=none] not found",
    );
  });

  test("statistics count the runs that match a filter", async () => {
    await record("stats");
    const runs = runsAt(server.url);
    expect(await runs.stats({ projectNames: ["stats"] })).toMatchObject({
      runCount: 4,
      errorRate: 0.25,
    });
    expect(await runs.stats({ projectNames: ["stats"], isRoot: true })).toMatchObject({
      runCount: 1,
      errorRate: 0,
    });
  });

  test("a shared run can be read by its link until the link is revoked", async () => {
    const [root] = await record("shared");
    const runs = runsAt(server.url);
    const share = await runs.share(root!.id);
    expect(share).toEqual({
      runId: root!.id,
      shareToken: share.shareToken,
      url: `${host}/public/${share.shareToken}/r`,
    });
    expect(await runs.share(root!.id)).toEqual(share);
    expect(await runs.readShared(share.url)).toMatchObject({ id: root!.id });
    expect(await runs.readShared(share.shareToken)).toMatchObject({ id: root!.id });
    await runs.unshare(root!.id);
    await runs.unshare(root!.id);
    await expect(runs.readShared(share.url)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("the URL of a run is below its project's", async () => {
    const [root] = await record("paged");
    const runs = runsAt(server.url);
    const { projectId } = await runs.read(root!.id);
    expect(await runs.url(root!.id)).toMatch(
      new RegExp(
        `^${host}/o/[\\da-f-]{36}/projects/p/${projectId}\\?trace=${root!.id}&run=${root!.id}$`,
      ),
    );
  });
});

const someMicros = 1_795_255_872_345_678;

function runOf(name: string, index: number, parent: number | null): Run {
  const dotted_order = String(index).padStart(3, "0");
  const parent_run_id = parent === null ? null : `${parent}`;
  return parseRun({ id: name, name, run_type: "chain", dotted_order, parent_run_id });
}

function rooted(name: string, session_name: string, offset = 0): WireRun {
  const own = randomUUID();
  const dotted_order = microsToStamp(someMicros + offset * 10) + own;
  return { id: own, name, run_type: "chain", session_name, trace_id: own, dotted_order };
}

function below(parent: WireRun, offset: number, rest: Partial<WireRun> = {}): WireRun {
  const own = randomUUID();
  return {
    ...parent,
    id: own,
    name: `child ${offset}`,
    parent_run_id: parent.id,
    dotted_order: `${parent.dotted_order}.${microsToStamp(someMicros + offset)}${own}`,
    ...rest,
  };
}
