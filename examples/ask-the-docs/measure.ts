import { readFileSync } from "node:fs";
import { createHistogram, performance } from "node:perf_hooks";

/** What a phase cost the main thread. */
export interface Measurement {
  readonly wallMs: number;
  /** On-CPU time of the main thread, where `cpuSource` is exact; else the time its loop was busy. */
  readonly cpuMs: number;
  readonly cpuSource: "thread clock" | "event-loop activity";
  /** Of each stretch by itself, in their order. */
  readonly stretchesCpuMs: readonly number[];
  /** How late a timer of 5 ms fired, by the clock: the time in which others had the core is in it. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /** The most CPU time of the main thread between two turns of that timer: what others do is not in it. */
  readonly longestHoldMs: number | undefined;
}

const timerMs = 5;

/** Measures the calling thread, which must be the main thread, over one or several stretches. */
export class Meter {
  readonly #delays = createHistogram();
  #wallMs = 0;
  readonly #cpuMs: number[] = [];
  readonly #activeMs: number[] = [];
  #longestHoldMs = 0;

  /** Begins a stretch; calling the result ends it. */
  start(): () => void {
    const startedAt = performance.now();
    const cpuAtStart = readThreadCpuMs() ?? Number.NaN;
    const activity = performance.eventLoopUtilization();
    let plannedAt = startedAt + timerMs;
    let cpuBefore = cpuAtStart;
    let timer: NodeJS.Timeout;
    const look = (): void => {
      const now = performance.now();
      // A histogram takes whole nanoseconds from 1 up; a timer may be some microseconds early.
      this.#delays.record(Math.max(1, Math.round((now - plannedAt) * 1e6)));
      plannedAt = now + timerMs;
      const cpuNow = readThreadCpuMs() ?? Number.NaN;
      this.#longestHoldMs = Math.max(this.#longestHoldMs, cpuNow - cpuBefore);
      cpuBefore = cpuNow;
      timer = setTimeout(look, timerMs);
    };
    timer = setTimeout(look, timerMs);
    return () => {
      clearTimeout(timer);
      this.#wallMs += performance.now() - startedAt;
      this.#cpuMs.push((readThreadCpuMs() ?? Number.NaN) - cpuAtStart);
      this.#activeMs.push(performance.eventLoopUtilization(activity).active);
    };
  }

  /** What all stretches cost together. */
  result(): Measurement {
    const isExact = !this.#cpuMs.some(Number.isNaN);
    const stretchesCpuMs = isExact ? this.#cpuMs : this.#activeMs;
    return {
      wallMs: this.#wallMs,
      cpuMs: stretchesCpuMs.reduce((sum, one) => sum + one, 0),
      stretchesCpuMs,
      longestHoldMs: Number.isNaN(this.#longestHoldMs) ? undefined : this.#longestHoldMs,
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
 * Linux keeps the on-CPU nanoseconds of every thread; the main thread's id is the process's.
 * `process.threadCpuUsage` says the same on every platform, from Node 23.9.
 */
const readThreadCpuMs = (): number | undefined => {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(
      " ",
    );
    return Number(nanoseconds) / 1e6;
  } catch {
    // No such file: not Linux, or a kernel without scheduler statistics. The caller says so.
    return undefined;
  }
};
