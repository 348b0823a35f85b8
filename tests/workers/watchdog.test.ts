import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deferred } from "../../src/model/deferred.ts";
import { Heartbeat, Heartbeats, createHeartbeatMemory } from "../../src/workers/host/heartbeat.ts";
import { Watchdog } from "../../src/workers/host/watchdog.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A watchdog with two started threads, 7 and 8; `beat` simulates a turn of a thread's event loop. */
function watching() {
  const memory = createHeartbeatMemory(3);
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

test("an idle thread has no beats and is not terminated while another one has the tasks", () => {
  const { watchdog, ended, beat, numbers } = watching();
  numbers[1] = -1;
  watchdog.watch();
  for (let turn = 0; turn < 16; turn++) {
    vi.advanceTimersByTime(500);
    beat(8);
  }
  expect(ended).toEqual([]);
});

test("if all threads are idle although a task is running, they are terminated", () => {
  const { watchdog, ended, numbers } = watching();
  numbers.set([7, -1, 8, -1, 9, -1]);
  watchdog.watch();
  vi.advanceTimersByTime(5_000);
  expect(ended).toEqual([7, 8, 9]);
});

test("a heartbeat beats while tasks run, and only then", async () => {
  const memory = createHeartbeatMemory(1);
  const heartbeats = new Heartbeats(memory);
  expect(heartbeats.readBeats(7)).toBe(0);
  const heartbeat = new Heartbeat({ memory, intervalMs: 500 }, 7);
  expect([heartbeats.readBeats(7), heartbeats.isIdle(7)]).toEqual([1, true]);
  const first = new Deferred<string>();
  const second = new Deferred<string>();
  const results = [first, second].map(({ promise }) => heartbeat.runWithHeartbeat(() => promise));
  vi.advanceTimersByTime(1_000);
  expect([heartbeats.readBeats(7), heartbeats.isIdle(7)]).toEqual([4, false]);
  first.resolve("first");
  expect(await results[0]).toBe("first");
  vi.advanceTimersByTime(500);
  expect([heartbeats.readBeats(7), heartbeats.isIdle(7)]).toEqual([5, false]);
  second.resolve("second");
  await results[1];
  vi.advanceTimersByTime(5_000);
  expect([heartbeats.readBeats(7), heartbeats.isIdle(7)]).toEqual([5, true]);
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
  expect([...numbers]).toEqual([0, 1, 8, 1, 0, 0]);
});
