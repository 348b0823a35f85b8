import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { overflowPolicies } from "../../src/model/options/keeping-options.ts";
import type { BatcherOptions } from "../../src/tracing/queue/batcher.ts";
import { createTestBatcher, idsOf } from "../support/batching.ts";
import type { TestBatcher } from "../support/batching.ts";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Records runs of 1,000 bytes, three per tape. The first six take all slots, in a turn after the seventh. */
const record = (bench: TestBatcher, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => {
    const id = bench.record(1_000);
    if (index === 6) {
      vi.advanceTimersByTime(0);
    }
    return id;
  });

/** Delivers everything. Returns the ids in the order in which they were sent. */
async function deliverAll({ send, inFlight, deliver }: TestBatcher): Promise<readonly string[]> {
  await send();
  const ids: string[] = [];
  while (inFlight.length > 0) {
    ids.push(...inFlight.slice(0, 1).flatMap(idsOf));
    await deliver();
  }
  return ids;
}

describe("drop-oldest", () => {
  const bounds: readonly (readonly [string, Partial<BatcherOptions>])[] = [
    ["bytes", { maxQueueBytes: 65_536 }],
    ["count", { maxQueueRecords: 50 }],
  ];

  test.each(bounds)(
    "at the limit in %s whole waiting tapes are dropped, the oldest first; tapes in flight stay",
    async (_, bound) => {
      const bench = createTestBatcher({ overflow: "drop-oldest", ...bound });
      const ids = record(bench, 100);
      const dropped = bench.ledger.lost.queueFull;
      expect(dropped).toBeGreaterThan(30);
      expect(dropped % 3).toBe(0);
      expect(bench.ledger.accepted).toBe(100);
      expect(bench.batcher.pending).toBe(100 - dropped);
      const inFlight = ids.slice(0, 6);
      expect(await deliverAll(bench)).toEqual([...inFlight, ...ids.slice(6 + dropped)]);
    },
  );

  test("a burst that is completely on the open tape is dropped as a whole", async () => {
    const bench = createTestBatcher({
      overflow: "drop-oldest",
      maxQueueRecords: 10,
      tapeBytes: 65_536,
    });
    const ids = Array.from({ length: 12 }, () => bench.record());
    expect(bench.ledger.lost.queueFull).toBe(10);
    expect(await deliverAll(bench)).toEqual(ids.slice(10));
  });

  test("if everything is in flight, the new record is dropped", async () => {
    const bench = createTestBatcher({ overflow: "drop-oldest", maxQueueRecords: 6 });
    const ids = record(bench, 6);
    await bench.send();
    record(bench, 1);
    expect(bench.ledger.lost.queueFull).toBe(1);
    expect(await deliverAll(bench)).toEqual(ids);
  });

  test("only a record that is larger than the queue is dropped", async () => {
    const bench = createTestBatcher({ overflow: "drop-oldest" });
    const ids = record(bench, 20);
    bench.record(100_000);
    expect(bench.ledger.lost.queueFull).toBe(1);
    expect(await deliverAll(bench)).toEqual(ids);
  });

  test("a flush reports records that were dropped while it waited", async () => {
    const bench = createTestBatcher({ overflow: "drop-oldest" });
    record(bench, 9);
    const flushed = bench.batcher.flush(1_000);
    record(bench, 100);
    await deliverAll(bench);
    await expect(flushed).resolves.toMatchObject({ delivered: 6, lost: 3, pending: 0 });
  });

  test("records from a spool are not dropped", async () => {
    const bench = createTestBatcher({ overflow: "drop-oldest" });
    record(bench, 6);
    const source = createTestBatcher();
    const spooled = record(source, 3);
    const [shipment] = source.batcher.takeAll().waiting;
    expect(shipment).toBeDefined();
    if (shipment !== undefined) {
      void bench.batcher.enqueueReplayed(shipment.tape);
    }
    record(bench, 100);
    expect(await deliverAll(bench)).toEqual(expect.arrayContaining([...spooled]));
  });
});

