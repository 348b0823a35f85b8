import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../dist/store/sqlite-store.js";
import { openDatabase } from "../src/storage/sqlite/connection.ts";
import type { Connection } from "../src/storage/sqlite/connection.ts";
import { ActivityHistory } from "../src/live/activity-history.ts";
import { createFeedbackDraft } from "./support/feedback-draft.ts";
import { hubTenants } from "./support/hub-tenants.ts";
import { call, temporaryFolder, textOf } from "./support/running-server.ts";
import type { RunningServer } from "@millrace/server";
import { StoreFixture, revertToFormat } from "./support/store-fixture.ts";
import { readAll } from "./support/read-tenant.ts";
import { createNames, createResources } from "./support/tenant-story.ts";
import type { SendRequest } from "./support/tenant-story.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

// Two tenants choose the same ids for all resources; neither may see anything of the other.

const sendAs =
  (server: RunningServer, key: string): SendRequest =>
  (target, { body, headers } = {}) =>
    call(server, target, { body, headers: { ...headers, "x-api-key": key } });

async function twoTenants() {
  const { server, keys } = await hubTenants();
  return { server, me: sendAs(server, keys.me), you: sendAs(server, keys.you) };
}

test("two tenants use the same ids for everything, and each reads its own content", async () => {
  const { me, you } = await twoTenants();
  const names = createNames();
  const mine = await createResources(me, names, "quilt");
  const before = await readAll(me, mine, "quilt");
  const yours = await createResources(you, names, "prawn");
  expect(await readAll(you, yours, "prawn")).toEqual(before);
  expect(await readAll(me, mine, "quilt")).toEqual(before);
  expect(JSON.stringify(before)).toContain("<mark> asks");

  // This also holds outside of JSON responses: for files, and for the targets of links.
  for (const [send, mark] of [
    [me, "quilt"],
    [you, "prawn"],
  ] as const) {
    const run = (await send(`GET /runs/${names.root}`)).json;
    const url = textOf(run["s3_urls"]?.["attachment.note"]?.["presigned_url"]);
    expect(await (await fetch(url)).text()).toBe(`${mark} note`);
    const { share_token: token } = (await send(`GET /runs/${names.root}/share`)).json;
    const shared = await send(`GET /public/${textOf(token)}/run`);
    expect(shared.json).toMatchObject({ id: names.root, name: `${mark} root` });
    expect(shared.json["child_run_ids"]).toEqual([names.child]);
    const data = (await send(`GET /datasets/${names.dataset}/share`)).json;
    const examples = await send(`GET /public/${textOf(data["share_token"])}/examples`);
    expect(examples.json[0]).toMatchObject({ id: names.example, inputs: { q: mark } });
    const trace = await send(`GET /ui/traces/${names.spanTrace}`);
    expect(trace.text).toContain(`${mark} span 2`);
  }
}, 30_000);

test("what one tenant changes or deletes under a shared id does not affect the other", async () => {
  const { me, you } = await twoTenants();
  const names = createNames();
  const mine = await createResources(me, names, "quilt");
  const yours = await createResources(you, names, "prawn");
  const before = { me: await readAll(me, mine, "quilt"), you: await readAll(you, yours, "prawn") };
  const { root, dataset, experiment, example, queue } = names;

  await you(`PATCH /sessions/${experiment}`, { body: { description: "changed" } });
  await you(`PATCH /examples/${example}`, { body: { inputs: { q: "changed" } } });
  await you(`PATCH /runs/${root}`, { body: { error: "x" } });
  expect((await you(`GET /runs/${root}`)).json).toMatchObject({ error: "x" });
  const described = await you(`PATCH /datasets/${dataset}`, { body: { description: "changed" } });
  expect(described.json).toMatchObject({ id: dataset, description: "changed" });
  const split = { split_name: "moved", examples: [example] };
  expect((await you(`PUT /datasets/${dataset}/splits`, { body: split })).json).toEqual([example]);
  await you(`DELETE /runs/${root}/share`);
  await you(`PUT /datasets/${dataset}/tags`, { body: { as_of: "latest", tag: "moved" } });
  expect(await readAll(me, mine, "quilt")).toEqual(before.me);

  for (const target of [
    `DELETE /annotation-queues/${queue}`,
    `DELETE /sessions/${experiment}`,
    `DELETE /sessions/${names.project}`,
    `DELETE /examples/${example}`,
    `DELETE /datasets/${dataset}`,
    `DELETE /feedback/${names.feedback}`,
    `DELETE /repos/-/${names.prompt}`,
  ]) {
    const { status } = await you(target);
    // Deleting the experiment has also deleted its runs and their feedback.
    expect([target, status]).toEqual([target, target.includes("/feedback/") ? 404 : 200]);
  }
  expect((await you(`GET /runs/${root}`)).status).toBe(404);
  expect((await you(`GET /datasets/${dataset}`)).status).toBe(404);
  expect(await readAll(me, mine, "quilt")).toEqual(before.me);

  // Delete the first tenant's rows too: the other tenant keeps using the ids, with the keys that it has.
  await me(`DELETE /sessions/${experiment}`);
  const run = wireRun({ id: root, name: "anew", session_name: "p" });
  expect((await you("POST /runs/batch", { body: { post: [run], patch: [] } })).status).toBe(202);
  expect((await you(`GET /runs/${root}`)).json).toMatchObject({ name: "anew" });
  expect((await me(`GET /runs/${root}`)).status).toBe(404);
}, 30_000);

