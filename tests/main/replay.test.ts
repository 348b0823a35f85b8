import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSpool } from "../../src/delivery/open-spool.ts";
import { Replay } from "../../src/delivery/replay.ts";
import { Reporter } from "../../src/delivery/reporter.ts";
import { resolveOptions } from "../../src/model/options/options.ts";
import { Ledger } from "../../src/tracing/queue/ledger.ts";
import type { TapeResult } from "../../src/tracing/queue/shipment.ts";
import { copyPendingRecords, countOutcomes } from "../../src/tracing/tape/tally.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";
import type { Spool } from "../../src/workers/spool/spool.ts";
import { createTestBatcher, idsOf } from "../support/batching.ts";
import { settleTape } from "../support/settle-tape.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-replay-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

interface Replaying {
  readonly spool: Spool;
  readonly replay: Replay;
  readonly ledger: Ledger;
  /** Ids of the runs of each tape that was enqueued. */
  readonly enqueued: (readonly string[])[];
}

type Send = (tape: Tape, ledger: Ledger) => void;

/** Delivers the whole tape. */
const deliverAll: Send = (tape, ledger) => {
  settleTape(
    tape,
    Array.from({ length: tape.records }, () => "delivered"),
  );
  ledger.delivered += tape.records;
};

/** Fails the whole tape, which delivery counts as spooled. */
const failAll: Send = (tape, ledger) => {
  ledger.spooled += countOutcomes(tape).pending;
};

function replaying(
  sends: readonly Send[] = [deliverAll],
  {
    bytesPerSecond = 1_000_000_000,
    hasCapacity = () => true,
  }: { readonly bytesPerSecond?: number; readonly hasCapacity?: () => boolean } = {},
): Replaying {
  const ledger = new Ledger(() => undefined);
  const reporter = new Reporter({ warn: () => undefined }, () => 0);
  const storage = openSpool(resolveOptions({ spoolDir: folder }, {}), ledger, reporter);
  if (storage === undefined) {
    throw new RangeError("no spool");
  }
  const { spool } = storage;
  const enqueued: (readonly string[])[] = [];
  const enqueueReplayed = (tape: Tape): Promise<TapeResult> => {
    // Read the ids before the tape is settled, because a reader skips settled records.
    enqueued.push(idsOf(tape));
    sends[Math.min(enqueued.length, sends.length) - 1]?.(tape, ledger);
    return Promise.resolve({ delivered: 0, lost: 0 });
  };
  const replay = new Replay({
    ...storage,
    ledger,
    reporter,
    bytesPerSecond,
    enqueueReplayed,
    hasCapacity,
  });
  return { spool, replay, ledger, enqueued };
}

/** A tape of `count` runs, and their ids. */
function tapeOf(count: number): { readonly body: Buffer; readonly ids: readonly string[] } {
  const { record, batcher } = createTestBatcher();
  const ids = Array.from({ length: count }, () => record());
  const [shipment] = batcher.takeAll().waiting;
  if (shipment === undefined) {
    throw new RangeError("no tape");
  }
  return { body: copyPendingRecords(shipment.tape), ids };
}

/** Spools a tape as delivery does. */
function spoolTape({ spool, ledger }: Replaying, count: number): readonly string[] {
  const { body, ids } = tapeOf(count);
  ledger.accepted += count;
  spool.append(body, count);
  ledger.spooled += count;
  return ids;
}

/** Lets file operations finish, and advances time by a millisecond at a time, until the check passes. */
async function waitUntil(check: () => void): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    try {
      check();
      return;
    } catch {
      await vi.advanceTimersByTimeAsync(1);
      await setImmediate();
    }
  }
  check();
}

const balance = ({ accepted, delivered, spooled, totalLost }: Ledger): number =>
  accepted - delivered - spooled - totalLost;