describe("spool", () => {
  test("at the limit the oldest waiting tapes are moved to disk, and nothing is dropped", async () => {
    const bench = createTestBatcher({ overflow: "spool" });
    const ids = record(bench, 100);
    const spilled = bench.spilled.reduce((sum, count) => sum + count, 0);
    expect(spilled).toBeGreaterThan(30);
    expect(bench.ledger).toMatchObject({ spooled: spilled, lost: { queueFull: 0 } });
    expect(await deliverAll(bench)).toEqual([...ids.slice(0, 6), ...ids.slice(6 + spilled)]);
  });

  test("large records that are sent leave capacity for others, so nothing is dropped", async () => {
    const bench = createTestBatcher({
      overflow: "spool",
      maxTapesInFlight: 8,
      maxBytesInFlight: 32_768,
    });
    const ids = Array.from({ length: 20 }, () => {
      const id = bench.record(6_000);
      vi.advanceTimersByTime(1_000);
      return id;
    });
    const inFlightBytes = bench.inFlight.reduce((sum, { capacity }) => sum + capacity, 0);
    expect(inFlightBytes).toBeGreaterThan(16_384);
    expect(inFlightBytes).toBeLessThanOrEqual(32_768);
    const spilled = bench.spilled.reduce((sum, count) => sum + count, 0);
    expect(spilled).toBeGreaterThan(0);
    expect(bench.ledger).toMatchObject({ spooled: spilled, lost: { queueFull: 0 } });
    expect(await deliverAll(bench)).toHaveLength(ids.length - spilled);
  });
});

describe("the bytes in flight", () => {
  test("a tape that is larger than the limit is sent alone, and later tapes wait for it", async () => {
    const bench = createTestBatcher({ maxTapesInFlight: 8, maxBytesInFlight: 16_384 });
    const ids = [bench.record(), bench.record(20_000), bench.record(20_000)];
    await bench.send();
    expect(bench.inFlight.flatMap(idsOf)).toEqual(ids.slice(0, 1));
    await bench.deliver();
    expect(bench.inFlight.flatMap(idsOf)).toEqual(ids.slice(1, 2));
    await bench.deliver();
    expect(bench.inFlight.flatMap(idsOf)).toEqual(ids.slice(2));
  });

  test("while no bytes are left, the open tape continues to fill", async () => {
    const bench = createTestBatcher({ maxTapesInFlight: 8, maxBytesInFlight: 4_096 });
    bench.record();
    vi.advanceTimersByTime(250);
    for (let i = 0; i < 5; i++) {
      bench.record();
      vi.advanceTimersByTime(100);
    }
    expect(bench.inFlight.map(({ records }) => records)).toEqual([1]);
    await bench.deliver();
    expect(bench.inFlight.map(({ records }) => records)).toEqual([5]);
  });
});

