import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { Meter } from "../../examples/ask-the-docs/measure.ts";

/** Keeps the thread busy for an amount of CPU time, however busy the machine is. */
const block = (cpuMs: number): void => {
  const start = process.cpuUsage();
  while (process.cpuUsage(start).user + process.cpuUsage(start).system < cpuMs * 1_000) {
    // Busy on purpose.
  }
};

test("a blocked loop appears as delay and as CPU time; time between measurements does not", async () => {
  const meter = new Meter();
  const stop = meter.start();
  await wait(20);
  block(60);
  await wait(20);
  stop();
  block(1_500);
  const stopAgain = meter.start();
  await wait(20);
  stopAgain();
  const { wallMs, cpuMs, stretchesCpuMs, loopDelayMs, longestBlockMs } = meter.result();
  expect(longestBlockMs ?? 50).toBeGreaterThan(40);
  expect(longestBlockMs ?? 50).toBeLessThan(1_400);
  expect(stretchesCpuMs).toHaveLength(2);
  expect(loopDelayMs.max).toBeGreaterThan(40);
  expect(loopDelayMs.max).toBeLessThan(1_400);
  expect(loopDelayMs.p50).toBeLessThan(loopDelayMs.max);
  expect(cpuMs).toBeGreaterThan(40);
  expect(cpuMs).toBeLessThan(1_400);
  expect(wallMs).toBeGreaterThan(110);
  expect(wallMs).toBeLessThan(1_400);
});
