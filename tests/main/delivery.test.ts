import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CrashIsolation } from "../../src/delivery/crash-isolation.ts";
import { Delivery } from "../../src/delivery/delivery.ts";
import { Reporter } from "../../src/delivery/reporter.ts";
import type { ShipReport, ShipTask } from "../../src/model/records/shipping.ts";
import { parseServerInfo } from "../../src/model/resources/server-info.ts";
import { Ledger } from "../../src/tracing/queue/ledger.ts";
import { copyPendingRecords } from "../../src/tracing/tape/tally.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";
import type { DeadLetters, DeadLetterReason } from "../../src/workers/spool/dead-letters.ts";
import type { Spool } from "../../src/workers/spool/spool.ts";
import { createTestBatcher } from "../support/batching.ts";
import { settleTape } from "../support/settle-tape.ts";
import { openSpool, takeAll, useSpoolFolders } from "../support/spooling.ts";

useSpoolFolders();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const emptyReport: ShipReport = {
  delivered: 0,
  refused: [],
  undelivered: 0,
  isServerUnavailable: true,
  requests: 1,
  retries: 0,
  bytes: 10,
};

/** A tape of `count` records. */
function tapeOf(count: number): Tape {
  const { record, batcher } = createTestBatcher();
  for (let i = 0; i < count; i++) {
    record();
  }
  const [shipment] = batcher.takeAll().waiting;
  if (shipment === undefined) {
    throw new RangeError("no tape");
  }
  return shipment.tape;
}

type Step = (task: ShipTask) => ShipReport;

function delivering(
  steps: readonly Step[],
  spool?: Pick<Spool, "append">,
  deadLetters?: Pick<DeadLetters, "write">,
) {
  const ledger = new Ledger(() => undefined);
  const lines: string[] = [];
  let calls = 0;
  const delivery = new Delivery({
    shipper: {
      ship: (task) => {
        const step = steps[Math.min(calls, steps.length - 1)];
        calls += 1;
        return new Promise((resolve) => {
          resolve(step?.(task) ?? emptyReport);
        });
      },
      close: () => Promise.resolve(),
    },
    ledger,
    reporter: new Reporter({ warn: (message) => lines.push(message) }, () => 0),
    spool: spool as Spool | undefined,
    deadLetters: deadLetters as DeadLetters | undefined,
  });
  return { delivery, ledger, lines, calls: () => calls };
}

const died: Step = () => {
  throw new Error("worker exited");
};

test("counts what was delivered and what was refused", async () => {
  const refused = [{ runId: "r", records: 1, code: "HTTP" as const, status: 422, message: "bad" }];
  const { delivery, ledger, lines } = delivering([
    () => ({ ...emptyReport, delivered: 2, refused }),
  ]);
  await expect(delivery.ship(tapeOf(3))).resolves.toEqual({ delivered: 2, lost: 1 });
  expect(ledger).toMatchObject({ delivered: 2, lost: { rejected: 1 } });
  expect(lines).toEqual(["[millrace] bad"]);
});

test("keeps a tape while the server is unreachable, round after round, and sends it when it is back", async () => {
  const unreachable: Step = () => ({ ...emptyReport, undelivered: 3, reason: "ECONNREFUSED" });
  const { delivery, ledger, calls } = delivering([
    unreachable,
    unreachable,
    unreachable,
    (task) => {
      settleTape(task, ["delivered", "delivered", "delivered"]);
      return { ...emptyReport, delivered: 3 };
    },
  ]);
  const shipped = delivery.ship(tapeOf(3));
  await vi.advanceTimersByTimeAsync(1_000 + 2_000 + 4_000);
  await expect(shipped).resolves.toEqual({ delivered: 3, lost: 0 });
  expect(calls()).toBe(4);
  expect(ledger.totalLost).toBe(0);
});

test("drops only the records on which the server fails", async () => {
  const { delivery, ledger } = delivering([
    (task) => {
      settleTape(task, ["delivered", "pending", "rejected"]);
      return {
        ...emptyReport,
        delivered: 1,
        undelivered: 1,
        isServerUnavailable: false,
        reason: "500",
      };
    },
  ]);
  await expect(delivery.ship(tapeOf(3))).resolves.toEqual({ delivered: 1, lost: 2 });
  expect(ledger).toMatchObject({ delivered: 1, lost: { expired: 1, rejected: 1 } });
});

