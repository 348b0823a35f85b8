import { expect, test, vi } from "vitest";
import { createClock, clock as processClock } from "../../src/model/clock.ts";

function steerable({ wallMs = 1_700_000_000_000, monotonicMs = 50, isSystemClock = false } = {}) {
  const time = { wallMs, monotonicMs };
  const clock = createClock({
    now: () => time.wallMs,
    monotonic: () => time.monotonicMs,
    isSystemClock: () => isSystemClock,
  });
  return { time, clock };
}

test("counts microseconds between two ticks of the wall clock", () => {
  const { time, clock } = steerable();
  const first = clock();
  time.monotonicMs += 0.25;
  expect(clock() - first).toBe(250);
});

test("gives whole microseconds", () => {
  const { time, clock } = steerable();
  clock();
  time.monotonicMs += 0.123_456;
  expect(Number.isInteger(clock())).toBe(true);
});

test.each([3_600_000, -3_600_000, 3, -3])(
  "follows the wall clock when it is set by %i ms",
  (stepMs) => {
    const { time, clock } = steerable();
    clock();
    time.wallMs += stepMs;
    expect(clock()).toBe(time.wallMs * 1_000);
  },
);

test("a wall clock with a coarse resolution causes no new synchronization", () => {
  const { time, clock } = steerable();
  const first = clock();
  time.monotonicMs += 0.9;
  time.wallMs += 1;
  expect(clock() - first).toBe(900);
});

test("never differs from the wall clock by more than the allowed drift", () => {
  const { time, clock } = steerable();
  for (let step = 0; step < 10_000; step += 1) {
    // A monotonic clock that runs slow by one part in a thousand.
    time.wallMs += 1;
    time.monotonicMs += 0.999;
    expect(Math.abs(clock() - time.wallMs * 1_000)).toBeLessThanOrEqual(2_001);
  }
});

test("the system's wall clock is cached for a millisecond, and then read again", () => {
  const { time, clock } = steerable({ isSystemClock: true });
  const first = clock();
  time.wallMs += 3_600_000;
  time.monotonicMs += 0.75;
  expect(clock() - first).toBe(750);
  time.monotonicMs += 0.25;
  expect(clock()).toBe(time.wallMs * 1_000);
});

test("fake timers take effect at once", () => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  try {
    expect(processClock()).toBe(1_700_000_000_000_000);
    vi.setSystemTime(1_800_000_000_000);
    expect(processClock()).toBe(1_800_000_000_000_000);
    vi.advanceTimersByTime(86_400_000);
    expect(processClock()).toBe(1_800_086_400_000_000);
  } finally {
    vi.useRealTimers();
  }
  // The clock returns to real time at once, although the fake time was far ahead.
  expect(Math.abs(processClock() / 1_000 - Date.now())).toBeLessThan(5);
});

test("a monotonic clock that is replaced by one that is behind is ignored", () => {
  const { time, clock } = steerable({ isSystemClock: true, monotonicMs: 86_400_000 });
  clock();
  time.monotonicMs = 50;
  time.wallMs += 1;
  expect(clock()).toBe(time.wallMs * 1_000);
});
