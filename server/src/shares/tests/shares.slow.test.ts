import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunningServer } from "@millrace/server";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { call, runServer, temporaryFolder, textOf } from "../../../tests/support/running-server.ts";
import { revertToFormat } from "../../../tests/support/store-fixture.ts";
import type { CallResult, CallInit } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

type Run = ReturnType<typeof wireRun>;

const at = (second: number): number => someMicros + second * 1_000_000;
const inThread = (thread_id: string) => ({ extra: { metadata: { thread_id } } });

async function send(server: RunningServer, post: readonly Run[], init: CallInit = {}) {
  const { status } = await call(server, "POST /runs/batch", { ...init, body: { post } });
  expect(status).toBe(202);
}

/** A root and its child. */
function twoRuns(second = 0, rest: object = {}): { readonly root: Run; readonly child: Run } {
  const root = wireRun({ micros: at(second), session_name: "p", ...rest });
  return { root, child: wireRun({ micros: at(second + 1), parent: root, session_name: "p" }) };
}

const tokenOf = ({ json }: CallResult): string => textOf(json["share_token"]);

const shareTrace = async (server: RunningServer, id: string, init: CallInit = {}) =>
  tokenOf(await call(server, `POST /api/v2/runs/${id}/share`, init));

const projectOf = async (server: RunningServer, name: string, init: CallInit = {}) =>
  textOf((await call(server, `GET /sessions?name=${name}`, init)).json[0]?.["id"]);

/** The ids of the runs that a token lists, or the status. */
async function openedBy(server: RunningServer, token: string, body: object = {}) {
  const response = await call(server, `POST /api/v2/public/${token}/runs/query`, { body });
  return response.status === 200 ? idsIn(response) : response.status;
}

const idsIn = ({ json }: CallResult): readonly string[] =>
  (json["items"] as unknown as readonly { readonly id: string }[]).map(({ id }) => id);

const statusOf = async (server: RunningServer, target: string) =>
  (await call(server, target)).status;

test("the token of a run gives access to that run only, the token of its trace to all of it", async () => {
  const server = await runServer();
  const { root, child } = twoRuns();
  const other = twoRuns(10);
  await send(server, [root, child, other.root, other.child]);
  const ofRun = tokenOf(await call(server, `PUT /runs/${root.id}/share`));
  const ofTrace = await shareTrace(server, child.id);
  expect(ofTrace).not.toBe(ofRun);
  expect(await shareTrace(server, root.id)).toBe(ofTrace);
  expect(await openedBy(server, ofRun)).toEqual([root.id]);
  expect(await openedBy(server, ofTrace)).toEqual([root.id, child.id]);
  const read = (token: string, { id }: Run) =>
    statusOf(server, `GET /api/v2/public/${token}/run/${id}`);
  expect(await Promise.all([read(ofRun, root), read(ofRun, child)])).toEqual([200, 404]);
  expect(
    await Promise.all([root, child, other.root, other.child].map((run) => read(ofTrace, run))),
  ).toEqual([200, 200, 404, 404]);

  // The two shares are created, shown and deleted independently.
  expect((await call(server, `GET /runs/${root.id}/share`)).json["share_token"]).toBe(ofRun);
  const shown = await call(server, `GET /api/v2/runs/${root.id}?selects=SHARE_URL`);
  expect(textOf(shown.json["share_url"])).toContain(`/public/${ofTrace}/r`);
  expect(await statusOf(server, `DELETE /api/v2/runs/${root.id}/share`)).toBe(204);
  expect([await openedBy(server, ofRun), await openedBy(server, ofTrace)]).toEqual([
    [root.id],
    404,
  ]);
  const again = await shareTrace(server, root.id);
  expect(again).not.toBe(ofTrace);
  await call(server, `DELETE /runs/${root.id}/share`);
  expect([await openedBy(server, ofRun), await openedBy(server, again)]).toEqual([
    404,
    [root.id, child.id],
  ]);
});