async function openStore() {
  const store = await openSqliteStore(await temporaryFolder());
  onTestFinished(() => store.close());
  const { id } = await store.write.tenants.create({ handle: null, displayName: "other" });
  return { store, mine: new StoreFixture(store), theirs: new StoreFixture(store, id) };
}

const addFeedback = (fixture: StoreFixture, runId: string, score: number) =>
  fixture.store.write.feedback.create(fixture.tenantId, createFeedbackDraft({ runId, score }));

const scoreOf = async (fixture: StoreFixture, runId: string) =>
  (await fixture.store.read.feedback.readStatsOfRuns(fixture.tenantId, [runId])).get(runId)?.["k"]
    ?.avg;

test("feedback sent before its run belongs to the run of the same tenant, whoever sends the run first", async () => {
  const { mine, theirs } = await openStore();
  const run = wireRun({ name: "of mine", session_name: "p" });
  await addFeedback(theirs, run.id, 2);
  await mine.send({ post: [run] });
  await addFeedback(mine, run.id, 1);
  expect([await scoreOf(mine, run.id), await scoreOf(theirs, run.id)]).toEqual([1, 2]);
  expect(await theirs.read(run.id)).toEqual({});

  await theirs.send({ post: [{ ...run, name: "of theirs" }] });
  await addFeedback(theirs, run.id, 4);
  expect([await scoreOf(mine, run.id), await scoreOf(theirs, run.id)]).toEqual([1, 3]);
  const { list } = theirs.store.read.feedback;
  const judged = await list(theirs.tenantId, { runIds: [run.id], limit: 9, offset: 0 });
  expect(judged.map(({ runId, run: found }) => [runId, found?.traceId])).toEqual([
    [run.id, run.id],
    [run.id, run.id],
  ]);
  expect(await mine.read(run.id)).toMatchObject({ name: "of mine" });
  expect(await theirs.read(run.id)).toMatchObject({ name: "of theirs" });
});

test("a run that one tenant has patched can be posted by another; its own post is merged with the patch", async () => {
  const { mine, theirs } = await openStore();
  const run = wireRun({ name: "posted", session_name: "p" });
  const { id, trace_id, dotted_order } = run;
  // A patch from the other tenant, before the owner's post, which must not reserve the id.
  await theirs.send({ patch: [{ id, trace_id, dotted_order, outputs: { a: "theirs" } }] });
  await theirs.sendOne("patch", { outputs: { b: 1 } }, randomUUID());
  expect(await mine.send({ post: [run] })).toMatchObject({ accepted: 1, rejected: [] });
  expect(await mine.read(id)).toMatchObject({ name: "posted", outputs: null });
  await mine.send({ patch: [{ id, trace_id, dotted_order, outputs: { a: "mine" } }] });
  expect(await theirs.send({ post: [{ ...run, name: "late" }] })).toMatchObject({ accepted: 1 });
  expect(await mine.read(id)).toMatchObject({ name: "posted", outputs: { a: "mine" } });
  expect(await theirs.read(id)).toMatchObject({ name: "late", outputs: { a: "theirs" } });
  expect(await theirs.send({ post: [{ ...run, name: "late" }] })).toMatchObject({
    accepted: 0,
    duplicates: 1,
  });
});

test("a batch in which some ids belong to another tenant is accepted completely", async () => {
  const { mine, theirs } = await openStore();
  const runs = Array.from({ length: 40 }, (_, index) =>
    wireRun({ name: `run ${index}`, micros: someMicros + index, session_name: "p" }),
  );
  await mine.send({ post: runs.filter((_, index) => index % 3 === 0) });
  const twice = { accepted: 0, duplicates: 40, rejected: [] };
  expect(await theirs.send({ post: runs })).toEqual({ accepted: 40, duplicates: 0, rejected: [] });
  expect(await theirs.send({ post: runs })).toEqual(twice);
  const names = runs.map(({ name }) => name);
  expect(await theirs.query({})).toEqual(names);
  expect(await theirs.query({ ids: runs.map(({ id }) => id) })).toEqual(names);
  expect(await mine.query({})).toEqual(names.filter((_, index) => index % 3 === 0));

  // Paging continues after a run whose key is longer than its id.
  const pages: string[] = [];
  let after;
  do {
    const page = await theirs.store.read.runs.query(theirs.tenantId, {
      filter: {},
      order: "desc",
      limit: 7,
      withChildren: false,
      ...(after === undefined ? {} : { after }),
    });
    pages.push(...page.runs.map(({ row }) => row.name));
    after = page.nextPosition;
    expect(after?.id ?? runs[0]?.id).toHaveLength(36);
  } while (after !== undefined);
  expect(pages).toEqual(names.toReversed());
});

