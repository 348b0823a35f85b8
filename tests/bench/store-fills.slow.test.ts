import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { countMetrics, fillPostgres, indexTexts } from "../../bench/postgres-fill.ts";
import { fillSqlite } from "../../bench/sqlite-fill.ts";
import { runsPerTrace } from "../../bench/fill-shape.ts";
import { parseBatch } from "../../server/src/runs/ingest/parse-batch.ts";
import { migrate } from "../../server/src/storage/postgres/migrations.ts";
import { PostgresDatabase } from "../../server/src/storage/postgres/postgres-database.ts";
import { readDefaultTenantId } from "../../server/src/storage/sqlite/open-database.ts";
import { createWriters } from "../../server/src/store/repositories.ts";
import { openWriter } from "../../server/src/store/schema.ts";
import { postgresFormats } from "../../server/src/store/postgres/formats.ts";
import { PgliteClient } from "../../server/tests/support/repository-engines.ts";
import { openRunStore } from "../../server/tests/support/postgres-run-store.ts";
import { microsToIso } from "../../src/model/dotted-order.ts";

const runCount = 40 * runsPerTrace;
const days = 2;

type Row = Readonly<Record<string, unknown>>;

/** Columns that say when and by which transaction a row was written, or for whom. */
const ownColumns = new Set(["tenant_id", "project_id", "place", "changed", "seq", "checksum"]);

const withoutOwn = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !ownColumns.has(name)));

/** The batch that a client would send for stored runs: the columns, and the members of the payload as they were sent. */
function toBatch(runs: readonly Row[], bodies: ReadonlyMap<unknown, string>): Buffer {
  const posts = runs.map((run) => {
    const columns = {
      id: run["id"],
      trace_id: run["trace_id"],
      parent_run_id: run["parent_run_id"],
      dotted_order: run["dotted_order"],
      session_name: "copy",
      name: run["name"],
      run_type: run["run_type"],
      start_time: microsToIso(Number(run["start_us"])),
      end_time: run["end_us"] === null ? null : microsToIso(Number(run["end_us"])),
    };
    return `${JSON.stringify(columns).slice(0, -1)},${bodies.get(run["id"])?.slice(1)}`;
  });
  return Buffer.from(`{"post":[${posts.join(",")}]}`);
}

test("the fill of PostgreSQL leaves what the server stores for the same runs", async () => {
  const client = await PgliteClient.create();
  try {
    await migrate(client, postgresFormats);
    const db = new PostgresDatabase(client);
    const readIndexes = async (): Promise<readonly Row[]> =>
      (
        await db.query<Row>(
          "SELECT indexname, indexdef FROM pg_indexes WHERE tablename IN ('runs', 'runs_other') ORDER BY 1",
        )
      ).rows;
    const indexes = await readIndexes();
    const projectId = await fillPostgres({ connection: client, runCount, days });
    await countMetrics(client);
    await indexTexts(client);
    expect((await readIndexes()).map(({ indexdef: definition }) => definition)).toEqual(
      indexes.map(({ indexdef: definition }) => definition),
    );

    const tenantId = randomUUID();
    await db.query(
      "INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES ($1, 't', '\"t\"', 0)",
      [tenantId],
    );
    const read = async (columns: string, table: string, isFill: boolean): Promise<readonly Row[]> =>
      (
        await db.execute<Row>(
          `SELECT ${columns} FROM ${table} WHERE (tenant_id = $1) = $2 ORDER BY ${columns === "*" ? "id" : "1, 2"}`,
          [tenantId, !isFill],
        )
      ).rows.map(withoutOwn);
    const filledRuns = await read("*", "runs", true);
    const filledBodies = await read("*", "payloads", true);
    expect(filledRuns).toHaveLength(runCount);
    const { ingest, read: reads } = openRunStore(client);
    const bodies = new Map(filledBodies.map((row) => [row["id"], String(row["body"])]));
    const { batch, rejected } = parseBatch(toBatch(filledRuns, bodies));
    expect(rejected).toEqual([]);
    expect((await ingest(tenantId, batch)).rejected).toEqual([]);

    expect(await read("*", "runs", false)).toEqual(filledRuns);
    expect(await read("*", "payloads", false)).toEqual(filledBodies);
    expect(await read("*", "run_keys", false)).toEqual(await read("*", "run_keys", true));
    expect(await read("*", "threads", false)).toEqual(await read("*", "threads", true));
    expect(await read("facet, 1", "run_facets", false)).toEqual(
      await read("facet, 1", "run_facets", true),
    );

    // Metrics are counted and texts are indexed: nothing is left to do.
    const { rows: marks } = await db.query<Row>(
      "SELECT count(*) AS marks FROM metric_marks WHERE project_id = $1",
      [projectId],
    );
    expect(marks).toEqual([{ marks: 0 }]);
    const { rows: texts } = await db.query<Row>(
      "SELECT sum(cardinality(places)) AS runs FROM run_texts WHERE project_id = $1",
      [projectId],
    );
    expect(texts).toEqual([{ runs: runCount }]);
    const { rows: feedback } = await db.query<Row>("SELECT count(*) AS feedback FROM feedback");
    expect(feedback).toEqual([{ feedback: 2 }]);
    expect(await reads.projects.find(tenantId, projectId)).toBeUndefined();
  } finally {
    await client.close();
  }
});

test("a database that has runs is not filled", async () => {
  const client = await PgliteClient.create();
  try {
    await fillPostgres({ connection: client, runCount: runsPerTrace, days });
    await expect(fillPostgres({ connection: client, runCount, days })).rejects.toThrow(
      "fill an empty one",
    );
  } finally {
    await client.close();
  }
});

test("the fill of SQLite leaves what the server stores for the same runs", async () => {
  const filled = openWriter(":memory:");
  await fillSqlite({ db: filled, runCount, days });
  const copy = openWriter(":memory:");
  const readAll = (db: typeof filled, table: string): readonly Row[] =>
    (db.prepare(`SELECT * FROM ${table}`).all() as readonly Row[]).map(withoutOwn);
  const bodies = new Map(
    readAll(filled, "payloads").map((row) => [row["id"], String(row["body"])]),
  );
  const runs = readAll(filled, "runs");
  expect(runs).toHaveLength(runCount);
  const { batch, rejected } = parseBatch(toBatch(runs, bodies));
  // Records one by one, which the fill does not use.
  const result = createWriters(copy).runs.apply(readDefaultTenantId(copy), batch);
  expect([...rejected, ...result.rejected]).toEqual([]);
  for (const table of ["runs", "payloads", "run_facets", "run_counts"]) {
    expect(readAll(copy, table)).toEqual(readAll(filled, table));
  }
  expect(filled.prepare("SELECT count(*) AS feedback FROM feedback").all()).toEqual([
    { feedback: 2 },
  ]);
  filled.close();
  copy.close();
});
