import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import type { ClientOptions } from "millrace";
import { inspectSpool, replaySpool } from "millrace/spool";
import { crowd } from "./crowd.ts";
import { linesOf } from "./journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./oracle.ts";
import type { Verdict } from "./oracle.ts";
import { planOf } from "./plan.ts";
import type { Step } from "./plan.ts";
import { ProducerProcess, ServerProcess } from "./processes.ts";
import type { Finished } from "./producer.ts";

export interface SoakOptions {
  readonly seed: number;
  /** How long faults come; recovery and judgement come after. */
  readonly minutes: number;
  /** An empty folder for journals and spools. */
  readonly folder: string;
  readonly say: (text: string) => void;
}

export interface SoakReport extends Verdict {
  readonly seed: number;
  /** What was done, by kind, and how often. */
  readonly steps: Readonly<Partial<Record<Step["is"], number>>>;
  /** Records of producers with a small queue at a slow server, and how many gave way. */
  readonly crowded: { readonly records: number; readonly lost: number; readonly lives: number };
  readonly retries: number;
  readonly requests: number;
  readonly longestHoldMs: number;
  readonly longestWallHoldMs: number;
  readonly peakRssMb: number;
  readonly peakBufferMb: number;
  readonly workersKilled: number;
  /** Producers of default durability that were killed after a flush that reported records as pending. */
  readonly killedWhilePending: number;
}

/** What a loop may be held by us, at most. */
export const holdLimitMs = 50;

const producerNames = ["steady", "killed", "flushed"] as const;
const queueBytes = 4_194_304;
const tapeBytes = 131_072;
const requestsInFlight = 8;
const replayLimitMs = 120_000;
const producersAtMost = 100_000;
const mebibyte = 1_048_576;
/** Memory in buffers that V8 lets pass before it collects them. */
const garbageBytes = 64 * mebibyte;
const runsPerSecond = 120;
const flushedRunsPerSecond = 60;

/** Quick to try again, so that many faults fit into the time; all else is as it comes. */
const hurried: ClientOptions = {
  maxQueueBytes: queueBytes,
  tapeBytes,
  requestsInFlight,
  overflow: "spool",
  compression: "gzip",
  timeoutMs: 1_000,
  retryAfterLimitMs: 1_000,
  attempts: 4,
};