test("sends a tape again whose worker crashed, and counts delivered records once", async () => {
  const { delivery, ledger, calls } = delivering([
    (task) => {
      settleTape(task, ["delivered", "pending"]);
      return died(task);
    },
    (task) => {
      settleTape(task, ["delivered", "delivered"]);
      return { ...emptyReport, delivered: 1 };
    },
  ]);
  const shipped = delivery.ship(tapeOf(2));
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(shipped).resolves.toEqual({ delivered: 2, lost: 0 });
  expect(calls()).toBe(2);
  expect(ledger.delivered).toBe(2);
});

test("records that an earlier worker settled unnoticed are counted, and refused ones become a dead letter", async () => {
  const letters: number[] = [];
  const { delivery, ledger } = delivering(
    [
      // As after a crash that the pool took for a failed start: another worker has sent the first three records.
      (task) => {
        settleTape(task, ["delivered", "rejected", "rejected", "delivered"]);
        return { ...emptyReport, delivered: 1 };
      },
    ],
    undefined,
    { write: (_body, records) => void letters.push(records) },
  );
  await expect(delivery.ship(tapeOf(4))).resolves.toEqual({ delivered: 2, lost: 2 });
  expect(ledger).toMatchObject({ delivered: 2, lost: { rejected: 2 } });
  expect(letters).toEqual([2]);
});

test("a tape on which workers crash, whole and in halves, is counted as workerLost", async () => {
  const { delivery, ledger, calls } = delivering([died]);
  const shipped = delivery.ship(tapeOf(2));
  await vi.advanceTimersByTimeAsync(60_000);
  await expect(shipped).resolves.toEqual({ delivered: 0, lost: 2 });
  expect(calls()).toBe(2 + 2 + 2);
  expect(ledger.lost.workerLost).toBe(2);
});

test("the report of a tape that was sent in halves counts both, and has what either has", async () => {
  const tape = tapeOf(4);
  const server = parseServerInfo({ version: "1.0.0" });
  const halves: readonly Partial<ShipReport>[] = [
    { truncated: 2, omittedAttachments: 1, quarantined: 1, server },
    { truncated: 3, omittedAttachments: 3, redacted: { maskedMatches: 1, failedRecords: 0 } },
  ];
  let calls = 0;
  const isolation = new CrashIsolation(tape, {
    shipper: {
      ship: async () => {
        calls += 1;
        if (calls <= 2) {
          throw new Error("worker exited");
        }
        return { ...emptyReport, delivered: 1, ...halves[calls - 3] };
      },
      close: () => Promise.resolve(),
    },
    tapeId: 1,
    inFlight: new Set([tape]),
    pause: () => Promise.resolve(),
    hasEnded: () => false,
  });
  expect(await isolation.send()).toEqual({
    ...emptyReport,
    delivered: 2,
    requests: 2,
    bytes: 20,
    truncated: 5,
    omittedAttachments: 4,
    quarantined: 1,
    redacted: { maskedMatches: 1, failedRecords: 0 },
    server,
  });
});

test("with a spool, only pending records of an undeliverable tape are spooled", () => {
  const written: number[] = [];
  const { delivery, ledger } = delivering([], { append: (body) => written.push(body.length) });
  const tape = tapeOf(2);
  settleTape(tape, ["delivered", "pending"]);
  expect(delivery.settleNow(tape, "closed")).toEqual({ delivered: 1, lost: 1 });
  expect(written).toEqual([tape.usedBytes / 2]);
  expect(ledger).toMatchObject({ spooled: 1, delivered: 1 });
  expect(ledger.totalLost).toBe(0);
});