test("the run of a trace's token is the root, and no other token of it is shown", async () => {
  const server = await runServer();
  const { root, child } = twoRuns();
  await send(server, [root, child]);
  const ofRun = tokenOf(await call(server, `PUT /runs/${root.id}/share`));
  const page = await call(server, `GET /public/${await shareTrace(server, root.id)}/run`);
  expect(page.json).toMatchObject({ id: root.id, share_token: null });
  expect(page.text).not.toContain(ofRun);
});

test("sharing checks the trace and the project of the run", async () => {
  const server = await runServer();
  const { root, child } = twoRuns();
  const stray = wireRun({ parent: wireRun(), session_name: "p" });
  await send(server, [root, child, stray]);
  const share = (id: string, body: object) =>
    call(server, `POST /api/v2/runs/${id}/share`, { body });
  const session_id = await projectOf(server, "p");
  const right = { session_id, trace_id: root.id };
  expect((await share(child.id, right)).status).toBe(200);
  for (const [id, wrong] of [
    [child.id, { ...right, trace_id: child.id }],
    [child.id, { ...right, session_id: root.id }],
    // Its root has not arrived.
    [stray.id, {}],
  ] as const) {
    expect((await share(id, wrong)).status).toBe(404);
  }
});

test("the trace token of a run that was later moved below another one gives access to nothing", async () => {
  const server = await runServer();
  const { root, child } = twoRuns();
  const loose = wireRun({ parent: root, session_name: "p" });
  await send(server, [root, child]);
  // Until its position is known, the run counts as the root of its own trace.
  const early = { outputs: {}, session_name: "p" };
  await call(server, `PATCH /runs/${loose.id}`, { body: early });
  const token = await shareTrace(server, loose.id);
  expect(await openedBy(server, token)).toEqual([loose.id]);
  await send(server, [loose]);
  const moved = await call(server, `GET /runs/${loose.id}`);
  expect(moved.json["trace_id"]).toBe(root.id);
  expect(await openedBy(server, token)).toBe(404);
  expect(await statusOf(server, `GET /public/${token}/run`)).toBe(404);
});

test("links from before traces could be shared give access to one run", async () => {
  const dataDir = await temporaryFolder();
  const before = await runServer({ dataDir });
  const { root, child } = twoRuns();
  await send(before, [root, child]);
  const ofRun = tokenOf(await call(before, `PUT /runs/${root.id}/share`));
  await before.close();
  const db = openDatabase(join(dataDir, "millrace.db"));
  revertToFormat(db, 12);
  db.close();
  const server = await runServer({ dataDir });
  expect(await openedBy(server, ofRun)).toEqual([root.id]);
  const ofTrace = await shareTrace(server, root.id);
  expect(await openedBy(server, ofTrace)).toEqual([root.id, child.id]);
  expect(await openedBy(server, ofRun)).toEqual([root.id]);
});

test("a tenant's tokens give access to its own runs, whoever has the same ids", async () => {
  const dataDir = await temporaryFolder();
  const store = await openSqliteStore(dataDir);
  const keys = await Promise.all(
    ["one", "two"].map(async (displayName) => {
      const { id } = await store.write.tenants.create({ handle: null, displayName });
      return (await store.write.tenants.createKey(id, { name: "test" })).key;
    }),
  );
  await store.close();
  const server = await runServer({ dataDir });
  const [mine, theirs] = keys.map((key) => ({ headers: { "x-api-key": key } }));
  const { root, child } = twoRuns(0, inThread("talk"));
  const named = ({ id }: Run, name: string): Run => ({ ...(id === root.id ? root : child), name });
  await send(server, [named(root, "mine"), named(child, "mine")], mine);
  await send(server, [named(root, "theirs"), named(child, "theirs")], theirs);
  const shareThread = async (init: CallInit = {}) => {
    const body = { project_id: await projectOf(server, "p", init) };
    return tokenOf(await call(server, "POST /api/v2/threads/talk/share", { ...init, body }));
  };
  for (const [init, name] of [
    [mine, "mine"],
    [theirs, "theirs"],
  ] as const) {
    for (const token of [await shareTrace(server, child.id, init), await shareThread(init)]) {
      const body = { selects: ["NAME"] };
      const listed = await call(server, `POST /api/v2/public/${token}/runs/query`, { body });
      expect(listed.json["items"]).toEqual([
        { id: root.id, name },
        { id: child.id, name },
      ]);
      const one = await call(server, `GET /api/v2/public/${token}/run/${child.id}?selects=NAME`);
      expect(one.json).toEqual({ id: child.id, name });
    }
  }
  // Deleting one tenant's share keeps the other's.
  const kept = await shareTrace(server, root.id, mine);
  await call(server, `DELETE /api/v2/runs/${root.id}/share`, theirs);
  expect(await openedBy(server, kept)).toEqual([root.id, child.id]);
  expect(await shareTrace(server, root.id, mine)).toBe(kept);

  // An example marks only its own tenant's run as being in a dataset.
  const dataset = await call(server, "POST /datasets", { ...mine, body: { name: "d" } });
  const example = { dataset_id: dataset.json["id"], inputs: {}, source_run_id: root.id };
  expect((await call(server, "POST /examples", { ...mine, body: example })).status).toBe(200);
  const isIn = async (init: CallInit = {}) =>
    (await call(server, `GET /api/v2/runs/${root.id}?selects=IS_IN_DATASET`, init)).json[
      "is_in_dataset"
    ];
  expect([await isIn(mine), await isIn(theirs)]).toEqual([true, false]);
});

