import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestBatcher, idsOf, runsOf } from "../support/batching.ts";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("when a tape is closed", () => {
  test("the first record after a quiet period waits firstDelayMs, and later records do not extend the wait", () => {
    const { record, inFlight } = createTestBatcher({ firstDelayMs: 250 });
    vi.advanceTimersByTime(1_000);
    record();
    for (let i = 0; i < 24; i++) {
      vi.advanceTimersByTime(10);
      record();
    }
    expect(inFlight).toHaveLength(0);
    vi.advanceTimersByTime(10);
    expect(inFlight.map(({ records }) => records)).toEqual([25]);
  });

  test("in traffic a record waits aggregationDelayMs", () => {
    const { record, inFlight } = createTestBatcher({ firstDelayMs: 250, aggregationDelayMs: 50 });
    record();
    vi.advanceTimersByTime(250);
    record();
    vi.advanceTimersByTime(49);
    expect(inFlight).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(inFlight).toHaveLength(2);
  });

  test("in continuous traffic the wait doubles with each tape up to maxDelayMs, and starts again after a quiet period", async () => {
    const { record, inFlight, deliver } = createTestBatcher({
      firstDelayMs: 250,
      aggregationDelayMs: 50,
      maxDelayMs: 300,
      batchLimit: 1_000,
    });
    const waits: number[] = [];
    const measureWait = async (): Promise<void> => {
      record();
      vi.advanceTimersByTime(0);
      const start = performance.now();
      while (inFlight.length === 0) {
        vi.advanceTimersByTime(1);
      }
      waits.push(performance.now() - start);
      await deliver();
    };
    for (let i = 0; i < 7; i++) {
      await measureWait();
    }
    vi.advanceTimersByTime(251);
    await measureWait();
    await measureWait();
    expect(waits).toEqual([250, 50, 100, 200, 300, 300, 300, 250, 50]);
  });

  test("an aggregationDelayMs above maxDelayMs stays the wait", async () => {
    const { record, inFlight, deliver } = createTestBatcher({
      aggregationDelayMs: 80,
      maxDelayMs: 10,
    });
    record();
    vi.advanceTimersByTime(250);
    for (const _tape of ["second", "third"]) {
      await deliver();
      record();
      vi.advanceTimersByTime(79);
      expect(inFlight).toHaveLength(0);
      vi.advanceTimersByTime(1);
      expect(inFlight).toHaveLength(1);
    }
  });

  test("batchLimit records are sent at the next turn of the event loop, a burst of one tick together", () => {
    const { record, inFlight } = createTestBatcher({ batchLimit: 10, tapeBytes: 65_536 });
    for (let i = 0; i < 30; i++) {
      record();
    }
    expect(inFlight).toHaveLength(0);
    vi.advanceTimersByTime(0);
    expect(inFlight.map(({ records }) => records)).toEqual([30]);
  });

  test("in traffic, batchLimit records wait for further ones until the delay is over", async () => {
    const { record, inFlight, deliver } = createTestBatcher({
      batchLimit: 10,
      tapeBytes: 65_536,
      aggregationDelayMs: 50,
    });
    for (let i = 0; i < 10; i++) {
      record();
    }
    vi.advanceTimersByTime(0);
    expect(inFlight).toHaveLength(1);
    await deliver();
    for (let i = 0; i < 20; i++) {
      record();
    }
    vi.advanceTimersByTime(49);
    expect(inFlight).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(inFlight.map(({ records }) => records)).toEqual([20]);
    await deliver();
    vi.advanceTimersByTime(1_000);
    for (let i = 0; i < 10; i++) {
      record();
    }
    vi.advanceTimersByTime(0);
    expect(inFlight.map(({ records }) => records)).toEqual([10]);
  });

  test("in traffic, batchLimit records are sent early if the queue is half full", async () => {
    const { record, inFlight, deliver } = createTestBatcher({
      batchLimit: 10,
      tapeBytes: 65_536,
      maxQueueRecords: 40,
    });
    record();
    vi.advanceTimersByTime(250);
    await deliver();
    for (let i = 0; i < 19; i++) {
      record();
    }
    vi.advanceTimersByTime(0);
    expect(inFlight).toHaveLength(0);
    record();
    vi.advanceTimersByTime(0);
    expect(inFlight.map(({ records }) => records)).toEqual([20]);
  });

  test("a full tape is sent in the next turn of the event loop, and the rest waits", () => {
    const { record, inFlight } = createTestBatcher({ tapeBytes: 4_096 });
    for (let i = 0; i < 5; i++) {
      record(1_000);
    }
    expect(inFlight).toHaveLength(0);
    vi.advanceTimersByTime(0);
    expect(inFlight.map(({ records }) => records)).toEqual([3]);
    vi.advanceTimersByTime(250);
    expect(inFlight.map(({ records }) => records)).toEqual([3, 2]);
  });

  test("a record made with fake timers does not keep later ones from being sent", () => {
    const { record, inFlight } = createTestBatcher({ tapeBytes: 4_096 });
    record(1_000);
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    for (let i = 0; i < 3; i++) {
      record(1_000);
    }
    vi.advanceTimersByTime(0);
    expect(inFlight.map(({ records }) => records)).toEqual([3]);
  });

  test("a record after a full batch is sent when its delay is over", async () => {
    const { record, batcher, inFlight, deliver } = createTestBatcher({ batchLimit: 10 });
    for (let i = 0; i < 12; i++) {
      record();
    }
    void batcher.flush(1_000);
    await vi.advanceTimersByTimeAsync(0);
    await deliver();
    record();
    vi.advanceTimersByTime(250);
    expect(inFlight.map(({ records }) => records)).toEqual([1]);
  });

  test("while every slot is taken, an old tape continues to fill, and is sent when a slot is free", async () => {
    const { record, inFlight, deliver } = createTestBatcher({ maxTapesInFlight: 1 });
    record();
    vi.advanceTimersByTime(250);
    for (let i = 0; i < 5; i++) {
      record();
      vi.advanceTimersByTime(100);
    }
    expect(inFlight).toHaveLength(1);
    await deliver();
    expect(inFlight.map(({ records }) => records)).toEqual([5]);
  });
});

