import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { OverflowPolicy } from "millrace";
import { replaySpool } from "millrace/spool";
import { readLines } from "./journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./oracle.ts";
import { ProducerProcess, ServerProcess } from "./processes.ts";

export interface OverloadOptions {
  readonly seed: number;
  readonly folder: string;
  /** When it aborts, the current producer finishes and no further one starts. */
  readonly signal: AbortSignal;
}

export interface OverloadReport {
  readonly faults: readonly string[];
  readonly records: number;
  readonly lost: number;
  readonly producers: number;
}

const policies = ["drop-newest", "drop-oldest", "block", "spool"] as const;
const minimumMs = 10_000;
const pollMs = 250;
const queueBytes = 2_097_152;
const tapeBytes = 65_536;
const requestsInFlight = 2;
/** The server accepts two requests of 20 runs in 400 ms. */
const serverRunsPerSecond = 100;
const mebibyte = 1_048_576;
/** Size of the tape for the largest record that `payload` creates, including its spare capacity. */
const largeTapeBytes = 524_288;
/**
 * Tapes of records that are larger than a tape are not reused. They are freed when the garbage collectors of both
 * threads have run, and the worker, which allocates little here, collects rarely.
 */
const uncollectedTapeBytes = 8 * mebibyte;
/** Replay reads a whole segment of the spool and keeps it in memory until its last tape was sent. */
const replayBytes = { "drop-newest": 0, "drop-oldest": 0, block: 0, spool: 4 * mebibyte };

/**
 * Starts producers that are ten times faster than their server, one after the other, each with the next overflow
 * policy. The server accepts every request, so exactly the records that were counted as lost must be missing.
 */
export async function overloadQueues({
  seed,
  folder,
  signal,
}: OverloadOptions): Promise<OverloadReport> {
  const faults: string[] = [];
  let records = 0;
  let lost = 0;
  let producers = 0;
  while (!signal.aborted) {
    const overflow = policies[producers % policies.length] ?? "block";
    producers += 1;
    const producerFolder = join(folder, String(producers));
    mkdirSync(join(producerFolder, "spool"), { recursive: true });
    const result = await runProducer({
      seed: seed * 1_000 + 500 + producers,
      folder: producerFolder,
      overflow,
      signal,
    });
    records += result.records;
    lost += result.lost;
    faults.push(...result.faults.map((fault) => `${overflow}: ${fault}`));
  }
  return { faults, records, lost, producers: producers };
}

/** Waits until the producer has run for `minimumMs` and has reached the queue's limit, which takes longer on a busy machine. */
async function waitForOverload(
  { samples }: ProducerProcess,
  overflow: OverflowPolicy,
  signal: AbortSignal,
): Promise<void> {
  const longestMs = minimumMs * 4;
  for (let elapsedMs = 0; elapsedMs < longestMs; elapsedMs += pollMs) {
    const { dropped = 0, spooled = 0 } = samples.at(-1)?.stats ?? {};
    const isOverloaded = overflow === "block" ? samples.length > 3 : dropped + spooled > 0;
    if (isOverloaded && (elapsedMs >= minimumMs || signal.aborted)) {
      return;
    }
    await wait(pollMs);
  }
}

interface ProducerRun {
  readonly seed: number;
  readonly folder: string;
  readonly overflow: OverflowPolicy;
  readonly signal: AbortSignal;
}

async function runProducer({
  seed,
  folder,
  overflow,
  signal,
}: ProducerRun): Promise<Omit<OverloadReport, "producers">> {
  const received = join(folder, "received");
  const journal = join(folder, "recorded");
  const spoolDir = join(folder, "spool");
  const server = new ServerProcess(received, seed);
  await server.start();
  server.send({ fault: "slow", info: "small batches" });
  const producer = new ProducerProcess({
    journal,
    seed,
    runsPerSecond: serverRunsPerSecond * 10,
    collectGarbage: true,
    client: {
      endpoint: server.url,
      overflow,
      maxQueueBytes: queueBytes,
      tapeBytes,
      requestsInFlight,
      ...(overflow === "spool" ? { spoolDir } : {}),
    },
  });
  await waitForOverload(producer, overflow, signal);
  const finished = producer.finish();
  if (overflow === "spool") {
    server.send({ fault: "none", info: "plain" });
  }
  const { stats } = await finished;
  if (overflow === "spool") {
    await replaySpool({ spoolDir, endpoint: server.url, limitMs: 60_000 });
  }
  await server.kill();
  const oracle = new Oracle();
  for await (const line of readLines(journal)) {
    oracle.recorded(line);
  }
  for await (const line of readLines(received)) {
    oracle.received(line);
  }
  const verdict = oracle.judge({ lost: stats.dropped });
  return {
    records: verdict.intended,
    lost: stats.dropped,
    faults: [
      ...verdict.faults,
      ...[...producer.samples.map((sample) => sample.stats), stats]
        .flatMap(counterFaults)
        .slice(0, 5),
      ...(stats.accepted === verdict.intended
        ? []
        : [`${verdict.intended} records were recorded and ${stats.accepted} accepted`]),
      ...memoryFaults(producer.samples, {
        bufferBytes:
          queueBytes +
          (requestsInFlight + 2) * largeTapeBytes +
          uncollectedTapeBytes +
          replayBytes[overflow],
        growthBytes: 48 * mebibyte,
      }),
    ],
  };
}