test("a retention rule deletes one tenant's old runs, and keeps the other's with the same ids", async () => {
  const { mine, theirs } = await openStore();
  const runs = [1, 2, 3].map((second) =>
    wireRun({ name: `run ${second}`, micros: someMicros + second, session_name: "p" }),
  );
  for (const fixture of [mine, theirs]) {
    await fixture.send({ post: runs });
    await addFeedback(fixture, runs[0]?.id ?? "", 1);
  }
  const { retention } = theirs.store.write;
  await retention.set(theirs.tenantId, { projectId: null, days: 1 });
  let deleted = 1;
  while (deleted > 0) {
    ({ deleted } = await retention.sweep(someMicros + 3 * 86_400_000_000, null));
  }
  expect(await theirs.query({})).toEqual([]);
  expect(await scoreOf(theirs, runs[0]?.id ?? "")).toBeUndefined();
  expect(await mine.query({})).toEqual(["run 1", "run 2", "run 3"]);
  expect(await scoreOf(mine, runs[0]?.id ?? "")).toBe(1);
});

test("a sweep continues from one tenant's project to another's with the same id", async () => {
  const { mine, theirs } = await openStore();
  const id = randomUUID();
  for (const fixture of [mine, theirs]) {
    await fixture.store.write.projects.create(fixture.tenantId, {
      id,
      name: "p",
      description: null,
      startMicros: someMicros,
      endMicros: null,
      extra: null,
      referenceDatasetId: null,
      upsert: false,
    });
    await fixture.send({ post: [wireRun({ session_id: id })] });
    await fixture.store.write.retention.set(fixture.tenantId, { projectId: id, days: 1 });
    expect(await fixture.store.read.retention.list(fixture.tenantId)).toEqual([
      { projectId: id, days: 1 },
    ]);
  }
  const { retention } = theirs.store.write;
  let from: string | null = null;
  let deleted = 0;
  do {
    const step = await retention.sweep(someMicros + 3 * 86_400_000_000, from);
    deleted += step.deleted;
    from = step.next;
  } while (from !== null);
  expect(deleted).toBe(2);
});

test("a database of format 11 is migrated without copying its rows", async () => {
  const folder = await temporaryFolder();
  const before = await openSqliteStore(folder);
  const { id: other } = await before.write.tenants.create({ handle: null, displayName: "other" });
  const run = wireRun({ name: "kept", session_name: "p" });
  await new StoreFixture(before).send({ post: [run] });
  await before.close();
  const inFile = <Result>(read: (db: Connection) => Result): Result => {
    const db = openDatabase(join(folder, "millrace.db"));
    try {
      return read(db);
    } finally {
      db.close();
    }
  };
  const roots = (db: Connection): readonly unknown[] =>
    db
      .prepare(
        "SELECT name, rootpage FROM sqlite_schema WHERE tbl_name IN ('runs', 'payloads') AND type <> 'trigger'",
      )
      .raw()
      .all();
  const whereBefore = inFile((db) => {
    revertToFormat(db, 11);
    return roots(db);
  });

  const store = await openSqliteStore(folder);
  onTestFinished(() => store.close());
  // Indexes that later formats add are new parts of the file.
  expect(inFile(roots)).toEqual(expect.arrayContaining([...whereBefore]));
  const theirs = new StoreFixture(store, other);
  expect(await theirs.read(run.id)).toEqual({});
  await theirs.send({ post: [{ ...run, name: "of another" }] });
  expect(await theirs.read(run.id)).toMatchObject({ name: "of another" });
  expect(await new StoreFixture(store).read(run.id)).toMatchObject({ name: "kept" });
});

test("live counts are separate for each tenant, even if projects share an id", () => {
  const history = new ActivityHistory(60);
  const counts = { runs: 1, traces: 1, errors: 0, tokens: 0, cost: 0, latencies: [] };
  history.add([{ tenantId: "a", projectId: "p", ...counts }], 5);
  history.add([{ tenantId: "b", projectId: "p", ...counts, runs: 7 }], 5);
  const read = (tenantId: string) => history.read(tenantId, 0, 9)[0]?.projects["p"]?.runs;
  expect([read("a"), read("b")]).toEqual([1, 7]);
});
