import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { PendingStore } from "../../src/delivery/pending-store.ts";
import { countRecords } from "../../src/tracing/tape/tally.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";
import { createTestBatcher } from "../support/batching.ts";
import { openSpool, useSpoolFolders } from "../support/spooling.ts";

useSpoolFolders();

/** Longer than the time until a file that was synced to disk is closed. */
const closedMs = 100;

test("a tape that was stored before it was full is stored completely after it is closed", async () => {
  const { spool } = openSpool({ syncMs: 10 });
  const { record, batcher, inFlight } = createTestBatcher({
    maxTapesInFlight: 1,
    tapeBytes: 4_096,
  });
  const waiting = (): readonly Tape[] => batcher.waitingTapes;
  const store = PendingStore.create(
    spool,
    { tapesInFlight: new Set(), failingTapes: new Set() },
    batcher,
  );
  record(1_000);
  await Promise.race([batcher.flush(0), wait(10)]);
  expect(inFlight, "the one slot is taken").toHaveLength(1);

  record(1_000);
  await store?.writeAll();
  // The third run fills the tape, and the fourth starts a new one.
  record(1_000);
  record(1_000);
  record(1_000);
  const [cut] = waiting();
  await wait(closedMs);
  // Takes the file number that the closed file released.
  const other = spool.createJournal();
  other.append(Buffer.from("another file"));
  await store?.writeAll();

  expect(cut?.journal?.keepSpooled(cut.records)).toBe(true);
  const tape = await spool.readNextTape();
  expect(tape?.recordCount).toBe(1);
  let stored = 0;
  for (let next = tape; next !== undefined; next = await spool.readNextTape()) {
    stored += countRecords(Buffer.from(next.body));
    spool.completeTape();
  }
  expect(stored).toBe(cut?.records);
  expect(other.keepSpooled(1)).toBe(true);
  const remaining = await spool.readNextTape();
  expect(Buffer.from(remaining?.body ?? []).toString()).toBe("another file");
});
