import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Reporter } from "../../src/delivery/reporter.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const turn = (): void => {
  vi.advanceTimersByTime(0);
};

function reporting(): { lines: string[]; reporter: Reporter; pass: (ms: number) => void } {
  const lines: string[] = [];
  let now = 0;
  const reporter = new Reporter({ warn: (message) => lines.push(message) }, () => now);
  return {
    lines,
    reporter,
    pass: (ms) => {
      now += ms;
    },
  };
}

test("each kind of loss is logged at most once a minute, with the losses since the last message", () => {
  const { lines, reporter, pass } = reporting();
  reporter.reportLoss("queueFull", 1);
  turn();
  reporter.reportLoss("queueFull", 5);
  reporter.reportLoss("expired", 2);
  turn();
  pass(60_000);
  reporter.reportLoss("queueFull", 3);
  turn();
  expect(lines).toEqual([
    "[millrace] Lost 1 record (queueFull): the queue is full (maxQueueBytes, maxQueueRecords)",
    "[millrace] Lost 2 records (expired): every attempt failed",
    "[millrace] Lost 8 records (queueFull): the queue is full (maxQueueBytes, maxQueueRecords)",
  ]);
});

test("the option logRepeatMs says how often a kind is logged", () => {
  const lines: string[] = [];
  let now = 0;
  const warn = (message: string): number => lines.push(message);
  const options = { logLevel: "warn", logRepeatMs: 5_000 } as const;
  const reporter = new Reporter({ warn }, () => now, { options });
  reporter.log("kind", () => "first");
  now = 4_999;
  reporter.log("kind", () => "too early");
  now = 5_000;
  reporter.log("kind", () => "second");
  expect(lines).toEqual(["[millrace] first", "[millrace] second"]);
});

test("losses that were not logged yet are logged when the client closes", () => {
  const { lines, reporter } = reporting();
  reporter.reportLoss("queueFull", 1);
  turn();
  reporter.reportLoss("queueFull", 22_750);
  reporter.logRemaining();
  reporter.logRemaining();
  expect(lines.map((line) => line.split(":")[0])).toEqual([
    "[millrace] Lost 1 record (queueFull)",
    "[millrace] Lost 22750 records (queueFull)",
  ]);
});

test("and after the minute, if the program continues", () => {
  const { lines, reporter } = reporting();
  reporter.reportLoss("queueFull", 1);
  turn();
  reporter.reportLoss("queueFull", 2);
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(2);
});

test("a logger that throws does not reach the caller, and later ones are still called", () => {
  let calls = 0;
  const warn = (): never => {
    calls += 1;
    throw new Error("logger");
  };
  const reporter = new Reporter({ warn }, () => calls * 100_000);
  reporter.reportLoss("closed", 1);
  turn();
  reporter.reportLoss("closed", 1);
  turn();
  expect(calls).toBe(2);
});

test("the rejection of an asynchronous logger does not end the process", async () => {
  let calls = 0;
  // A JavaScript program may pass an asynchronous function.
  const warn: (message: string) => unknown = async () => {
    calls += 1;
    await Promise.resolve();
    throw new Error("logger");
  };
  const rejections: unknown[] = [];
  const listener = (reason: unknown): void => {
    rejections.push(reason);
  };
  process.on("unhandledRejection", listener);
  const reporter = new Reporter({ warn }, () => 0);
  reporter.reportLoss("closed", 1);
  turn();
  vi.useRealTimers();
  await nextTurn();
  process.off("unhandledRejection", listener);
  expect(calls).toBe(1);
  expect(rejections).toEqual([]);
});

test("losses after the end of the process has begun are logged at once, and only once", () => {
  const { lines, reporter } = reporting();
  reporter.reportLoss("closed", 2);
  turn();
  reporter.endWithProcess();
  reporter.reportLoss("closed", 1);
  reporter.reportLoss("closed", 1);
  expect(lines).toEqual([
    "[millrace] Lost 2 records (closed): the client was closed, or the process ended, before they were sent",
    "[millrace] Lost records that were recorded in a listener of the process event `exit` after the client had ended. Record them before, or add the listener before the client is created",
  ]);
});

test("outcomes are published on diagnostics channels that have subscribers", () => {
  const { reporter } = reporting();
  const messages: unknown[] = [];
  const listener = (message: unknown): void => {
    messages.push(message);
  };
  subscribe("millrace:dropped", listener);
  reporter.reportLoss("queueFull", 3);
  reporter.reportLoss("queueFull", 1);
  turn();
  unsubscribe("millrace:dropped", listener);
  reporter.reportLoss("queueFull", 5);
  turn();
  expect(messages).toEqual([{ reason: "queueFull", records: 4 }]);
});

test("neither the logger nor a subscriber is called by the call that reports", () => {
  const { lines, reporter } = reporting();
  const messages: unknown[] = [];
  const listener = (message: unknown): void => {
    messages.push(message);
  };
  subscribe("millrace:dropped", listener);
  subscribe("millrace:spooled", listener);
  reporter.reportLoss("queueFull", 1);
  reporter.reportSpooled(2);
  reporter.logLater("kind", "a message");
  expect({ lines, messages }).toEqual({ lines: [], messages: [] });
  turn();
  unsubscribe("millrace:dropped", listener);
  unsubscribe("millrace:spooled", listener);
  expect(messages).toEqual([{ records: 2 }, { reason: "queueFull", records: 1 }]);
  expect(lines).toEqual([
    "[millrace] a message",
    expect.stringContaining("[millrace] Lost 1 record (queueFull)"),
  ]);
});