describe("the bounds", () => {
  test("waiting records never use more than maxQueueBytes; the newest are dropped and counted", () => {
    const { record, batcher, ledger, inFlight } = createTestBatcher({
      maxQueueBytes: 65_536,
      maxTapesInFlight: 2,
    });
    for (let i = 0; i < 1_000; i++) {
      record(500);
    }
    const recordsInFlight = inFlight.reduce((sum, { records }) => sum + records, 0);
    const { queueFull } = ledger.lost;
    expect(queueFull).toBeGreaterThan(0);
    expect(batcher.pending + queueFull).toBe(1_000);
    expect((batcher.pending - recordsInFlight) * 500).toBeLessThanOrEqual(65_536);
    expect((batcher.pending - recordsInFlight) * 700).toBeGreaterThan(65_536 - 2 * 4_096);
  });

  test("maxQueueRecords counts waiting records and records in flight", async () => {
    const { record, batcher, ledger, deliver, inFlight } = createTestBatcher({
      maxQueueRecords: 10,
    });
    for (let i = 0; i < 12; i++) {
      record();
    }
    expect(ledger.lost.queueFull).toBe(2);
    vi.advanceTimersByTime(250);
    expect(inFlight).toHaveLength(1);
    await deliver();
    record();
    expect(batcher.pending).toBe(1);
    expect(ledger.lost.queueFull).toBe(2);
  });

  test("a record larger than a tape gets its own tape and arrives completely", async () => {
    const { record, send, inFlight } = createTestBatcher({ tapeBytes: 4_096 });
    record(10);
    const large = record(20_000);
    await send();
    const run = inFlight.flatMap((tape) => runsOf(tape)).find(({ id }) => id === large);
    expect(run?.["inputs"]).toEqual({ text: "x".repeat(20_000) });
  });

  test("only a record that is larger than the queue is dropped", async () => {
    const { record, send, ledger, inFlight } = createTestBatcher();
    const before = record();
    record(100_000);
    const after = record();
    await send();
    expect(ledger.lost.queueFull).toBe(1);
    expect(inFlight.flatMap(idsOf)).toEqual([before, after]);
  });
});

