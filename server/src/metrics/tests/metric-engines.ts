import { randomUUID } from "node:crypto";
import { openPglite, openRunStore } from "../../../tests/support/postgres-run-store.ts";
import { loadLibraryPrices } from "../../prices/library-prices.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import { RunDeleter } from "../../runs/postgres/run-deleter.ts";
import type { Rejection } from "../../runs/run-record.ts";
import { packPosts } from "../../runs/sqlite/post-rows.ts";
import { createWriters } from "../../store/repositories.ts";
import { openWriter } from "../../store/schema.ts";
import type { MetricQuery, Metrics, OverviewMetrics, OverviewQuery } from "../metrics.ts";
import { PostgresMetricCounter } from "../postgres/metric-counter.ts";
import { MetricComputer } from "../sqlite/metric-computer.ts";
import { MetricReader } from "../sqlite/metric-reader.ts";

export interface RunsOfBatch {
  readonly post?: readonly unknown[];
  readonly patch?: readonly unknown[];
}

/** The runs of one tenant, in the project that its runs name, with their metrics. */
export interface MetricEngine {
  /** Returns what was refused. */
  send(
    batch: RunsOfBatch,
    options?: { readonly isGrouped: boolean },
  ): Promise<readonly Rejection[]>;
  deleteRun(id: string): Promise<void>;
  /** Computes some of the metrics that are out of date. */
  compute(): Promise<void>;
  /** Computes until no mark is left. */
  computeAll(): Promise<void>;
  read(query: Omit<MetricQuery, "projectId">): Promise<Metrics>;
  readOverview(query: OverviewQuery): Promise<OverviewMetrics>;
  close(): Promise<void>;
}

export interface MetricDatabase {
  createEngine(): Promise<MetricEngine>;
  close(): Promise<void>;
}

/** The engines, and the number of random sequences of writes that a test applies to each: PostgreSQL takes longer. */
export const createMetricEngines = () => [
  { name: "SQLite", open: openSqlite, stories: 15 },
  { name: "PostgreSQL", open: openPostgres, stories: 6 },
];

const maxRounds = 50;

async function computeUntilDone(
  compute: () => Promise<void>,
  countMarks: () => Promise<number>,
): Promise<void> {
  for (let rounds = 0; (await countMarks()) > 0; rounds += 1) {
    if (rounds === maxRounds) {
      throw new Error(`marks are left after ${maxRounds} rounds`);
    }
    await compute();
  }
}

const parse = (batch: RunsOfBatch) => parseBatch(Buffer.from(JSON.stringify(batch))).batch;

async function openSqlite(): Promise<MetricDatabase> {
  await loadLibraryPrices();
  return { createEngine: async () => createSqliteEngine(), close: async () => undefined };
}

/** A database of its own, with its writers and readers on one connection. */
function createSqliteEngine(): MetricEngine {
  const tenantId = randomUUID();
  const db = openWriter(":memory:");
  const writers = createWriters(db);
  const reader = new MetricReader(db);
  const computer = new MetricComputer(db);
  db.exec(
    `INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES ('${tenantId}', 't', '"t"', 0)`,
  );
  const readOne = (sql: string): unknown => db.prepare(sql).raw().all().flat()[0];
  const compute = async (): Promise<void> =>
    writers.metrics.store(await computer.compute(0, () => false));
  return {
    send: async (batch, { isGrouped = false } = { isGrouped: false }) => {
      const parsed = parse(batch);
      return writers.runs.apply(tenantId, isGrouped ? packPosts(parsed) : parsed).rejected;
    },
    deleteRun: async (id) => {
      db.prepare("DELETE FROM runs WHERE id = ?").run([id]);
    },
    compute,
    computeAll: () =>
      computeUntilDone(compute, async () => Number(readOne("SELECT count(*) FROM metric_marks"))),
    read: async (query) =>
      reader.read(tenantId, { ...query, projectId: String(readOne("SELECT id FROM projects")) }),
    readOverview: async (query) => reader.readOverview(tenantId, query),
    close: async () => db.close(),
  };
}

/** One database for all engines, each with a tenant of its own. */
async function openPostgres(): Promise<MetricDatabase> {
  const client = await openPglite();
  const { db, transact, read, ingest } = openRunStore(client);
  const counter = new PostgresMetricCounter(db);
  const deleter = new RunDeleter(db);
  const compute = async (): Promise<void> => {
    await transact(() => counter.count(0));
  };
  const createEngine = async (): Promise<MetricEngine> => {
    const tenantId = randomUUID();
    const count = async (sql: string): Promise<number> => {
      const { rows } = await db.query<{ readonly count: number }>(sql, [tenantId]);
      return rows[0]?.count ?? 0;
    };
    return {
      send: async (batch, { isGrouped = false } = { isGrouped: false }) => {
        const parsed = parse(batch);
        return (await ingest(tenantId, isGrouped ? packPosts(parsed) : parsed)).rejected;
      },
      deleteRun: (id) =>
        transact(async () => {
          const { rows } = await db.query<{
            readonly id: string;
            readonly root_us: number;
            readonly trace_id: string;
          }>("SELECT id, root_us, trace_id FROM run_keys WHERE tenant_id = $1 AND id = $2", [
            tenantId,
            id,
          ]);
          await deleter.delete(tenantId, rows);
        }),
      compute,
      computeAll: () =>
        computeUntilDone(compute, () =>
          count("SELECT count(*) AS count FROM metric_marks WHERE tenant_id = $1"),
        ),
      read: async (query) => {
        const { rows } = await db.query<{ readonly id: string }>(
          "SELECT id FROM projects WHERE tenant_id = $1",
          [tenantId],
        );
        return read.metrics.read(tenantId, { ...query, projectId: rows[0]?.id ?? "" });
      },
      readOverview: (query) => read.metrics.readOverview(tenantId, query),
      close: async () => undefined,
    };
  };
  return { createEngine, close: () => client.close() };
}
