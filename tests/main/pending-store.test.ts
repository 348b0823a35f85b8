import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { PendingStore } from "../../src/delivery/pending-store.ts";
import { countRecords } from "../../src/tracing/tape/tally.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";
import { batching } from "../support/batching.ts";
import { open } from "../support/spooling.ts";

/** Longer than it takes until a file that was forced onto the disk is closed. */
const closedMs = 100;

test("a tape that was stored before it was full is stored whole after it was cut", async () => {
  const { spool } = open({ syncMs: 10 });
  const { record, batcher, underWay } = batching({ slots: 1, tapeBytes: 4_096 });
  const waiting = (): readonly Tape[] => batcher.waitingTapes;
  const store = PendingStore.create(spool, { inFlight: new Set(), failing: new Set() }, batcher);
  record(1_000);
  await Promise.race([batcher.flush(0), wait(10)]);
  expect(underWay, "the one slot is taken").toHaveLength(1);

  record(1_000);
  await store?.storeAll();
  // The tape is full with the third, and cut with the fourth.
  record(1_000);
  record(1_000);
  record(1_000);
  const [cut] = waiting();
  await wait(closedMs);
  // Takes the number that a closed file has left.
  const other = spool.journal();
  other.append(Buffer.from("another file"));
  await store?.storeAll();

  expect(cut?.journal?.keep(cut.records)).toBe(true);
  const tape = await spool.next();
  expect(tape?.records).toBe(1);
  let stored = 0;
  for (let next = tape; next !== undefined; next = await spool.next()) {
    stored += countRecords(Buffer.from(next.body));
    spool.done();
  }
  expect(stored).toBe(cut?.records);
  expect(other.keep(1)).toBe(true);
  const rest = await spool.next();
  expect(Buffer.from(rest?.body ?? []).toString()).toBe("another file");
});