describe("records that misbehave", () => {
  test("a record that can't be encoded does not affect others", async () => {
    const { record, batcher, send, ledger, inFlight } = createTestBatcher();
    const before = record();
    const fail = (): never => {
      throw new Error("a bug of ours");
    };
    batcher.record(fail, undefined);
    const after = record();
    await send();
    expect(ledger.lost.unencodable).toBe(1);
    expect(inFlight.flatMap(idsOf)).toEqual([before, after]);
  });

  test("a record created by a getter of another record's inputs arrives, and so does the other", async () => {
    const { record, send, inFlight } = createTestBatcher();
    let inner = "";
    const outer = record(0, {
      get trap() {
        inner = record();
        return 1;
      },
      after: 2,
    });
    await send();
    const runs = inFlight.flatMap((tape) => runsOf(tape));
    expect(new Set(runs.map((run) => run["id"]))).toEqual(new Set([outer, inner]));
    expect(runs.find(({ id }) => id === outer)?.["inputs"]).toEqual({ trap: 1, after: 2 });
  });

  test("after refuse every record is counted as closed", () => {
    const { record, batcher, ledger } = createTestBatcher();
    batcher.refuseRecords();
    record();
    expect(ledger.lost.closed).toBe(1);
    expect(batcher.pending).toBe(0);
  });
});

describe("flush", () => {
  test("sends recorded data, and returns the outcome", async () => {
    const { record, batcher, deliver } = createTestBatcher();
    record();
    record();
    const flushed = batcher.flush(1_000);
    await vi.advanceTimersByTimeAsync(0);
    await deliver();
    await expect(flushed).resolves.toMatchObject({ delivered: 2, lost: 0, pending: 0 });
  });

  test("returns when the time is over, and reports what is pending", async () => {
    const { record, batcher } = createTestBatcher();
    record();
    const flushed = batcher.flush(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(flushed).resolves.toMatchObject({ delivered: 0, lost: 0, pending: 1 });
  });

  test("does not wait for records created after the call", async () => {
    const { record, batcher, deliver } = createTestBatcher();
    record();
    const flushed = batcher.flush(1_000);
    record();
    await vi.advanceTimersByTimeAsync(0);
    await deliver();
    await expect(flushed).resolves.toMatchObject({ delivered: 1, lost: 0, pending: 0 });
    expect(batcher.pending).toBe(1);
  });
});

test("whatever is recorded, in whatever sizes: every record is delivered or counted, once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.boolean()), { maxLength: 120 }),
      async (steps) => {
        const { record, batcher, send, ledger, inFlight, deliver } = createTestBatcher({
          maxQueueBytes: 65_536,
        });
        const recorded: string[] = [];
        const arrived: string[] = [];
        const takeCapacity = async (): Promise<void> => {
          const [tape] = inFlight;
          arrived.push(...(tape === undefined ? [] : idsOf(tape)));
          await deliver();
        };
        for (const [bytes, delivers] of steps) {
          const lostBefore = ledger.lost.queueFull;
          const id = record(bytes);
          if (ledger.lost.queueFull === lostBefore) {
            recorded.push(id);
          }
          if (delivers) {
            vi.advanceTimersByTime(0);
            await takeCapacity();
          }
          expect(ledger.accepted).toBe(ledger.delivered + ledger.totalLost + batcher.pending);
        }
        await send();
        while (inFlight.length > 0) {
          await takeCapacity();
        }
        expect(arrived).toEqual(recorded);
        expect(batcher.pending).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});
