import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readThreadCpuMs } from "../thread-cpu.ts";

const isReported = ((): boolean => {
  try {
    return readFileSync("/proc/thread-self/schedstat", "latin1") !== "";
  } catch {
    return false;
  }
})();

test.runIf(isReported)("the time of a thread grows while it works", () => {
  const before = readThreadCpuMs();
  // Reading the file is work enough. The kernel may add the time of a thread only at its next tick.
  let reads = 0;
  while (readThreadCpuMs() <= before && reads < 1_000_000) {
    reads += 1;
  }
  expect(readThreadCpuMs()).toBeGreaterThan(before);
});

test.skipIf(isReported)("a system that does not report the time of a thread", () => {
  expect(readThreadCpuMs()).toBe(0);
});
