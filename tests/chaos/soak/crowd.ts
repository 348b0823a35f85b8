import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { OverflowPolicy } from "millrace";
import { replaySpool } from "millrace/spool";
import { linesOf } from "./journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./oracle.ts";
import { ProducerProcess, ServerProcess } from "./processes.ts";

export interface CrowdOptions {
  readonly seed: number;
  readonly folder: string;
  /** No further life begins when it aborts, and the present one comes to its end. */
  readonly signal: AbortSignal;
}

export interface CrowdReport {
  readonly faults: readonly string[];
  readonly records: number;
  readonly lost: number;
  readonly lives: number;
}

const policies = ["drop-newest", "drop-oldest", "block", "spool"] as const;
const lifeMs = 10_000;
const lookMs = 250;
const queueBytes = 2_097_152;
const tapeBytes = 65_536;
const requestsInFlight = 2;
/** The server takes two requests of 20 runs in 400 ms. */
const serverRunsPerSecond = 100;
const mebibyte = 1_048_576;
/** The largest record that `payload` makes, its room to grow included. */
const largeTapeBytes = 524_288;
/**
 * Tapes of records that are larger than a tape are not used again. They stay until the collectors of both
 * threads have seen them, and the worker's, which has little else to do here, comes by seldom.
 */
const heldByWorkerBytes = 8 * mebibyte;
/** A file of the spool is read whole, and held until the last of it was sent. */
const readBytes = { "drop-newest": 0, "drop-oldest": 0, block: 0, spool: 4 * mebibyte };

/**
 * Producers ten times faster than their server, one life after the other, each with the next overflow
 * policy. The server takes all that comes, so what is missing is exactly what was counted as lost.
 */
export async function crowd({ seed, folder, signal }: CrowdOptions): Promise<CrowdReport> {
  const faults: string[] = [];
  let records = 0;
  let lost = 0;
  let lives = 0;
  while (!signal.aborted) {
    const overflow = policies[lives % policies.length] ?? "block";
    lives += 1;
    const place = join(folder, String(lives));
    mkdirSync(join(place, "spool"), { recursive: true });
    const life = await live({ seed: seed * 1_000 + 500 + lives, place, overflow, signal });
    records += life.records;
    lost += life.lost;
    faults.push(...life.faults.map((fault) => `${overflow}: ${fault}`));
  }
  return { faults, records, lost, lives };
}

/** Until it has lived its time, and felt the bound: on a busy machine that takes a while. */
async function crowded(
  { samples }: ProducerProcess,
  overflow: OverflowPolicy,
  signal: AbortSignal,
): Promise<void> {
  const longestMs = lifeMs * 4;
  for (let livedMs = 0; livedMs < longestMs; livedMs += lookMs) {
    const { dropped = 0, spooled = 0 } = samples.at(-1)?.stats ?? {};
    const isCrowded = overflow === "block" ? samples.length > 3 : dropped + spooled > 0;
    if (isCrowded && (livedMs >= lifeMs || signal.aborted)) {
      return;
    }
    await wait(lookMs);
  }
}

interface Life {
  readonly seed: number;
  readonly place: string;
  readonly overflow: OverflowPolicy;
  readonly signal: AbortSignal;
}

async function live({ seed, place, overflow, signal }: Life): Promise<Omit<CrowdReport, "lives">> {
  const received = join(place, "received");
  const journal = join(place, "recorded");
  const spoolDir = join(place, "spool");
  const server = new ServerProcess(received, seed);
  await server.start();
  server.tell({ fault: "slow", info: "small batches" });
  const producer = new ProducerProcess({
    journal,
    seed,
    runsPerSecond: serverRunsPerSecond * 10,
    collect: true,
    client: {
      endpoint: server.url,
      overflow,
      maxQueueBytes: queueBytes,
      tapeBytes,
      requestsInFlight,
      ...(overflow === "spool" ? { spoolDir } : {}),
    },
  });
  await crowded(producer, overflow, signal);
  const ending = producer.finish();
  if (overflow === "spool") {
    server.tell({ fault: "none", info: "plain" });
  }
  const { stats } = await ending;
  if (overflow === "spool") {
    await replaySpool({ spoolDir, endpoint: server.url, limitMs: 60_000 });
  }
  await server.kill();
  const oracle = new Oracle();
  for await (const line of linesOf(journal)) {
    oracle.recorded(line);
  }
  for await (const line of linesOf(received)) {
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
        : [`${verdict.intended} records were made and ${stats.accepted} accepted`]),
      ...memoryFaults(producer.samples, {
        bufferBytes:
          queueBytes +
          (requestsInFlight + 2) * largeTapeBytes +
          heldByWorkerBytes +
          readBytes[overflow],
        growthBytes: 48 * mebibyte,
      }),
    ],
  };
}