/** Runs the whole: faults by the plan, then recovery, then judgement. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seed, minutes, folder, say } = options;
  const durationMs = minutes * 60_000;
  const plan = planOf({ seed, durationMs });
  const paths = {
    received: join(folder, "received"),
    steady: join(folder, "steady"),
    killed: join(folder, "killed"),
    flushed: join(folder, "flushed"),
  };
  for (const name of ["steady-spool", "killed-spool", "flushed-spool", "crowd"]) {
    mkdirSync(join(folder, name));
  }
  const server = new ServerProcess(paths.received, seed);
  await server.start();
  const spool = (name: string): string => join(folder, `${name}-spool`);
  const clientOf = (name: string, more: ClientOptions = {}): ClientOptions => ({
    ...hurried,
    endpoint: server.url,
    spoolDir: spool(name),
    ...more,
  });
  /** One for each producer of this soak, and of those with the next seeds. */
  const seedOf = (producer: number): number => seed * producersAtMost + producer;
  const steady = new ProducerProcess({
    journal: paths.steady,
    seed: seedOf(1),
    runsPerSecond,
    attach: true,
    client: clientOf("steady"),
  });
  let life = 1;
  const nextLife = (): ProducerProcess => {
    life += 1;
    return new ProducerProcess({
      journal: paths.killed,
      seed: seedOf(life),
      runsPerSecond,
      attach: true,
      client: clientOf("killed", { durability: "spool-first", workers: 2 }),
    });
  };
  /** In memory until a flush reports it: then on disk as well. */
  const nextFlushed = (): ProducerProcess => {
    life += 1;
    return new ProducerProcess({
      journal: paths.flushed,
      seed: seedOf(life),
      runsPerSecond: flushedRunsPerSecond,
      attach: true,
      flushed: true,
      client: clientOf("flushed"),
    });
  };
  let killed = nextLife();
  let flushed = nextFlushed();
  let kills = 0;
  let killedWhilePending = 0;
  const endCrowd = new AbortController();
  const crowding = crowd({ seed, folder: join(folder, "crowd"), signal: endCrowd.signal });

  const began = performance.now();
  for (const step of plan) {
    await wait(Math.max(0, began + step.atMs - performance.now()));
    switch (step.is) {
      case "fault":
        server.tell({ fault: step.fault });
        break;
      case "info":
        server.tell({ info: step.info });
        break;
      case "kill worker":
        steady.tell({ is: "kill worker" });
        break;
      case "set clock":
        steady.tell(step);
        killed.tell(step);
        flushed.tell(step);
        break;
      case "kill producer":
        kills += 1;
        if (kills % 2 === 1) {
          await flushed.kill();
          killedWhilePending += flushed.pendingAtFlush > 0 ? 1 : 0;
          flushed = nextFlushed();
        } else {
          await killed.kill();
          killed = nextLife();
        }
        break;
      case "kill server":
        await server.kill();
        await wait(step.forMs);
        await server.start();
        break;
    }
  }
  await wait(Math.max(0, began + durationMs - performance.now()));

  say("The faults are over: recovery.");
  endCrowd.abort();
  server.tell({ fault: "none", info: "plain" });
  const ends = await Promise.all([steady.finish(), killed.finish(), flushed.finish()]);
  say("The producers have said their counts.");
  const crowded = await crowding;
  say("Replay of what is on disk.");
  const oracle = new Oracle();
  const faults = [...crowded.faults];
  for (const name of producerNames) {
    faults.push(...(await emptied(spool(name), server.url)));
  }
  await server.kill();
  say("Judgement.");
  for (const path of [paths.steady, paths.killed, paths.flushed]) {
    for await (const line of linesOf(path)) {
      oracle.recorded(line);
    }
  }
  for await (const line of linesOf(paths.received)) {
    oracle.received(line);
  }
  const verdict = oracle.judge({ lost: 0 });
  const samples = [...steady.samples, ...killed.samples, ...flushed.samples];
  const { oursMs, wallMs } = longest(ends);
  faults.push(
    ...verdict.faults,
    ...samples.flatMap(({ stats }) => counterFaults(stats)).slice(0, 5),
    ...ends.flatMap((end, index) =>
      endFaults(end, oracle).map((fault) => `${producerNames[index]}: ${fault}`),
    ),
    ...memoryFaults(steady.samples, {
      bufferBytes: queueBytes + (requestsInFlight + 2) * tapeBytes + garbageBytes,
      growthBytes: 64 * mebibyte,
    }),
  );
  return {
    ...verdict,
    faults,
    seed,
    steps: countsOf(plan),
    crowded,
    retries: ends.reduce((sum, { stats }) => sum + stats.retries, 0),
    requests: ends.reduce((sum, { stats }) => sum + stats.requests, 0),
    longestHoldMs: oursMs,
    longestWallHoldMs: wallMs,
    peakRssMb: peak(samples.map(({ rssBytes }) => rssBytes)),
    peakBufferMb: peak(samples.map(({ bufferBytes }) => bufferBytes)),
    killedWhilePending,
    workersKilled: ends.reduce((sum, { workersKilled }) => sum + workersKilled, 0),
  };
}

/**
 * Sends what is in a spool's folder, dead letters too, for as long as it gets less; what is left then is a
 * fault. An hour of faults leaves more than one turn can send.
 */
async function emptied(folder: string, endpoint: string): Promise<readonly string[]> {
  let before = Number.POSITIVE_INFINITY;
  for (;;) {
    const { left } = await replaySpool({
      spoolDir: folder,
      endpoint,
      limitMs: replayLimitMs,
      logger: { warn: () => undefined },
    });
    if (left === 0 || left >= before) {
      break;
    }
    before = left;
  }
  const files = await inspectSpool(folder);
  return files.map(({ path, state, records }) => `${path} is left: ${state}, ${records} records`);
}

function endFaults(
  { stats, freshId, flushed, holds }: Finished,
  oracle: Oracle,
): readonly string[] {
  const faults = [...counterFaults(stats)];
  if (flushed.pending > 0 || !oracle.has(freshId, "start") || !oracle.has(freshId, "end")) {
    faults.push(`a fresh run did not flow at the end: ${JSON.stringify({ flushed, stats })}`);
  }
  // What was set aside is a dead letter: it has been sent since.
  if (stats.dropped > stats.lost.quarantined) {
    faults.push(`records were dropped beside a spool: ${JSON.stringify(stats.lost)}`);
  }
  if (holds.oursMs > holdLimitMs) {
    faults.push(`the loop was held for ${holds.oursMs.toFixed(1)} ms`);
  }
  return faults;
}

const longest = (ends: readonly Finished[]): { oursMs: number; wallMs: number } => ({
  oursMs: Math.max(...ends.map(({ holds }) => holds.oursMs)),
  wallMs: Math.max(...ends.map(({ holds }) => holds.wallMs)),
});

const peak = (bytes: readonly number[]): number => Math.max(0, ...bytes) / mebibyte;

function countsOf(plan: readonly Step[]): Readonly<Partial<Record<Step["is"], number>>> {
  const counts: Partial<Record<Step["is"], number>> = {};
  for (const { is } of plan) {
    counts[is] = (counts[is] ?? 0) + 1;
  }
  return counts;
}
