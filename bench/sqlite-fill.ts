import { dayMicros } from "../server/src/model/durations.ts";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MetricComputer } from "../server/src/metrics/sqlite/metric-computer.ts";
import { markLevels } from "../server/src/metrics/metrics.ts";
import { loadLibraryPrices } from "../server/src/prices/library-prices.ts";
import { batchMemory } from "../server/src/runs/batch-memory.ts";
import { parseBatch } from "../server/src/runs/ingest/parse-batch.ts";
import { packPosts } from "../server/src/runs/sqlite/post-rows.ts";
import { prepareTextIndex } from "../server/src/runs/sqlite/text-index/text-index.ts";
import { TextIndexWriter } from "../server/src/runs/sqlite/text-index/text-index-writer.ts";
import { TextIndexer } from "../server/src/runs/sqlite/text-index/text-indexer.ts";
import type { Connection } from "../server/src/storage/sqlite/connection.ts";
import { lockFolder } from "../server/src/storage/sqlite/folder-lock.ts";
import {
  databaseFileName,
  openReader,
  readDefaultTenantId,
} from "../server/src/storage/sqlite/open-database.ts";
import { createWriters } from "../server/src/store/repositories.ts";
import { openSecondWriter, openWriter } from "../server/src/store/schema.ts";
import { microsToIso, microsToStamp } from "../src/model/dotted-order.ts";
import {
  childDelayMicros,
  createFeedback,
  fillProjectName,
  latencyMicros,
  modelCount,
  names,
  rare,
  rareModel,
  rareName,
  rareTag,
  rareWord,
  rootKind,
  runsPerTrace,
  slowFactor,
  tracesPerFeedback,
  tracesPerThread,
  types,
  userCount,
  words,
  wordsPerText,
} from "./fill-shape.ts";

// Fills a data folder with small runs (`fill-shape.ts`), faster than a server would receive them: the code of the server
// parses and stores them, in one thread, without HTTP and without waiting for the disk. Then metrics are counted and texts
// are indexed, also by the code of the server. No server may use the folder meanwhile.
//
//   npm --prefix bench run fill-sqlite -- --data FOLDER --runs 10000000 --days 90
//
// A fill that is interrupted leaves a folder that must be deleted.

const tracesPerBatch = 500;
/**
 * With fewer transactions, the pages of indexes are written less often. The keys of these indexes arrive in random
 * order.
 */
const batchesPerTransaction = 100;
const defaultCacheMegabytes = 4_096;

export interface FillOptions {
  /** A connection of `openWriter`. */
  readonly db: Connection;
  readonly runCount: number;
  readonly days: number;
  readonly onProgress?: (runs: number) => void;
}

/** Adds runs to a database. */
export async function fillSqlite({ db, runCount, days, onProgress }: FillOptions): Promise<void> {
  await loadLibraryPrices();
  const tenantId = readDefaultTenantId(db);
  const writers = createWriters(db);
  const toMicros = Date.now() * 1_000;
  const fromMicros = toMicros - days * dayMicros;
  const traces = Math.ceil(runCount / runsPerTrace);
  const stepMicros = (toMicros - fromMicros) / traces;
  let batches = 0;
  for (let first = 0; first < traces; first += tracesPerBatch) {
    const next = Math.min(traces, first + tracesPerBatch);
    const created = Array.from({ length: next - first }, (_, index) =>
      createTrace(first + index, Math.floor(fromMicros + (first + index) * stepMicros)),
    );
    if (batches % batchesPerTransaction === 0) {
      db.exec("BEGIN");
    }
    const { batch, rejected } = parseBatch(Buffer.from(JSON.stringify({ post: created.flat() })));
    const feedback = created.flatMap(([root], index) =>
      (first + index) % tracesPerFeedback === 0 && root !== undefined
        ? [createFeedback(root.id, (first + index) / tracesPerFeedback)]
        : [],
    );
    const result = writers.runs.apply(tenantId, { ...packPosts(batch), feedback });
    batchMemory.release(batch.bodies.buffer);
    if (rejected.length + result.rejected.length > 0) {
      throw new Error(
        `runs were rejected: ${JSON.stringify([...rejected, ...result.rejected][0])}`,
      );
    }
    batches += 1;
    if (batches % batchesPerTransaction === 0 || next === traces) {
      db.exec("COMMIT");
      onProgress?.(next * runsPerTrace);
    }
  }
  // As in a database of an earlier version, whole hours are counted: that is faster than minute by minute.
  db.exec(`BEGIN;
    INSERT OR IGNORE INTO metric_marks SELECT DISTINCT project_id, ${markLevels.unreadHour}, unit / 60, 1 FROM metric_marks
      WHERE level = ${markLevels.minute};
    DELETE FROM metric_marks WHERE level = ${markLevels.minute};
    COMMIT`);
}

/** Counts all metrics, without the pauses that a server makes. */
export async function countMetrics(db: Connection, path: string): Promise<void> {
  const reader = openReader(path);
  const { metrics } = createWriters(db);
  const computer = new MetricComputer(reader);
  for (;;) {
    const computed = await computer.compute(0, () => false);
    if (computed.length === 0) {
      break;
    }
    db.exec("BEGIN");
    metrics.store(computed);
    db.exec("COMMIT");
  }
  reader.close();
}