test("a file with as many records as are pending, but with others, is replaced", async () => {
  const { spool } = openSpool();
  const { delivery, ledger } = delivering([], spool);
  const tape = tapeOf(3);
  // The first two records were stored before the third was recorded. Then the first was delivered.
  const storedBytes = (2 * tape.usedBytes) / 3;
  tape.journal = spool.createJournal();
  tape.journal.appendAll({ body: tape.bytes.subarray(0, storedBytes), count: 2, isCopy: true });
  tape.journaledBytes = storedBytes;
  settleTape(tape, ["delivered", "pending", "pending"]);
  const pending = copyPendingRecords(tape);
  expect(delivery.settleNow(tape, "closed")).toEqual({ delivered: 1, lost: 2 });
  expect(ledger).toMatchObject({ spooled: 2, delivered: 1 });
  await expect(takeAll(spool)).resolves.toEqual([pending.toString("latin1")]);
});

test("an undeliverable tape from a spool stays there, and is counted as spooled", () => {
  const written: number[] = [];
  const { delivery, ledger } = delivering([], { append: (body) => written.push(body.length) });
  const tape = tapeOf(2);
  tape.isReplayed = true;
  expect(delivery.settleNow(tape, "expired")).toEqual({ delivered: 0, lost: 2 });
  expect(written).toEqual([]);
  expect(ledger).toMatchObject({ spooled: 2, lost: { expired: 0 } });
});

test("an unwritable spool causes a warning, and the records are counted as lost", async () => {
  const { delivery, ledger, lines } = delivering([], {
    append: () => {
      throw new Error("ENOSPC: no space left on device");
    },
  });
  delivery.settleNow(tapeOf(2), "closed");
  expect(ledger).toMatchObject({ spooled: 0, lost: { closed: 2 } });
  await setImmediate();
  expect(lines).toEqual(["[millrace] The spool can't be written: ENOSPC: no space left on device"]);
});

test("after the end, a tape in flight is not counted again", async () => {
  const { delivery, ledger } = delivering([() => ({ ...emptyReport, delivered: 1 })]);
  const shipped = delivery.ship(tapeOf(1));
  delivery.end();
  await expect(shipped).resolves.toEqual({ delivered: 0, lost: 0 });
  expect(ledger.delivered).toBe(0);
});

test("refused records become a dead letter with the reasons of all rounds, at a forced end without reasons", async () => {
  const letters: (readonly [number, number, DeadLetterReason])[] = [];
  const write = (body: Uint8Array, records: number, note: DeadLetterReason): void => {
    letters.push([body.length, records, note]);
  };
  const refused = [{ runId: "r", records: 1, code: "HTTP" as const, status: 422, message: "bad" }];
  const { delivery, ledger } = delivering(
    [
      (task) => {
        settleTape(task, ["rejected", "pending"]);
        return { ...emptyReport, refused, undelivered: 1 };
      },
      (task) => {
        settleTape(task, ["rejected", "delivered"]);
        return { ...emptyReport, delivered: 1 };
      },
    ],
    undefined,
    { write },
  );
  const tape = tapeOf(2);
  const shipped = delivery.ship(tape);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(shipped).resolves.toEqual({ delivered: 1, lost: 1 });
  const ended = tapeOf(2);
  settleTape(ended, ["rejected", "pending"]);
  delivery.settleNow(ended, "closed");
  expect(letters).toEqual([
    [tape.usedBytes / 2, 1, expect.objectContaining({ refused })],
    [
      ended.usedBytes / 2,
      1,
      expect.objectContaining({ refused: [], reason: "the server refused them" }),
    ],
  ]);
  expect(ledger.lost).toMatchObject({ rejected: 2, closed: 1 });
});

test.each([
  { tookMs: 0, fromMs: 0.001, toMs: 1_000 },
  { tookMs: 120_000, fromMs: 118_800, toMs: 122_400 },
  { tookMs: 7_200_000, fromMs: 3_564_000, toMs: 3_636_000 },
])("a tape that took $tookMs ms is included in the quantiles", async ({ tookMs, fromMs, toMs }) => {
  const { delivery } = delivering([() => ({ ...emptyReport, delivered: 1 })]);
  const tape = tapeOf(1);
  tape.cutAt = performance.now() - tookMs;
  await delivery.ship(tape);
  const { count, p50, p90, p99, max } = delivery.latency;
  expect(count).toBe(1);
  for (const quantile of [p50, p90, p99, max]) {
    expect(quantile).toBeGreaterThanOrEqual(fromMs);
    expect(quantile).toBeLessThanOrEqual(toMs);
  }
});
