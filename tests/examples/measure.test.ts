import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { Meter } from "../../examples/ask-the-docs/measure.ts";

const block = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    // Busy on purpose.
  }
};

test("a blocked loop shows as delay and as CPU time; time between stretches does not", async () => {
  const meter = new Meter();
  const stop = meter.start();
  await wait(20);
  block(60);
  await wait(20);
  stop();
  block(300);
  const stopAgain = meter.start();
  await wait(20);
  stopAgain();
  const { wallMs, cpuMs, loopDelayMs } = meter.result();
  expect(loopDelayMs.max).toBeGreaterThan(50);
  expect(loopDelayMs.max).toBeLessThan(250);
  expect(loopDelayMs.p50).toBeLessThan(50);
  expect(cpuMs).toBeGreaterThan(40);
  expect(wallMs).toBeGreaterThan(110);
  expect(cpuMs).toBeLessThan(wallMs);
});