test("a thread's token gives access to its traces page by page, including later ones, and to no other", async () => {
  const server = await runServer();
  const turns = [0, 10, 20].map((second) => twoRuns(second, inThread("talk")));
  const other = twoRuns(5, inThread("other"));
  const elsewhere = wireRun({ session_name: "q", ...inThread("talk") });
  const runs = turns.flatMap(({ root, child }) => [root, child]);
  await send(server, [...runs, other.root, other.child, elsewhere]);
  const project_id = await projectOf(server, "p");
  const target = "POST /api/v2/threads/talk/share";
  const token = tokenOf(await call(server, target, { body: { project_id } }));
  const ids = runs.map(({ id }) => id);
  expect(await openedBy(server, token)).toEqual(ids);
  for (const page_size of [1, 2, 3, 5, 6]) {
    const found: string[] = [];
    let cursor: unknown = null;
    do {
      const body = { page_size, cursor };
      const page = await call(server, `POST /api/v2/public/${token}/runs/query`, { body });
      expect(idsIn(page).length).toBeLessThanOrEqual(page_size);
      found.push(...idsIn(page));
      cursor = page.json["next_cursor"];
    } while (cursor !== null);
    expect(found).toEqual(ids);
  }
  const read = ({ id }: Run) => statusOf(server, `GET /api/v2/public/${token}/run/${id}`);
  expect(await Promise.all([...runs, other.root, other.child, elsewhere].map(read))).toEqual([
    ...ids.map(() => 200),
    404,
    404,
    404,
  ]);
  const late = twoRuns(30, inThread("talk"));
  await send(server, [late.root, late.child]);
  expect(await openedBy(server, token)).toEqual([...ids, late.root.id, late.child.id]);
});

test("a trace's token lists up to 1,000 runs at once, and continues with its cursor", async () => {
  const server = await runServer();
  const { root } = twoRuns();
  const children = Array.from({ length: 1_100 }, (_, n) =>
    wireRun({ micros: at(1) + n, parent: root, session_name: "p" }),
  );
  await send(server, [root, ...children]);
  const token = await shareTrace(server, root.id);
  const ask = (body: object) => call(server, `POST /api/v2/public/${token}/runs/query`, { body });
  const first = await ask({});
  expect(idsIn(first)).toHaveLength(1_000);
  const rest = await ask({ cursor: first.json["next_cursor"] });
  expect([...idsIn(first), ...idsIn(rest)]).toEqual([root, ...children].map(({ id }) => id));
  expect(rest.json["next_cursor"]).toBeNull();
  expect((await ask({ cursor: "none" })).status).toBe(422);
});

