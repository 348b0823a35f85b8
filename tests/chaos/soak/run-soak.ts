import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import type { ClientOptions, ClientStats } from "millrace";
import { inspectSpool, replaySpool } from "millrace/spool";
import { overloadQueues } from "./overloaded-producers.ts";
import { readLines } from "./journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./oracle.ts";
import type { Verdict } from "./oracle.ts";
import { planOf } from "./plan.ts";
import type { Step } from "./plan.ts";
import { ProducerProcess, ServerProcess } from "./processes.ts";
import type { Finished } from "./producer.ts";

export interface SoakOptions {
  readonly seed: number;
  /** Duration of the faults; recovery and evaluation follow after it. */
  readonly minutes: number;
  /** An empty folder for journals and spools. */
  readonly folder: string;
  readonly log: (text: string) => void;
}

export interface SoakReport extends Verdict {
  readonly seed: number;
  /** The number of executed steps, by kind. */
  readonly steps: Readonly<Partial<Record<Step["is"], number>>>;
  /** Records of the producers with a small queue and a slow server, and how many of them were dropped. */
  readonly overloaded: {
    readonly records: number;
    readonly lost: number;
    readonly producers: number;
  };
  readonly retries: number;
  readonly requests: number;
  readonly longestBlockCpuMs: number;
  readonly longestBlockWallMs: number;
  readonly peakRssMb: number;
  readonly peakBufferMb: number;
  readonly workersKilled: number;
  /** Producers with default durability that were killed after a flush that reported pending records. */
  readonly killedWhilePending: number;
}

/**
 * Limits for the CPU time of the event-loop blocks of a producer. While other programs use the same processors, a
 * garbage collection or a first compilation takes several times its usual CPU time, which a process sees once or twice.
 * Blocks that the SDK causes repeat with every such call: therefore the third-longest block is compared to the limit
 * that the SDK promises, and the longest to a higher one.
 */
const loopBlockLimits = { thirdLongestMs: 50, longestMs: 250 };

const producerNames = ["steady", "killed", "flushed"] as const;
const queueBytes = 4_194_304;
const tapeBytes = 131_072;
const requestsInFlight = 8;
const replayLimitMs = 120_000;
const maxProducers = 100_000;
const mebibyte = 1_048_576;
/** Memory in unreferenced buffers that V8 tolerates before it collects them. */
const garbageBytes = 64 * mebibyte;
const runsPerSecond = 120;
const flushedRunsPerSecond = 60;

/** Options with short timeouts, so that many faults fit into the time. All other options have their defaults. */
const impatientClient: ClientOptions = {
  maxQueueBytes: queueBytes,
  tapeBytes,
  requestsInFlight,
  overflow: "spool",
  compression: "gzip",
  timeoutMs: 1_000,
  retryAfterLimitMs: 1_000,
  attempts: 4,
};

