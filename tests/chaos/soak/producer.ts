// Records runs. Its journal contains what it is about to record and which calls returned. Its parent process
// commands it to kill its workers or to finish, and may kill it at any moment.
import { openSync, writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { Client } from "millrace";
import type { ClientOptions, ClientStats, FlushResult, RunTree } from "millrace";
import { recordedValue } from "../../support/recorded-value.ts";
import { endFingerprint, fileFingerprint, startFingerprint } from "./fingerprint.ts";
import { LoopBlockMonitor } from "./loop-block-monitor.ts";
import type { LoopBlocks } from "./loop-block-monitor.ts";
import { formatLine, noDottedOrder } from "./journal.ts";
import type { Line } from "./journal.ts";
import { bytes, payload } from "./payloads.ts";
import { Random } from "./random.ts";

export interface ProducerTask {
  readonly journal: string;
  readonly seed: number;
  readonly runsPerSecond: number;
  readonly client: ClientOptions;
  /** Whether some runs have an attachment. */
  readonly attachFiles?: boolean;
  /** Whether a record must arrive only if a flush returned after it. The flushes have a short limit. */
  readonly requireFlush?: boolean;
  /** Whether to collect garbage before each memory sample, which blocks the event loop. */
  readonly collectGarbage?: boolean;
}

export type ProducerCommand =
  /** Stop recording, record and flush one last run, close the client, and report the counters. */
  | { readonly is: "finish" }
  | { readonly is: "kill worker" }
  /** Record at another rate from now on. */
  | { readonly is: "set rate"; readonly runsPerSecond: number }
  /** Shift `Date.now` by this time from now on. */
  | { readonly is: "set clock"; readonly offByMs: number };

export interface Sample {
  readonly is: "sample";
  readonly stats: ClientStats;
  readonly rssBytes: number;
  /** Memory in buffers, which includes tapes. */
  readonly bufferBytes: number;
}

/** Reports the result of a short flush. */
export interface Flushed {
  readonly is: "flushed";
  readonly pending: number;
}

export interface Finished {
  readonly is: "finished";
  readonly stats: ClientStats;
  /** The id of the run that was recorded last, after all faults. */
  readonly freshId: string;
  /** The result of the last flush. */
  readonly flushed: FlushResult;
  readonly loopBlocks: LoopBlocks;
  readonly workersKilled: number;
}

const {
  journal,
  seed,
  runsPerSecond: firstRate,
  client: options,
  collectGarbage = false,
  attachFiles = false,
  requireFlush = false,
} = JSON.parse(process.argv[2] ?? "{}") as ProducerTask;
const tickMs = 20;
const shortFlushMs = 40;
const freshLimitMs = 45_000;
const journalFile = openSync(journal, "a");
const random = new Random(seed);
const workers = new Set<Worker>();
let workersKilled = 0;
let finishing = false;
let clockOffByMs = 0;
let runsPerSecond = firstRate;
const { now: systemNow } = Date;
Date.now = () => systemNow() + clockOffByMs;

process.on("worker", (worker) => {
  // Kill only workers that have started: if two workers fail to start, the main thread sends for a minute instead.
  worker.once("message", () => workers.add(worker));
  worker.once("exit", () => workers.delete(worker));
});
const client = new Client({ ...options, logger: { warn: () => undefined } });
const blockMonitor = new LoopBlockMonitor();

/** Lines to write when a flush returns, because only then the records must arrive. */
const unflushedLines: Line[] = [];

function write(line: Line): void {
  if (requireFlush && line.is === "returned") {
    unflushedLines.push(line);
  } else {
    writeSync(journalFile, formatLine(line));
  }
}

/** Flushes. Whatever the result, records from before the call have arrived or are on disk afterwards. */
async function flush(timeoutMs: number): Promise<FlushResult> {
  // Records that are created while the flush waits are not covered by it.
  const flushedLines = unflushedLines.splice(0);
  const result = await client.flush({ timeoutMs });
  flushedLines.forEach((line) => writeSync(journalFile, formatLine(line)));
  return result;
}

/** Modifies a value after it was passed to a recording call, because the value at the call must be recorded. */
function modify(value: Record<string, unknown>): void {
  value["text"] = "changed after the call";
  value["late"] = [value["list"]];
}

function start(parent?: RunTree): RunTree {
  const id = random.uuid();
  const inputs = payload(random);
  const metadata = { producer: seed, draw: random.integer(0, 99) };
  const name = random.chance(0.01) ? "bad" : `run ${random.integer(0, 9)}`;
  const expected = { name, run_type: "tool", inputs: recordedValue(inputs), metadata };
  write({ is: "intent", id, part: "start", print: startFingerprint(expected) });
  const file = attachFiles && random.chance(0.05) ? bytes(random) : undefined;
  if (file !== undefined) {
    write({ is: "intent", id, part: "file", print: fileFingerprint(file) });
  }
  const attachments =
    file === undefined ? {} : { attachments: { file: { mimeType: "image/png", data: file } } };
  const settings = { id, name, runType: "tool", inputs, metadata, ...attachments } as const;
  const run = parent === undefined ? client.startRun(settings) : parent.startChild(settings);
  write({ is: "returned", id, part: "start", dottedOrder: run.dottedOrder });
  if (file !== undefined) {
    write({ is: "returned", id, part: "file", dottedOrder: noDottedOrder });
    file.fill(0);
  }
  modify(inputs);
  return run;
}

function end(run: RunTree): void {
  const outputs = payload(random);
  const error = random.chance(0.1) ? "it failed: ✗" : undefined;
  const print = endFingerprint({ outputs: recordedValue(outputs), error });
  write({ is: "intent", id: run.id, part: "end", print });
  if (error === undefined) {
    run.end(outputs);
  } else {
    run.fail(error, outputs);
  }
  write({ is: "returned", id: run.id, part: "end", dottedOrder: run.dottedOrder });
  modify(outputs);
}

/** Records a run, often with children. Some runs end later, when their start may already have been sent. */
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
  if (collectGarbage) {
    globalThis.gc?.();
  }
  const { rss, arrayBuffers } = process.memoryUsage();
  const message: Sample = {
    is: "sample",
    stats: client.stats(),
    rssBytes: rss,
    bufferBytes: arrayBuffers,
  };
  process.send?.(message);
}

