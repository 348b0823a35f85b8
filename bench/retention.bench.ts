// How many expired runs does retention delete in a second, and how long does ingest wait meanwhile? npm --prefix bench
// run retention -- --store postgres://USER:PASSWORD@HOST/EMPTY_DATABASE --runs 1000000 npm --prefix bench run retention
// -- --runs 200000 Without --store, the runs are in SQLite. With --keep, a second tenant without a retention rule has
// one run in every week, so that PostgreSQL can't remove weeks as a whole.
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openPostgresStore } from "../server/dist/store/postgres/postgres-store.js";
import { openSqliteStore } from "../server/dist/store/sqlite-store.js";
import { parseStoreUrl } from "../server/src/model/store-url.ts";
import { RetentionSweeper } from "../server/src/runs/retention/retention-sweeper.ts";
import { parseBatch } from "../server/src/runs/ingest/parse-batch.ts";
import { PostgresConnection } from "../server/src/storage/postgres/postgres-connection.ts";
import type { Store } from "../server/src/store/store.ts";
import { fillPostgres } from "./postgres-fill.ts";
import { median } from "./results.ts";

const { values: flags } = parseArgs({
  options: {
    store: { type: "string" },
    runs: { type: "string", default: "1000000" },
    days: { type: "string", default: "56" },
    /** Seconds after which the measurement ends, if runs are left. */
    seconds: { type: "string", default: "600" },
    keep: { type: "boolean", default: false },
  },
});
const dayMs = 86_400_000;
const runCount = Number(flags.runs);
const days = Number(flags.days);
const maxMs = Number(flags.seconds) * 1_000;
/** A batch of runs is sent this long after the previous one was stored. */
const ingestPauseMs = 20;
const ingestBatch = 20;

const folder = await mkdtemp(join(tmpdir(), "millrace-retention-"));
const open = (): Promise<Store> =>
  flags.store === undefined
    ? openSqliteStore(folder)
    : openPostgresStore(flags.store, { dataDir: folder });
let store = await open();
const { defaultTenantId: tenantId } = store;

const stamp = (micros: number): string =>
  `${new Date(Math.floor(micros / 1_000)).toISOString().replaceAll(/[-:]|\.\d+Z$/g, "")}${String(micros % 1_000_000).padStart(6, "0")}Z`;

/** A trace of ten small runs, which began at this time. */
function createTrace(startMs: number, project: string): readonly object[] {
  const root = randomUUID();
  const rootMicros = Math.floor(startMs) * 1_000;
  const rootOrder = `${stamp(rootMicros)}${root}`;
  return Array.from({ length: 10 }, (_, index) => {
    const id = index === 0 ? root : randomUUID();
    const micros = rootMicros + index * 1_000;
    return {
      id,
      trace_id: root,
      dotted_order: index === 0 ? rootOrder : `${rootOrder}.${stamp(micros)}${id}`,
      ...(index > 0 && { parent_run_id: root }),
      session_name: project,
      name: `step ${index}`,
      run_type: index % 3 === 1 ? "llm" : "chain",
      start_time: new Date(micros / 1_000).toISOString(),
      end_time: new Date(micros / 1_000 + 500).toISOString(),
      inputs: { question: "where is my order ".repeat(4) },
      outputs: { answer: "it is on its way ".repeat(2) },
      tags: [index % 2 === 0 ? "eu" : "us"],
      extra: { metadata: { user_id: `user-${Math.floor(startMs) % 1_000}` } },
    };
  });
}

const ingest = (tenant: string, runs: readonly object[]) =>
  store.ingest(tenant, parseBatch(Buffer.from(JSON.stringify({ post: runs }))).batch);

async function fill(): Promise<void> {
  const fromMs = Date.now() - (days + 2) * dayMs;
  if (flags.store !== undefined) {
    const connection = await PostgresConnection.connect(parseStoreUrl(flags.store), {
      applicationName: "retention bench",
      statementMs: 3_600_000,
    });
    // A server would drop the partitions before they have runs.
    await store.close();
    await fillPostgres({ connection, tenantId, runCount, days });
    await connection.close();
    store = await open();
  } else {
    const traces = Math.ceil(runCount / 10);
    for (let first = 0; first < traces; first += 50) {
      const runs = Array.from({ length: 50 }, (_, index) =>
        createTrace(fromMs + ((first + index) / traces) * days * dayMs, "old"),
      ).flat();
      await ingest(tenantId, runs);
    }
  }
  if (flags.keep) {
    const other = await store.write.tenants.create({ handle: null, displayName: "keeps its runs" });
    for (let day = 0; day <= days; day += 7) {
      await ingest(other.id, createTrace(fromMs + day * dayMs, "kept"));
    }
  }
}

const countRuns = async (): Promise<number> =>
  (await store.read.storage.countRuns()).find((row) => row.tenantId === tenantId)?.runs ?? 0;

let isOver = false;
const waits: number[] = [];
async function keepIngesting(): Promise<void> {
  while (!isOver) {
    const runs = [createTrace(Date.now(), "new"), createTrace(Date.now(), "new")].flat();
    const startMs = performance.now();
    await ingest(tenantId, runs.slice(0, ingestBatch));
    waits.push(performance.now() - startMs);
    await delay(ingestPauseMs);
  }
}

const describeWaits = (): string => {
  const sorted = waits.splice(0).toSorted((left, right) => left - right);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
  return `${sorted.length} batches of ${ingestBatch} runs, waits ${median(sorted).toFixed(1)} ms (p99 ${at(0.99)}, longest ${at(1)})`;
};

console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${flags.store === undefined ? "SQLite" : "PostgreSQL"}`,
);
await fill();
console.log(`filled with ${await countRuns()} runs`);
const ingesting = keepIngesting();
await delay(10_000);
console.log(`without a sweep: ${describeWaits()}`);
await store.write.retention.set(tenantId, { projectId: null, days: 1 });
let deleted = 0;
let isSwept = false;
const startMs = performance.now();
const { write } = store;
const counting = Object.assign(Object.create(store) as Store, {
  write: {
    ...write,
    retention: {
      ...write.retention,
      sweep: async (nowMicros: number, from: string | null) => {
        const step = await write.retention.sweep(nowMicros, from);
        deleted += step.deleted;
        isSwept ||= step.next === null;
        return step;
      },
    },
  },
});
const sweeper = new RetentionSweeper(counting, { sweepIntervalMs: 1_000, maxPauseMs: 1_000 });
while (performance.now() - startMs < maxMs && !isSwept) {
  await delay(500);
}
const seconds = (performance.now() - startMs) / 1_000;
sweeper.close();
isOver = true;
await ingesting;
console.log(`while sweeping: ${describeWaits()}`);
console.log(
  `${deleted} runs deleted in ${seconds.toFixed(1)} s: ${Math.round(deleted / seconds)} a second`,
);
await store.close();
await rm(folder, { recursive: true, force: true });