/** The rows that remain in the tables of shares. */
function countShares(dataDir: string): readonly unknown[] {
  const db = openDatabase(join(dataDir, "millrace.db"));
  try {
    return ["shares", "trace_shares", "thread_shares"].map(
      (table) => db.prepare(`SELECT count(*) FROM ${table}`).raw().all().flat()[0],
    );
  } finally {
    db.close();
  }
}

async function shareAll(server: RunningServer, { root }: { readonly root: Run }) {
  const body = { project_id: await projectOf(server, "p") };
  return Promise.all([
    call(server, `PUT /runs/${root.id}/share`).then(tokenOf),
    shareTrace(server, root.id),
    call(server, "POST /api/v2/threads/talk/share", { body }).then(tokenOf),
  ]);
}

test("deleting a project deletes the shares of its runs, traces and threads", async () => {
  const dataDir = await temporaryFolder();
  const server = await runServer({ dataDir });
  const turn = twoRuns(0, inThread("talk"));
  await send(server, [turn.root, turn.child]);
  const tokens = await shareAll(server, turn);
  expect(countShares(dataDir)).toEqual([1, 1, 1]);
  await call(server, `DELETE /sessions/${await projectOf(server, "p")}`);
  expect(countShares(dataDir)).toEqual([0, 0, 0]);
  for (const token of tokens) {
    expect(await openedBy(server, token)).toBe(404);
  }
});

test("retention deletes shares with what they refer to, a thread's with its last trace", async () => {
  const dataDir = await temporaryFolder();
  const server = await runServer({ dataDir });
  const [old, newer] = [0, 100].map((second) => twoRuns(second, inThread("talk")));
  const other = twoRuns(1_000, inThread("other"));
  const runs = [old, newer, other].flatMap((turn) => (turn ? [turn.root, turn.child] : []));
  await send(server, runs);
  const tokens = await shareAll(server, { root: runs[0]! });
  const project = await projectOf(server, "p");
  await server.close();
  const store = await openSqliteStore(dataDir);
  const tenantId = store.defaultTenantId;
  await store.write.retention.set(tenantId, { projectId: project, days: 1 });
  const sweep = (second: number) => store.write.retention.sweep(at(second) + 86_400_000_000, null);
  await sweep(50);
  expect(countShares(dataDir)).toEqual([0, 0, 1]);
  expect(await store.read.shares.find(tokens[2])).toMatchObject({ kind: "thread" });
  await sweep(200);
  expect(countShares(dataDir)).toEqual([0, 0, 0]);
  expect((await store.read.runs.query(tenantId, everything)).runs).toHaveLength(2);
  await store.close();
});

const everything = { filter: {}, order: "asc", limit: 10, withChildren: false } as const;

test("no file contains tokens of traces and threads in plain text, and they work without their key", async () => {
  const dataDir = await temporaryFolder();
  const first = await runServer({ dataDir });
  const turn = twoRuns(0, inThread("talk"));
  await send(first, [turn.root, turn.child]);
  const [, ofTrace, ofThread] = await shareAll(first, turn);
  await first.close();
  const holds = (token: string) => (name: string) =>
    readFileSync(join(dataDir, name)).includes(token);
  const files = readdirSync(dataDir);
  expect(files.filter(holds(turn.root.id))).not.toEqual([]);
  expect([ofTrace, ofThread].flatMap((token) => files.filter(holds(token)))).toEqual([]);

  const again = await runServer({ dataDir });
  expect(await shareAll(again, turn)).toContain(ofTrace);
  await again.close();
  rmSync(join(dataDir, "token.key"));
  const server = await runServer({ dataDir });
  const ids = [turn.root.id, turn.child.id];
  expect([await openedBy(server, ofTrace), await openedBy(server, ofThread)]).toEqual([ids, ids]);
  const project = await projectOf(server, "p");
  const path = `/api/v2/threads/talk/share?project_id=${project}`;
  for (const target of [`GET ${path}`, `POST ${path}`, `POST /api/v2/runs/${ids[0]}/share`]) {
    expect([target, await statusOf(server, target)]).toEqual([target, 409]);
  }
  const shown = await call(server, `GET /api/v2/runs/${ids[0]}?selects=SHARE_URL`);
  expect(shown.json).toEqual({ id: ids[0] });
});
