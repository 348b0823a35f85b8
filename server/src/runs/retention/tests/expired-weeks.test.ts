import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ChunkedSender } from "../../../../tests/support/chunked-runs.ts";
import { openPglite, openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import { PostgresMetricCounter } from "../../../metrics/postgres/metric-counter.ts";
import { toWeek, weekMicros } from "../../postgres/partitions.ts";
import { TextIndexer } from "../../postgres/text-index/text-indexer.ts";
import { RetentionWriter } from "../retention-writer.ts";

let client: PgliteClient;
let store: PostgresRunStore;
beforeAll(async () => {
  client = await openPglite();
  store = openRunStore(client);
}, 60_000);
afterAll(() => client.close());

const nowMicros = Date.now() * 1_000;
let fixture: StoreFixture<PostgresRunStore>;
/** Each test has a tenant and weeks of its own, all of them in the past. */
let startMicros = 0;
let testCount = 0;
beforeEach(async () => {
  testCount += 1;
  startMicros = (toWeek(nowMicros) - 10 * testCount) * weekMicros + 86_400_000_000;
  fixture = await createTenant();
});

async function createTenant(): Promise<StoreFixture<PostgresRunStore>> {
  const tenantId = randomUUID();
  await client.exec(`INSERT INTO tenants VALUES ('${tenantId}', NULL, '"t"', 1)`);
  return new StoreFixture(store, tenantId);
}

const createWriter = (in_ = store): RetentionWriter =>
  new RetentionWriter(in_.db, in_.writer.retention);

const setDays = ({ tenantId }: { readonly tenantId: string }, days: number) =>
  store.transact(() => createWriter().set(tenantId, { projectId: null, days }));

/** Performs steps until the sweep is over, and returns how many runs each step deleted. */
async function sweepAll(writer = createWriter()): Promise<readonly number[]> {
  const steps: number[] = [];
  for (let next: string | null = ""; next !== null;) {
    const from: string = next;
    const step = await store.transact(() => writer.sweep(nowMicros, from));
    steps.push(step.deleted);
    ({ next } = step);
  }
  return steps;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);

async function readValues(sql: string): Promise<readonly unknown[]> {
  const { rows } = await client.run({ text: sql, values: [] });
  return rows.flatMap((row) => Object.values(row));
}

/** Lists the tables of all resources, including former partitions. */
const listTables = async (): Promise<readonly string[]> =>
  (
    await readValues(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
         AND NOT relispartition ORDER BY 1`,
    )
  ).map(String);

/** Whether a table was the partition of a week that was removed. */
const isOfRemovedWeek = (name: string): boolean => name.startsWith("expired_");

/** Finds the tables with a row that contains one of the texts in any column. */
async function findTablesWith(texts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of await listTables()) {
    const conditions = texts.map((text) => `t::text LIKE '%${text}%'`);
    const [count] = await readValues(
      `SELECT count(*) FROM ${table} t WHERE ${conditions.join(" OR ")}`,
    );
    found.push(...(Number(count) > 0 ? [table] : []));
  }
  return found;
}

async function findPartition(week: number): Promise<unknown> {
  const [name] = await readValues(`SELECT to_regclass('runs_w${week}')::text`);
  return name;
}

async function countDerived(): Promise<void> {
  const counter = new PostgresMetricCounter(store.db);
  const indexer = new TextIndexer(store.db, { settleMs: 0, minRuns: 1, maxWaitMs: 0 });
  while (await store.transact(() => counter.count(0))) {
    // Until no unit is out of date.
  }
  while (await store.transact(() => indexer.step())) {
    // Until all runs are indexed, and no block contains a deleted one.
  }
}

/** Stores rows of other resources that refer to a run. */
async function addRelatedRows(runId: string, traceId: string): Promise<void> {
  const { tenantId } = fixture;
  await client.exec(`SET millrace.tenant = '${tenantId}';
    INSERT INTO feedback (tenant_id, id, run_id, key_json, score_json, value_json, comment_json, correction_json,
        config_json, extra_json, source_type_json, source_metadata_json, created_us, modified_us, digest)
      SELECT '${tenantId}', gen_random_uuid()::text, '${runId}', '"k"', '1', 'null', 'null', 'null', 'null', 'null',
        '"api"', 'null', 1, 1, gen_random_uuid()::text;
    INSERT INTO feedback_tokens (tenant_id, digest, sealed, id, run_id, key_json, config_json, created_us, expires_us)
      SELECT '${tenantId}', gen_random_uuid()::text, 's', gen_random_uuid()::text, '${runId}', '"k"', 'null', 1, 2;
    INSERT INTO comments (tenant_id, id, run_id, trace_id, text_json, created_us)
      SELECT '${tenantId}', gen_random_uuid()::text, '${runId}', '${traceId}', '"c"', 1;
    INSERT INTO annotation_queue_runs (tenant_id, queue_id, id, run_id, added_us)
      SELECT '${tenantId}', 'q', gen_random_uuid()::text, '${runId}', 1;
    INSERT INTO annotation_queue_reviews (place, reviewer, tenant_id, queue_id)
      SELECT place, 'r', tenant_id, queue_id FROM annotation_queue_runs WHERE run_id = '${runId}';
    INSERT INTO shares (tenant_id, digest, sealed, trace_id, id)
      SELECT '${tenantId}', gen_random_uuid()::text, 's', '${traceId}', '${runId}';
    INSERT INTO trace_shares (tenant_id, digest, sealed, trace_id, id)
      SELECT '${tenantId}', gen_random_uuid()::text, 's', '${traceId}', '${runId}';
    INSERT INTO spans (tenant_id, trace_id, id, kind, has_project, run_id)
      SELECT '${tenantId}', '${traceId}', gen_random_uuid()::text, 'root', 1, '${runId}';
    INSERT INTO attachments (tenant_id, root_us, trace_id, id, name, content_type, bytes)
      SELECT tenant_id, root_us, trace_id, id, 'f', 'text/plain', 'abc' FROM run_keys WHERE id = '${runId}';
    RESET millrace.tenant`);
}

const tablesOfRun = [
  "annotation_queue_runs",
  "attachments",
  "comments",
  "feedback",
  "feedback_tokens",
  "payloads",
  "run_keys",
  "runs",
  "shares",
  "spans",
  "trace_shares",
];

/** Tables whose rows belong to several runs of a tenant. */
const tablesOfTenant = [
  "annotation_queue_reviews",
  "metrics",
  "run_facets",
  "run_texts",
  "shared_texts",
  "shared_text_uses",
  "thread_shares",
  "threads",
];

test("a week that has expired is removed, with all data that belongs to its runs", async () => {
  const { tenantId } = fixture;
  const sender = new ChunkedSender(tenantId);
  const list = Array.from({ length: 50 }, (_, index) => `item ${index} ${"of a list ".repeat(40)}`);
  const root = wireRun({ micros: startMicros, session_name: "old", tags: ["old"] });
  const runs = [
    root,
    ...Array.from({ length: 300 }, (_, index) =>
      wireRun({
        parent: root,
        micros: startMicros + index * 1_000_000,
        session_name: "old",
        run_type: "llm",
        name: `step ${index % 3}`,
        inputs: { list },
        extra: { metadata: { thread_id: "talk" } },
      }),
    ),
  ];
  await store.ingest(tenantId, sender.createBatch(runs.map((run) => ({ run }))));
  await addRelatedRows(root.id, root.id);
  await addRelatedRows(runs.at(-1)?.id ?? "", root.id);
  await client.exec(`INSERT INTO thread_shares (tenant_id, digest, sealed, project_id, thread_json)
    SELECT tenant_id, '${tenantId}', 's', id, '"talk"' FROM projects WHERE tenant_id = '${tenantId}'`);
  await countDerived();
  const ids = runs.map(({ id }) => id);
  expect(await findTablesWith(ids)).toEqual(tablesOfRun);
  expect(await findTablesWith([tenantId])).toEqual(expect.arrayContaining(tablesOfTenant));

  await setDays(fixture, 1);
  const steps = await sweepAll();
  expect(sum(steps)).toBe(runs.length);
  await countDerived();
  expect(await findTablesWith(ids)).toEqual([]);
  expect(await findTablesWith([tenantId])).toEqual(["projects", "settings", "tenants"]);
  expect(await findPartition(toWeek(startMicros))).toBeNull();
  expect((await listTables()).filter(isOfRemovedWeek)).toEqual([]);
  // A sweep that finds nothing to delete is one step.
  expect(await sweepAll()).toEqual([0]);
});

test("runs of a removed week are no longer returned, and a server that ends during the deletion leaves it to others", async () => {
  const runs = Array.from({ length: 3 }, (_, index) =>
    wireRun({ micros: startMicros + index, session_name: "old", name: `run ${index}` }),
  );
  await fixture.send({ post: runs });
  const [first] = runs;
  await addRelatedRows(first?.id ?? "", first?.id ?? "");
  await setDays(fixture, 1);
  const sweepOnce = async (after: () => void = () => undefined) => {
    const writer = createWriter();
    return store.transact(async () => {
      const step = await writer.sweep(nowMicros, "");
      after();
      return step;
    });
  };
  // The week is removed: no query finds its runs, and none of them can be shared.
  expect(await sweepOnce()).toEqual({ deleted: 0, next: "" });
  expect(await fixture.query({})).toEqual([]);
  expect(await fixture.read(first?.id ?? "")).toEqual({});
  await expect(store.write.runs.share(fixture.tenantId, first?.id ?? "")).rejects.toMatchObject({
    status: 404,
  });
  expect(await findTablesWith([first?.id ?? ""])).toContain("feedback");
  // Each further step is rolled back once, and then performed by another server.
  let steps = 0;
  for (let next: string | null = ""; next !== null; steps += 1) {
    await expect(
      sweepOnce(() => {
        throw new Error("killed");
      }),
    ).rejects.toThrow("killed");
    const other = createWriter(openRunStore(client));
    ({ next } = await store.transact(() => other.sweep(nowMicros, "")));
  }
  expect(steps).toBeGreaterThan(3);
  expect(await findTablesWith(runs.map(({ id }) => id))).toEqual([]);
  expect((await listTables()).filter(isOfRemovedWeek)).toEqual([]);
});

test("a run that is received again after its week was removed is stored as a new run", async () => {
  const [late, gone] = [1, 2].map((index) =>
    wireRun({
      micros: startMicros + index,
      session_name: "old",
      name: `run ${index}`,
      tags: ["old"],
    }),
  );
  if (late === undefined || gone === undefined) {
    throw new Error("there are two runs");
  }
  await fixture.send({ post: [late, gone] });
  await addRelatedRows(late.id, late.id);
  await setDays(fixture, 1);
  await store.transact(() => createWriter().sweep(nowMicros, ""));
  expect(await fixture.query({})).toEqual([]);
  // First only a patch, as for a run that ended late, and then the post.
  await fixture.sendOne("patch", { outputs: { a: 1 } }, late.id);
  expect(await fixture.send({ post: [late] })).toMatchObject({ accepted: 1, rejected: [] });
  // Except for the tables of the removed week, only the new rows of the run are left.
  expect((await findTablesWith([late.id])).filter((name) => !isOfRemovedWeek(name))).toEqual([
    "payloads",
    "run_keys",
    "runs",
  ]);
  await addRelatedRows(late.id, late.id);
  await store.transact(() => createWriter().clear(fixture.tenantId, null));
  await sweepAll();
  expect(await findTablesWith([gone.id])).toEqual([]);
  expect(await findTablesWith([late.id])).toEqual(tablesOfRun);
  expect(await fixture.read(late.id)).toMatchObject({ name: "run 1", outputs: { a: 1 } });
  const [project] = await store.read.projects.list(fixture.tenantId, {
    name: "old",
    limit: 1,
    offset: 0,
  });
  const suggested = await store.read.runLists.listSuggestions(fixture.tenantId, {
    projectId: project?.id ?? "",
    kind: "name",
    prefix: "",
    limit: 10,
  });
  expect(suggested).toContain("run 1");
  expect(suggested).not.toContain("run 2");
  // The run expires as any other run does.
  await setDays(fixture, 1);
  await sweepAll();
  expect(await findTablesWith([late.id])).toEqual([]);
});

test("a rule without expiry applies only to its tenant and project; other runs of the week are deleted", async () => {
  const other = await createTenant();
  const week = toWeek(startMicros);
  const [old, kept, foreign] = [
    wireRun({ micros: startMicros, session_name: "old", name: "old" }),
    wireRun({ micros: startMicros, session_name: "kept", name: "kept" }),
    wireRun({ micros: startMicros, session_name: "old", name: "foreign" }),
  ];
  await fixture.send({ post: [old, kept] });
  await other.send({ post: [foreign] });
  const [project] = await store.read.projects.list(fixture.tenantId, {
    name: "kept",
    limit: 1,
    offset: 0,
  });
  await setDays(fixture, 1);
  await store.transact(() =>
    createWriter().set(fixture.tenantId, { projectId: project?.id ?? "", days: null }),
  );
  expect(sum(await sweepAll())).toBe(1);
  expect([await fixture.query({}), await other.query({})]).toEqual([["kept"], ["foreign"]]);
  expect(await findPartition(week)).toBe(`runs_w${week}`);
  // With a rule, the runs of the other tenant expire, too. Those of the project stay.
  await setDays(other, 1);
  expect(sum(await sweepAll())).toBe(1);
  expect([await fixture.query({}), await other.query({})]).toEqual([["kept"], []]);
  await store.transact(() => createWriter().clear(fixture.tenantId, project?.id ?? ""));
  expect(sum(await sweepAll())).toBe(1);
  expect(await findPartition(week)).toBeNull();
  expect(await findTablesWith([old, kept, foreign].map(({ id }) => id))).toEqual([]);
});

test("a run that began later than its root prevents the removal of its week until it has expired", async () => {
  const root = wireRun({ micros: startMicros, session_name: "long", name: "root" });
  const child = wireRun({
    parent: root,
    micros: nowMicros - 3_600_000_000,
    session_name: "long",
    name: "child",
  });
  await fixture.send({ post: [root, child] });
  await setDays(fixture, 1);
  expect(sum(await sweepAll())).toBe(1);
  expect(await fixture.query({})).toEqual(["child"]);
});
