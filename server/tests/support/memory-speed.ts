/** Milliseconds in which an ordinary machine writes to a mebibyte of new memory for the first time, with a margin. */
const ordinaryMs = 0.5;
const measuredMebibytes = 64;

/**
 * Measures how many times longer than an ordinary machine this one takes to write to new memory; at least 1. Each page
 * of 4 KiB that is written for the first time is a page fault. Some virtual machines take 13 µs for it, ten to twenty
 * times longer than others, and there every thread of a process that handles a large value waits for memory.
 */
export function measureMemorySlowness(): number {
  const startMs = performance.now();
  Buffer.allocUnsafeSlow(measuredMebibytes * 1_048_576).fill(1);
  return Math.max(1, (performance.now() - startMs) / measuredMebibytes / ordinaryMs);
}