test("sends the tapes of an earlier client in order, counts them here, and removes them", async () => {
  const earlier = replaying();
  const ids = [spoolTape(earlier, 2), spoolTape(earlier, 3)];
  earlier.spool.close();
  const { replay, enqueued, ledger, spool } = replaying();
  replay.start();
  await waitUntil(() => expect(ledger.delivered).toBe(5));
  expect(enqueued).toEqual(ids);
  expect(ledger).toMatchObject({ accepted: 5, spooled: 0 });
  await waitUntil(() => expect(spool.bytes).toBe(0));
  replay.end();
  spool.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("sends the tapes that this client spooled when it is notified, and counts them once", async () => {
  const bench = replaying();
  bench.replay.start();
  await waitUntil(() => expect(readdirSync(folder)).toEqual([]));
  const ids = spoolTape(bench, 4);
  expect(bench.ledger.spooled).toBe(4);
  await waitUntil(() => {
    bench.replay.checkSpool();
    expect(bench.enqueued).toEqual([ids]);
  });
  expect(bench.ledger).toMatchObject({ accepted: 4, delivered: 4, spooled: 0 });
  bench.replay.end();
});

test("does not exceed its rate limit", async () => {
  const bench = replaying([deliverAll], { bytesPerSecond: 100 });
  spoolTape(bench, 1);
  spoolTape(bench, 1);
  const eachMs = (tapeOf(1).body.length / 100) * 1_000;
  bench.replay.start();
  await waitUntil(() => expect(bench.enqueued).toHaveLength(1));
  await setImmediate();
  await vi.advanceTimersByTimeAsync(eachMs - 100);
  expect(bench.enqueued).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(200);
  await waitUntil(() => expect(bench.enqueued).toHaveLength(2));
  bench.replay.end();
});

test("waits while the queue is busy, because new records have priority", async () => {
  let calm = false;
  const bench = replaying([deliverAll], { hasCapacity: () => calm });
  spoolTape(bench, 1);
  bench.replay.start();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(bench.enqueued).toEqual([]);
  calm = true;
  await vi.advanceTimersByTimeAsync(200);
  await waitUntil(() => expect(bench.enqueued).toHaveLength(1));
  bench.replay.end();
});

test("sends only the failed records again later, and counts each record once", async () => {
  const deliverHalf: Send = (tape, ledger) => {
    settleTape(tape, ["delivered", "pending"]);
    ledger.delivered += 1;
    ledger.spooled += 1;
  };
  const bench = replaying([deliverHalf, failAll, deliverAll]);
  const ids = spoolTape(bench, 2);
  bench.replay.start();
  await waitUntil(() => expect(bench.enqueued).toHaveLength(1));
  expect(balance(bench.ledger)).toBe(0);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(bench.enqueued).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bench.enqueued).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(58_000);
  expect(bench.enqueued).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(bench.enqueued).toEqual([ids, ids.slice(1), ids.slice(1)]);
  expect(bench.ledger).toMatchObject({ accepted: 2, delivered: 2, spooled: 0 });
  bench.replay.end();
});

test("a tape on which the server fails in five rounds is a dead letter, counted, and the next is sent", async () => {
  const bench = replaying([failAll, failAll, failAll, failAll, failAll, deliverAll]);
  const ids = [spoolTape(bench, 2), spoolTape(bench, 1)];
  bench.replay.start();
  await waitUntil(() => expect(bench.enqueued).toHaveLength(1));
  for (const minutes of [0.5, 1, 2, 4]) {
    await vi.advanceTimersByTimeAsync(minutes * 60_000 + 10);
  }
  await waitUntil(() => expect(bench.enqueued).toHaveLength(6));
  expect(bench.enqueued.at(-1)).toEqual(ids[1]);
  expect(bench.ledger).toMatchObject({ accepted: 3, delivered: 1, lost: { expired: 2 } });
  expect(readdirSync(join(folder, "dead"))).toHaveLength(1);
  bench.replay.end();
});

test("at the end, undelivered tapes stay on disk for the next client", async () => {
  const bench = replaying([failAll]);
  const ids = spoolTape(bench, 3);
  bench.replay.start();
  await waitUntil(() => expect(bench.enqueued).toHaveLength(1));
  bench.replay.end();
  bench.spool.close();
  expect(bench.ledger).toMatchObject({ accepted: 3, spooled: 3 });
  const next = replaying();
  next.replay.start();
  await waitUntil(() => expect(next.enqueued).toEqual([ids]));
  next.replay.end();
});

test("a malformed tape is counted and does not affect others", async () => {
  const bench = replaying();
  bench.spool.append(Buffer.from("whole by its checksum, and no records"), 2);
  bench.ledger.accepted += 2;
  bench.ledger.spooled += 2;
  const ids = spoolTape(bench, 1);
  bench.replay.start();
  await waitUntil(() => expect(bench.enqueued).toEqual([ids]));
  expect(bench.ledger.lost.spoolLost).toBe(2);
  expect(balance(bench.ledger)).toBe(0);
  expect(bench.ledger.warnings.get("spoolDamaged")).toBe(1);
  bench.replay.end();
});

test("tapes lost through the quota or damage are counted with the reason", async () => {
  const ledger = new Ledger(() => undefined);
  const reporter = new Reporter({ warn: () => undefined }, () => 0);
  const options = resolveOptions({ spoolDir: folder, spoolQuotaBytes: 65_536 }, {});
  const spool = openSpool(options, ledger, reporter)?.spool;
  ledger.accepted += 3;
  ledger.spooled += 3;
  spool?.append(Buffer.alloc(60_000, 1), 1);
  spool?.append(Buffer.alloc(50_000, 1), 2);
  expect(ledger).toMatchObject({ accepted: 3, spooled: 2, lost: { spoolFull: 1 } });
  const [writerDirectory = ""] = readdirSync(folder);
  const [name = ""] = readdirSync(join(folder, writerDirectory));
  const path = join(folder, writerDirectory, name);
  writeFileSync(path, readFileSync(path).fill(0, 1_000, 1_010));
  await expect(spool?.readNextTape()).resolves.toBeUndefined();
  expect(ledger).toMatchObject({ accepted: 3, spooled: 0, lost: { spoolFull: 1, spoolLost: 2 } });
});
