import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Heartbeats, createHeartbeatMemory } from "../../src/workers/host/heartbeat.ts";
import { Watchdog } from "../../src/workers/host/watchdog.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A watchdog with two started threads, 7 and 8; `beat` simulates a turn of a thread's event loop. */
function watching() {
  const memory = createHeartbeatMemory(2);
  const numbers = new Int32Array(memory);
  numbers.set([7, 1, 8, 1]);
  const ended: number[] = [];
  const threads = [7, 8, 9].map((threadId) => ({
    threadId,
    terminate: () => {
      ended.push(threadId);
      threads.splice(
        threads.findIndex((thread) => thread.threadId === threadId),
        1,
      );
      return Promise.resolve();
    },
  }));
  const watchdog = new Watchdog({
    heartbeats: new Heartbeats(memory),
    listThreads: () => [...threads],
    stallMs: 4_000,
    onStuck: () => undefined,
  });
  const beat = (threadId: number): void => {
    const at = numbers[0] === threadId ? 1 : 3;
    numbers[at] = (numbers[at] ?? 0) + 1;
  };
  return { watchdog, ended, beat, numbers };
}

test("a thread that hangs until the limit is terminated, but not another one whose event loop turns", () => {
  const { watchdog, ended, beat } = watching();
  watchdog.watch();
  for (let turn = 0; turn < 10; turn++) {
    vi.advanceTimersByTime(500);
    beat(8);
  }
  expect(ended).toEqual([7]);
});

test("a thread that never started has ten seconds, whatever the limit", () => {
  const { watchdog, ended, beat } = watching();
  watchdog.watch();
  const pass = (turns: number): void => {
    for (let turn = 0; turn < turns; turn++) {
      vi.advanceTimersByTime(500);
      beat(7);
      beat(8);
    }
  };
  pass(19);
  expect(ended).toEqual([]);
  pass(3);
  expect(ended).toEqual([9]);
});

test("time during which the main thread was blocked too does not count, as for a suspended process", () => {
  const { watchdog, ended } = watching();
  watchdog.watch();
  vi.advanceTimersByTime(500);
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(500);
  expect(ended).toEqual([]);
});

test("nothing is checked while no task is running, and the stall time is counted from the beginning afterwards", () => {
  const { watchdog, ended } = watching();
  watchdog.watch()();
  vi.advanceTimersByTime(60_000);
  expect(ended).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("the slot of an ended thread is free for the next", () => {
  const { watchdog, numbers } = watching();
  numbers.set([6]);
  watchdog.watch();
  vi.advanceTimersByTime(500);
  expect([...numbers]).toEqual([0, 1, 8, 1]);
});