async function produce(): Promise<void> {
  const open: RunTree[] = [];
  let runsDue = 0;
  while (!finishing) {
    await client.waitForCapacity({ timeoutMs: 2_000 });
    runsDue += (runsPerSecond * tickMs) / 1_000;
    while (runsDue >= 1) {
      runsDue -= recordTrace(open);
    }
    while (open.length > 50) {
      open.splice(random.integer(0, open.length - 1), 1).forEach(end);
    }
    await wait(tickMs);
    if (requireFlush && random.chance(0.2)) {
      const { pending } = await flush(shortFlushMs);
      process.send?.({ is: "flushed", pending } satisfies Flushed);
    }
  }
  open.forEach(end);
}

process.on("message", (order: ProducerCommand) => {
  switch (order.is) {
    case "finish":
      finishing = true;
      break;
    case "set rate":
      ({ runsPerSecond } = order);
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

// The first runs are not monitored, because code is compiled and threads start at that time.
end(start());
await client.flush({ timeoutMs: 100 });
blockMonitor.start();
const sampling = setInterval(sample, 1_000);
await produce();
const fresh = start();
end(fresh);
const flushed = await flush(freshLimitMs);
clearInterval(sampling);
sample();
await client.close({ timeoutMs: 0 });
const { longest: loopBlocks } = blockMonitor;
blockMonitor.stop();
const finished: Finished = {
  is: "finished",
  stats: client.stats(),
  freshId: fresh.id,
  flushed,
  loopBlocks,
  workersKilled,
};
process.send?.(finished, () => process.disconnect());