describe("block", () => {
  /** Whether the wait has ended, and with which result. */
  function observe(waiting: Promise<boolean>): { answer: boolean | undefined } {
    const collector: { answer: boolean | undefined } = { answer: undefined };
    void (async () => {
      collector.answer = await waiting;
    })();
    return collector;
  }

  test("with capacity it is true at once", async () => {
    const { batcher } = createTestBatcher({ overflow: "block" });
    await expect(batcher.waitForCapacity(0)).resolves.toBe(true);
  });

  test("a recording call does not wait: at the limit the new record is dropped and counted", () => {
    const bench = createTestBatcher({ overflow: "block" });
    record(bench, 100);
    expect(bench.ledger.lost.queueFull).toBeGreaterThan(0);
  });

  test("at the limit it waits until tapes are delivered; then callers are released one per turn", async () => {
    const bench = createTestBatcher({ overflow: "block" });
    record(bench, 100);
    const first = observe(bench.batcher.waitForCapacity(60_000));
    const second = observe(bench.batcher.waitForCapacity(60_000));
    await vi.advanceTimersByTimeAsync(30_000);
    expect([first.answer, second.answer]).toEqual([undefined, undefined]);
    await bench.deliver();
    await bench.deliver();
    vi.advanceTimersToNextTimer();
    await Promise.resolve();
    expect([first.answer, second.answer]).toEqual([true, undefined]);
    await vi.advanceTimersByTimeAsync(1);
    expect(second.answer).toBe(true);
  });

  test("at its time limit it is false", async () => {
    const bench = createTestBatcher({ overflow: "block" });
    record(bench, 100);
    const waiting = bench.batcher.waitForCapacity(500);
    await vi.advanceTimersByTimeAsync(500);
    await expect(waiting).resolves.toBe(false);
  });

  test("when the queue is closed it is false, for waiting and for later callers", async () => {
    const bench = createTestBatcher({ overflow: "block" });
    record(bench, 100);
    const waiting = bench.batcher.waitForCapacity(60_000);
    bench.batcher.takeAll();
    await expect(waiting).resolves.toBe(false);
    await expect(bench.batcher.waitForCapacity(60_000)).resolves.toBe(false);
  });

  test("with another policy it never waits", async () => {
    const bench = createTestBatcher({ overflow: "drop-oldest" });
    record(bench, 100);
    await expect(bench.batcher.waitForCapacity(60_000)).resolves.toBe(true);
  });

  test("a producer that waits for capacity loses nothing with a server that is ten times slower", async () => {
    const bench = createTestBatcher({ overflow: "block" });
    let finished = false;
    const producing = (async () => {
      for (let i = 0; i < 600; i++) {
        await bench.batcher.waitForCapacity(600_000);
        bench.record(1_000);
      }
      finished = true;
    })();
    while (!finished) {
      await bench.deliver();
      await vi.advanceTimersByTimeAsync(10);
    }
    await producing;
    expect(bench.ledger.totalLost).toBe(0);
    expect(bench.ledger.accepted).toBe(600);
  });
});

test.each(overflowPolicies)(
  "%s: whatever is recorded and delivered, the limits hold and each record is counted once",
  async (overflow) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.nat(9)), { maxLength: 150 }),
        async (steps) => {
          const bench = createTestBatcher({ overflow, maxQueueRecords: 60 });
          const { batcher, ledger, inFlight } = bench;
          for (const [bytes, turn] of steps) {
            bench.record(bytes);
            if (turn === 0) {
              vi.advanceTimersByTime(0);
            }
            if (turn === 0 && inFlight.length > 0) {
              await bench.deliver();
            }
            const { accepted, delivered, spooled, totalLost } = ledger;
            expect(accepted).toBe(delivered + spooled + totalLost + batcher.pending);
            expect(batcher.pending).toBeLessThanOrEqual(60);
            // The limit plus the tape that is being filled.
            expect(batcher.queuedBytes).toBeLessThanOrEqual(65_536 + 20_000);
          }
          const pending = batcher.pending;
          expect(await deliverAll(bench)).toHaveLength(pending);
          expect(batcher.pending).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  },
);

test.each(overflowPolicies)(
  "%s: memory stays constant with a producer ten times faster than the server",
  async (overflow) => {
    const bench = createTestBatcher({ overflow });
    const peaks: number[] = [];
    for (let minute = 0; minute < 4; minute++) {
      let peak = 0;
      for (let i = 0; i < 600; i++) {
        for (let burst = 0; burst < 10; burst++) {
          bench.record(1_200);
        }
        await bench.deliver();
        peak = Math.max(peak, bench.batcher.queuedBytes);
      }
      peaks.push(peak);
    }
    expect(new Set(peaks).size).toBe(1);
    expect(peaks[0]).toBeLessThanOrEqual(65_536);
    const { accepted, delivered, spooled, totalLost } = bench.ledger;
    expect(delivered + spooled + totalLost + bench.batcher.pending).toBe(accepted);
  },
);
