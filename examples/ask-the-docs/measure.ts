import { readFileSync } from "node:fs";
import { createHistogram, performance } from "node:perf_hooks";

/** The cost of a phase on the main thread. */
export interface Measurement {
  readonly wallMs: number;
  /**
   * CPU time of the main thread; with `cpuSource: "event-loop activity"` the time in which its event loop was active.
   */
  readonly cpuMs: number;
  readonly cpuSource: "thread clock" | "event-loop activity";
  /** CPU time of each measured stretch, in order. */
  readonly stretchesCpuMs: readonly number[];
  /** Delay of a 5 ms timer in wall-clock time. It includes the time in which other threads used the core. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /**
   * Longest event-loop block: the CPU time of the main thread between two turns of that timer. It does not include other
   * threads. `undefined` if the CPU time is not available.
   */
  readonly longestBlockMs: number | undefined;
}

const timerMs = 5;

/** Measures the main thread over one or several stretches of time. It must be called on the main thread. */
export class Meter {
  readonly #delays = createHistogram();
  #wallMs = 0;
  readonly #cpuMs: number[] = [];
  readonly #activeMs: number[] = [];
  #longestBlockMs = 0;

  /** Begins a stretch. Call the returned function to end it. */
  start(): () => void {
    const startedAt = performance.now();
    const cpuAtStart = readThreadCpuMs() ?? Number.NaN;
    const activity = performance.eventLoopUtilization();
    let plannedAt = startedAt + timerMs;
    let cpuBefore = cpuAtStart;
    let timer: NodeJS.Timeout;
    const sample = (): void => {
      const now = performance.now();
      // A histogram accepts integers from 1, in nanoseconds. A timer may fire some microseconds early.
      this.#delays.record(Math.max(1, Math.round((now - plannedAt) * 1e6)));
      plannedAt = now + timerMs;
      const cpuNow = readThreadCpuMs() ?? Number.NaN;
      this.#longestBlockMs = Math.max(this.#longestBlockMs, cpuNow - cpuBefore);
      cpuBefore = cpuNow;
      timer = setTimeout(sample, timerMs);
    };
    timer = setTimeout(sample, timerMs);
    return () => {
      clearTimeout(timer);
      this.#wallMs += performance.now() - startedAt;
      this.#cpuMs.push((readThreadCpuMs() ?? Number.NaN) - cpuAtStart);
      this.#activeMs.push(performance.eventLoopUtilization(activity).active);
    };
  }

  /** The total cost of all stretches. */
  result(): Measurement {
    const isExact = !this.#cpuMs.some(Number.isNaN);
    const stretchesCpuMs = isExact ? this.#cpuMs : this.#activeMs;
    return {
      wallMs: this.#wallMs,
      cpuMs: stretchesCpuMs.reduce((sum, ms) => sum + ms, 0),
      stretchesCpuMs,
      longestBlockMs: Number.isNaN(this.#longestBlockMs) ? undefined : this.#longestBlockMs,
      cpuSource: isExact ? "thread clock" : "event-loop activity",
      loopDelayMs: {
        p50: toMs(this.#delays.percentile(50)),
        p99: toMs(this.#delays.percentile(99)),
        max: toMs(this.#delays.max),
      },
    };
  }
}

const toMs = (nanoseconds: number): number => nanoseconds / 1e6;

/**
 * The CPU time of the main thread. Linux counts the CPU nanoseconds of every thread, and the id of the main thread is that
 * of the process. From Node 23.9 on, `process.threadCpuUsage` returns the same on every platform.
 */
const readThreadCpuMs = (): number | undefined => {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(
      " ",
    );
    return Number(nanoseconds) / 1e6;
  } catch {
    // The file does not exist: this is not Linux, or the kernel has no scheduler statistics.
    return undefined;
  }
};