/** Runs the soak: faults according to the plan, then recovery, then evaluation. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seed, minutes, folder, log } = options;
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
    ...impatientClient,
    endpoint: server.url,
    spoolDir: spool(name),
    ...more,
  });
  /** A different seed for each producer, also across soaks with consecutive seeds. */
  const seedOf = (producer: number): number => seed * maxProducers + producer;
  const steady = new ProducerProcess({
    journal: paths.steady,
    seed: seedOf(1),
    runsPerSecond,
    attachFiles: true,
    client: clientOf("steady"),
  });
  let processCount = 1;
  const startKilledProducer = (): ProducerProcess => {
    processCount += 1;
    return new ProducerProcess({
      journal: paths.killed,
      seed: seedOf(processCount),
      runsPerSecond,
      attachFiles: true,
      client: clientOf("killed", { durability: "spool-first", workers: 2 }),
    });
  };
  /** Its records are only in memory until a flush returns, and on disk as well afterwards. */
  const startFlushedProducer = (): ProducerProcess => {
    processCount += 1;
    return new ProducerProcess({
      journal: paths.flushed,
      seed: seedOf(processCount),
      runsPerSecond: flushedRunsPerSecond,
      attachFiles: true,
      requireFlush: true,
      client: clientOf("flushed"),
    });
  };
  let killed = startKilledProducer();
  let flushed = startFlushedProducer();
  let kills = 0;
  let killedWhilePending = 0;
  /** The producers that were killed. They report no counters at their end, but their samples have what they counted. */
  const endedByKill: ProducerProcess[] = [];
  const overloadEnd = new AbortController();
  const overload = overloadQueues({
    seed,
    folder: join(folder, "crowd"),
    signal: overloadEnd.signal,
  });

  const began = performance.now();
  for (const step of plan) {
    await wait(Math.max(0, began + step.atMs - performance.now()));
    switch (step.is) {
      case "fault":
        server.send({ fault: step.fault });
        break;
      case "info":
        server.send({ info: step.info });
        break;
      case "kill worker":
        steady.send({ is: "kill worker" });
        break;
      case "set clock":
        steady.send(step);
        killed.send(step);
        flushed.send(step);
        break;
      case "kill producer":
        kills += 1;
        if (kills % 2 === 1) {
          await flushed.kill();
          endedByKill.push(flushed);
          killedWhilePending += flushed.pendingAtFlush > 0 ? 1 : 0;
          flushed = startFlushedProducer();
        } else {
          await killed.kill();
          endedByKill.push(killed);
          killed = startKilledProducer();
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

  log("The faults have ended; recovering.");
  overloadEnd.abort();
  server.send({ fault: "none", info: "plain" });
  const ends = await Promise.all([steady.finish(), killed.finish(), flushed.finish()]);
  log("The producers have reported their counters.");
  const overloaded = await overload;
  log("Replaying the spools.");
  const oracle = new Oracle();
  const faults = [...overloaded.faults];
  for (const name of producerNames) {
    faults.push(...(await replayUntilEmpty(spool(name), server.url)));
  }
  await server.kill();
  log("Comparing the journals.");
  for (const path of [paths.steady, paths.killed, paths.flushed]) {
    for await (const line of readLines(path)) {
      oracle.recorded(line);
    }
  }
  for await (const line of readLines(paths.received)) {
    oracle.received(line);
  }
  const verdict = oracle.judge({ lost: 0 });
  const samples = [steady, killed, flushed, ...endedByKill].flatMap((producer) => producer.samples);
  const { cpuMs, wallMs } = longestBlocks(ends);
  faults.push(
    ...verdict.faults,
    ...samples.flatMap(({ stats }) => counterFaults(stats)).slice(0, 5),
    ...ends.flatMap((end, index) =>
      endFaults(end, oracle).map((fault) => `${producerNames[index]}: ${fault}`),
    ),
    ...endedByKill.flatMap((producer) =>
      producer.samples.slice(-1).flatMap(({ stats }) => dropFaults(stats)),
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
    overloaded: overloaded,
    retries: ends.reduce((sum, { stats }) => sum + stats.retries, 0),
    requests: ends.reduce((sum, { stats }) => sum + stats.requests, 0),
    longestBlockCpuMs: cpuMs,
    longestBlockWallMs: wallMs,
    peakRssMb: peak(samples.map(({ rssBytes }) => rssBytes)),
    peakBufferMb: peak(samples.map(({ bufferBytes }) => bufferBytes)),
    killedWhilePending,
    workersKilled: ends.reduce((sum, { workersKilled }) => sum + workersKilled, 0),
  };
}

/**
 * Replays a spool, including dead letters, until a replay makes no more progress. Remaining files are faults.
 * Several replays are needed, because an hour of faults leaves more data than one replay can send.
 */
async function replayUntilEmpty(folder: string, endpoint: string): Promise<readonly string[]> {
  let previouslyLeft = Number.POSITIVE_INFINITY;
  for (;;) {
    const { left } = await replaySpool({
      spoolDir: folder,
      endpoint,
      limitMs: replayLimitMs,
      logger: { warn: () => undefined },
    });
    if (left === 0 || left >= previouslyLeft) {
      break;
    }
    previouslyLeft = left;
  }
  const files = await inspectSpool(folder);
  return files.map(
    ({ path, state, records }) => `${path} was not sent: ${state}, ${records} records`,
  );
}

function endFaults(
  { stats, freshId, flushed, loopBlocks }: Finished,
  oracle: Oracle,
): readonly string[] {
  const faults = [...counterFaults(stats), ...dropFaults(stats)];
  if (flushed.pending > 0 || !oracle.has(freshId, "start") || !oracle.has(freshId, "end")) {
    faults.push(`the last run was not delivered: ${JSON.stringify({ flushed, stats })}`);
  }
  const [longest = 0, , thirdLongest = 0] = loopBlocks.longestCpuMs;
  if (longest > loopBlockLimits.longestMs || thirdLongest > loopBlockLimits.thirdLongestMs) {
    const blocks = loopBlocks.longestCpuMs.map((ms) => ms.toFixed(1)).join(", ");
    faults.push(`the longest blocks of the event loop took ${blocks} ms of CPU time`);
  }
  return faults;
}

/** Quarantined records are dead letters, which the replay has sent. A spool keeps all others. */
const dropFaults = ({ dropped, lost }: ClientStats): readonly string[] =>
  dropped > lost.quarantined
    ? [`records were dropped despite the spool: ${JSON.stringify(lost)}`]
    : [];

const longestBlocks = (ends: readonly Finished[]): { cpuMs: number; wallMs: number } => ({
  cpuMs: Math.max(...ends.map(({ loopBlocks }) => loopBlocks.cpuMs)),
  wallMs: Math.max(...ends.map(({ loopBlocks }) => loopBlocks.wallMs)),
});

const peak = (bytes: readonly number[]): number => Math.max(0, ...bytes) / mebibyte;

function countsOf(plan: readonly Step[]): Readonly<Partial<Record<Step["is"], number>>> {
  const counts: Partial<Record<Step["is"], number>> = {};
  for (const { is } of plan) {
    counts[is] = (counts[is] ?? 0) + 1;
  }
  return counts;
}
