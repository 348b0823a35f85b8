import { expect, test, vi } from "vitest";
import type { BatcherOptions } from "../../src/tracing/queue/batcher.ts";
import { OpenRuns } from "../../src/tracing/queue/open-runs.ts";
import type { OpenRunLimits } from "../../src/tracing/queue/open-runs.ts";
import { encodeWire } from "../../src/tracing/tape/record-encoder.ts";
import { createTestBatcher, runsOf } from "../support/batching.ts";

const idOf = (number: number): string =>
  `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

/** A batcher that puts only whole runs on its tapes. */
function create({
  maxBytes = 16_384,
  maxRuns = 100,
  ...options
}: Partial<BatcherOptions & OpenRunLimits> = {}) {
  const openRuns = new OpenRuns({ maxBytes, maxRuns });
  const created = createTestBatcher({ openRuns, ...options });
  const record = (operation: "post" | "patch", number: number, run: object = {}): void =>
    created.batcher.record(encodeWire, { operation, id: idOf(number), run, projectName: "p" });
  return { ...created, openRuns, record };
}

test("the records of a run are on one tape, in the order in which they were recorded, once it has ended", async () => {
  const { record, send, inFlight, batcher, openRuns } = create();
  record("post", 1, { name: "first", inputs: { a: 1 }, tags: ["start"] });
  record("post", 2, { name: "second" });
  record("patch", 1, { tags: ["changed"], outputs: { b: 1 } });
  await send();
  expect(inFlight).toEqual([]);
  expect([batcher.pending, openRuns.records, openRuns.starts]).toEqual([3, 3, 2]);
  record("patch", 1, { outputs: { b: 2 }, end_time: 5 });
  await send();
  const [tape] = inFlight;
  expect([tape?.records, tape?.starts]).toEqual([3, 1]);
  expect(tape === undefined ? [] : runsOf(tape)).toMatchObject([
    {
      id: idOf(1),
      operation: "post",
      inputs: { a: 1 },
      tags: ["changed"],
      outputs: { b: 2 },
      end_time: 5,
    },
  ]);
  expect([batcher.pending, openRuns.records]).toEqual([4, 1]);
});

test("a run whose records exceed the rest of a tape moves to the next tape as a whole", async () => {
  const { record, send, inFlight, ledger } = create();
  for (let number = 1; number <= 6; number++) {
    record("post", number, { inputs: { text: "x".repeat(1_500) } });
    record("patch", number, { outputs: { text: "y".repeat(900) }, end_time: 5 });
  }
  await send();
  await vi.waitFor(() => expect(inFlight.length).toBeGreaterThan(1));
  for (const tape of inFlight) {
    expect(tape.records).toBe(2 * tape.starts);
    expect(runsOf(tape).every((run) => "inputs" in run && "outputs" in run)).toBe(true);
  }
  expect(ledger.accepted).toBe(12);
});

test("an end time of null does not end a run", () => {
  const { record, openRuns } = create();
  record("post", 1, { end_time: null });
  expect(openRuns.records).toBe(1);
  record("post", 2, { end_time: 7 });
  expect(openRuns.records).toBe(1);
});

test("the memory of open runs counts towards maxQueueBytes", () => {
  const { record, batcher, openRuns } = create();
  record("post", 1, { inputs: { text: "x".repeat(5_000) } });
  expect(openRuns.sizeBytes).toBeGreaterThan(5_000);
  expect(batcher.heldBytes).toBeGreaterThanOrEqual(openRuns.sizeBytes);
  record("patch", 1, { end_time: 5 });
  expect(openRuns.sizeBytes).toBe(0);
});

test("beyond a limit the oldest runs are evicted with all their records, and a record beyond it evicts none", () => {
  const { record, ledger, openRuns, batcher } = create({ maxBytes: 6_000 });
  record("post", 1, { inputs: { text: "x".repeat(1_000) } });
  record("patch", 1, { outputs: {} });
  record("post", 2, { inputs: { text: "x".repeat(1_000) } });
  record("post", 3, { inputs: { text: "x".repeat(9_000) } });
  expect(ledger.lost.openLimit).toBe(1);
  expect(openRuns.records).toBe(3);
  record("post", 4, { inputs: { text: "x".repeat(2_500) } });
  expect(ledger.lost.openLimit).toBe(3);
  expect(openRuns.find(idOf(1))).toBeUndefined();
  expect(openRuns.find(idOf(2))).toBeDefined();
  expect(ledger.accepted).toBe(ledger.totalLost + batcher.pending);
});

test("at the end of the queue open runs are lost as unended, and a flush reported them as pending", async () => {
  const { record, ledger, batcher } = create();
  record("post", 1);
  record("post", 2);
  record("patch", 2, { outputs: {} });
  expect(await batcher.flush(0)).toEqual({
    delivered: 0,
    pending: 3,
    lost: 0,
    runs: { delivered: 0, pending: 2, lost: 0 },
  });
  batcher.takeAll();
  expect(ledger.lost.unended).toBe(3);
  expect(batcher.takeResult()).toMatchObject({ lost: 3, runs: { lost: 2 } });
  expect(batcher.pending).toBe(0);
});

test.each(["drop-newest", "drop-oldest", "spool"] as const)(
  "open runs and tapes together stay under maxQueueBytes, while no tape is settled: %s",
  (overflow) => {
    const maxQueueBytes = 65_536;
    // Plus the tape that is being written.
    const limit = maxQueueBytes + 4_096;
    const { record, batcher, ledger } = create({ maxQueueBytes, overflow });
    // First the tapes take all memory, then runs are started that do not end.
    for (let number = 1; number <= 100; number++) {
      record("post", number, { inputs: { text: "x".repeat(700) }, end_time: 5 });
      expect(batcher.heldBytes).toBeLessThanOrEqual(limit);
    }
    for (let number = 101; number <= 200; number++) {
      record("post", number, { inputs: { text: "x".repeat(700) } });
      expect(batcher.heldBytes).toBeLessThanOrEqual(limit);
    }
    const { accepted, totalLost, spooled } = ledger;
    expect(accepted).toBe(200);
    expect(totalLost + spooled + batcher.pending).toBe(200);
    expect(totalLost + spooled).toBeGreaterThan(50);
  },
);