/** Indexes all texts, without the pauses that a server makes. */
export async function indexTexts(path: string): Promise<void> {
  const db = openSecondWriter(path);
  const writer = new TextIndexWriter(db);
  const indexer = new TextIndexer(path, {
    claimRuns: async (row) => writer.claimRuns(row),
    deleteChanges: async (sequence) => writer.deleteChanges(sequence),
  });
  // Stops after two steps without work: the first one only finds the last run, which the next step indexes.
  for (let idleSteps = 0; idleSteps < 2;) {
    idleSteps = (await indexer.runStep()) ? 0 : idleSteps + 1;
  }
  indexer.close();
  db.close();
}

/** The runs of a trace, as a client sends them. */
const createTrace = (trace: number, rootMicros: number): readonly FilledRun[] => {
  const rootId = randomUUID();
  return Array.from({ length: runsPerTrace }, (_, position) =>
    createRun({ trace, position, rootId, rootMicros }),
  );
};

type FilledRun = Readonly<Record<string, unknown>> & { readonly id: string };

interface RunPlace {
  readonly trace: number;
  readonly position: number;
  readonly rootId: string;
  readonly rootMicros: number;
}

function createRun({ trace, position, rootId, rootMicros }: RunPlace): FilledRun {
  const isRoot = position === 0;
  const id = isRoot ? rootId : randomUUID();
  const startMicros = rootMicros + position * childDelayMicros;
  const number = mix(trace * runsPerTrace + position);
  const isRare = (name: keyof typeof rare): boolean => number % rare[name][0] === rare[name][1];
  const kind = isRoot ? rootKind : mix(trace * 31 + position) & 7;
  const runType = types[kind] ?? "";
  const text =
    Array.from({ length: wordsPerText }, (_, index) => words[(number >> index) & 7]).join(" ") +
    (isRare("word") ? ` ${rareWord}` : "");
  const latency = 1_000 + (number % latencyMicros) * (isRare("slow") ? slowFactor : 1);
  const rootSegment = `${microsToStamp(rootMicros)}${rootId}`;
  const region = number % 10 < 3 ? "eu" : "us";
  return {
    id,
    trace_id: rootId,
    dotted_order: isRoot ? rootSegment : `${rootSegment}.${microsToStamp(startMicros)}${id}`,
    parent_run_id: isRoot ? null : rootId,
    session_name: fillProjectName,
    name: isRare("name") ? rareName : names[kind],
    run_type: runType,
    start_time: microsToIso(startMicros),
    end_time: isRare("pending") ? null : microsToIso(startMicros + latency),
    inputs: { question: text },
    outputs: {
      answer: text.slice(0, 40),
      ...(runType === "llm" && {
        usage_metadata: {
          input_tokens: number % 800,
          output_tokens: number % 200,
          total_cost: (number % 1_000) / 100_000,
        },
      }),
    },
    ...(isRare("failed") && { error: "TimeoutError" }),
    tags: [isRare("tag") ? rareTag : region],
    extra: {
      metadata: {
        user_id: `user-${trace % userCount}`,
        ls_model_name: isRare("model") ? rareModel : `model-${number % modelCount}`,
        ...(isRoot && { thread_id: `thread-${Math.floor(trace / tracesPerThread)}` }),
      },
    },
  };
}

/** Returns a pseudorandom number of 31 bits for a number; the same for each call. */
function mix(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) & 0x7fffffff;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      runs: { type: "string", default: "1000000" },
      days: { type: "string", default: "90" },
      "cache-mb": { type: "string", default: String(defaultCacheMegabytes) },
      /** Runs only this part of the work. The texts are indexed in a separate process. */
      only: { type: "string" },
    },
  });
  if (values.data === undefined) {
    throw new Error("--data is missing: name a folder that is new or empty");
  }
  const path = join(values.data, databaseFileName);
  const startMs = Date.now();
  const report = (text: string): void =>
    console.error(`${text}, ${Math.round((Date.now() - startMs) / 1_000)} s`);
  if (values.only === "texts") {
    await indexTexts(path);
    report("texts were indexed");
  } else {
    mkdirSync(values.data, { recursive: true, mode: 0o700 });
    const lock = lockFolder(values.data);
    const db = openWriter(path);
    db.exec(`PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF;
      PRAGMA cache_size = -${Number(values["cache-mb"]) * 1_024}; PRAGMA journal_mode = OFF`);
    await fillSqlite({
      db,
      runCount: Number(values.runs),
      days: Number(values.days),
      onProgress: (runs) => report(`${runs.toLocaleString("en")} runs`),
    });
    db.exec("PRAGMA journal_mode = WAL");
    prepareTextIndex(path);
    const texts = spawn(
      process.execPath,
      [
        ...process.execArgv,
        fileURLToPath(import.meta.url),
        "--data",
        values.data,
        "--only",
        "texts",
      ],
      { stdio: "inherit" },
    );
    await Promise.all([
      once(texts, "exit"),
      countMetrics(db, path).then(() => report("metrics were counted")),
    ]);
    db.close();
    lock.release();
    process.exitCode = texts.exitCode ?? 1;
  }
}
