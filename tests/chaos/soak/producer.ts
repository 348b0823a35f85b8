// Records runs, and writes down what it is about to record and which calls returned. Its parent tells it
// when to kill its workers and when to come to its end, and may kill it at any moment.
import { openSync, writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { Client } from "millrace";
import type { ClientOptions, ClientStats, FlushResult, RunTree } from "millrace";
import { recordedValue } from "../../support/recorded-value.ts";
import { endPrint, filePrint, startPrint } from "./fingerprint.ts";
import { HoldWatch } from "./hold-watch.ts";
import type { Holds } from "./hold-watch.ts";
import { lineText, nowhere } from "./journal.ts";
import type { Line } from "./journal.ts";
import { bytes, payload } from "./payloads.ts";
import { Random } from "./random.ts";

export interface ProducerTask {
  readonly journal: string;
  readonly seed: number;
  readonly runsPerSecond: number;
  readonly client: ClientOptions;
  /** Whether some runs have something attached. */
  readonly attach?: boolean;
  /** Whether a record counts as made only when a flush returned after it; the flushes are short. */
  readonly flushed?: boolean;
  /** Whether garbage is collected before each look at the memory; that holds the loop. */
  readonly collect?: boolean;
}

export type ProducerOrder =
  /** Record no more but one fresh run, flush it, close, say the counts. */
  | { readonly is: "finish" }
  | { readonly is: "kill worker" }
  /** The clock on the wall is off by so much from now on. */
  | { readonly is: "set clock"; readonly offByMs: number };

export interface Sample {
  readonly is: "sample";
  readonly stats: ClientStats;
  readonly rssBytes: number;
  /** Memory in buffers: tapes are in there. */
  readonly bufferBytes: number;
}

/** A short flush returned. */
export interface Flushed {
  readonly is: "flushed";
  readonly pending: number;
}

export interface Finished {
  readonly is: "finished";
  readonly stats: ClientStats;
  /** The run that was recorded when all else was over, and what its flush said. */
  readonly freshId: string;
  readonly flushed: FlushResult;
  readonly holds: Holds;
  readonly workersKilled: number;
}

const {
  journal,
  seed,
  runsPerSecond,
  client: options,
  collect = false,
  attach = false,
  flushed: isFlushed = false,
} = JSON.parse(process.argv[2] ?? "{}") as ProducerTask;
const tickMs = 20;
const shortFlushMs = 40;
const freshLimitMs = 45_000;
const lines = openSync(journal, "a");
const random = new Random(seed);
const workers = new Set<Worker>();
let workersKilled = 0;
let finishing = false;
let clockOffByMs = 0;
const { now } = Date;
Date.now = () => now() + clockOffByMs;

process.on("worker", (worker) => {
  // Not before it is up: two that can't start have the main thread send for a minute.
  worker.once("message", () => workers.add(worker));
  worker.once("exit", () => workers.delete(worker));
});
const client = new Client({ ...options, logger: { warn: () => undefined } });
const watch = new HoldWatch();

/** Obligations that begin when a flush returns. */
const unflushed: Line[] = [];

function write(line: Line): void {
  if (isFlushed && line.is === "done") {
    unflushed.push(line);
  } else {
    writeSync(lines, lineText(line));
  }
}

/** Whatever it reports, what was recorded before has arrived or is on disk. */
async function flush(timeoutMs: number): Promise<FlushResult> {
  // What is recorded while the flush waits is not part of it.
  const flushedLines = unflushed.splice(0);
  const result = await client.flush({ timeoutMs });
  flushedLines.forEach((line) => writeSync(lines, lineText(line)));
  return result;
}

/** Recorded while it is changed: what counts is the value at the call. */
function spoil(value: Record<string, unknown>): void {
  value["text"] = "changed after the call";
  value["late"] = [value["list"]];
}

function start(parent?: RunTree): RunTree {
  const id = random.uuid();
  const inputs = payload(random);
  const metadata = { lane: seed, draw: random.integer(0, 99) };
  const name = random.chance(0.01) ? "bad" : `run ${random.integer(0, 9)}`;
  const expected = { name, run_type: "tool", inputs: recordedValue(inputs), metadata };
  write({ is: "will", id, part: "start", print: startPrint(expected) });
  const file = attach && random.chance(0.05) ? bytes(random) : undefined;
  if (file !== undefined) {
    write({ is: "will", id, part: "file", print: filePrint(file) });
  }
  const attachments =
    file === undefined ? {} : { attachments: { file: { mimeType: "image/png", data: file } } };
  const settings = { id, name, runType: "tool", inputs, metadata, ...attachments } as const;
  const run = parent === undefined ? client.startRun(settings) : parent.startChild(settings);
  write({ is: "done", id, part: "start", place: run.dottedOrder });
  if (file !== undefined) {
    write({ is: "done", id, part: "file", place: nowhere });
    file.fill(0);
  }
  spoil(inputs);
  return run;
}

function end(run: RunTree): void {
  const outputs = payload(random);
  const error = random.chance(0.1) ? "it failed: ✗" : undefined;
  const print = endPrint({ outputs: recordedValue(outputs), error });
  write({ is: "will", id: run.id, part: "end", print });
  if (error === undefined) {
    run.end(outputs);
  } else {
    run.fail(error, outputs);
  }
  write({ is: "done", id: run.id, part: "end", place: run.dottedOrder });
  spoil(outputs);
}

/** One run, often with others below it; some end later, when their start may have been sent. */
function recordTrace(open: RunTree[]): number {
  const root = start();
  const children = Array.from({ length: random.integer(0, 2) }, () => start(root));
  for (const run of [...children, root]) {
    if (random.chance(0.2)) {
      open.push(run);
    } else {
      end(run);
    }
  }
  return children.length + 1;
}

function sample(): void {
  if (collect) {
    globalThis.gc?.();
  }
  const { rss, arrayBuffers } = process.memoryUsage();
  const said: Sample = {
    is: "sample",
    stats: client.stats(),
    rssBytes: rss,
    bufferBytes: arrayBuffers,
  };
  process.send?.(said);
}

async function produce(): Promise<void> {
  const open: RunTree[] = [];
  let owed = 0;
  while (!finishing) {
    await client.waitForCapacity({ timeoutMs: 2_000 });
    owed += (runsPerSecond * tickMs) / 1_000;
    while (owed >= 1) {
      owed -= recordTrace(open);
    }
    while (open.length > 50) {
      open.splice(random.integer(0, open.length - 1), 1).forEach(end);
    }
    await wait(tickMs);
    if (isFlushed && random.chance(0.2)) {
      const { pending } = await flush(shortFlushMs);
      process.send?.({ is: "flushed", pending } satisfies Flushed);
    }
  }
  open.forEach(end);
}

process.on("message", (order: ProducerOrder) => {
  switch (order.is) {
    case "finish":
      finishing = true;
      break;
    case "set clock":
      clockOffByMs = order.offByMs;
      break;
    case "kill worker":
      for (const worker of workers) {
        workersKilled += 1;
        void worker.terminate();
      }
      break;
  }
});
process.on("disconnect", () => process.exit());

// The first runs are not watched: code is compiled and threads start, once in a process's life.
end(start());
await client.flush({ timeoutMs: 100 });
watch.start();
const sampling = setInterval(sample, 1_000);
await produce();
const fresh = start();
end(fresh);
const flushed = await flush(freshLimitMs);
clearInterval(sampling);
sample();
await client.close({ timeoutMs: 0 });
const { holds } = watch;
watch.stop();
const finished: Finished = {
  is: "finished",
  stats: client.stats(),
  freshId: fresh.id,
  flushed,
  holds,
  workersKilled,
};
process.send?.(finished, () => process.disconnect());
