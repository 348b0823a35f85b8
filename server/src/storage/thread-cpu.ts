import { readFileSync } from "node:fs";

/**
 * Milliseconds for which this thread has run on a processor. 0 on systems that do not report this time, so that a
 * thread always seems to have waited.
 */
export function readThreadCpuMs(): number {
  try {
    // The first number is the time on a processor, in nanoseconds.
    const [nanoseconds] = readFileSync("/proc/thread-self/schedstat", "latin1").split(" ");
    return Number(nanoseconds) / 1_000_000 || 0;
  } catch {
    return 0;
  }
}
