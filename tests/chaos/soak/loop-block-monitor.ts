import { readFileSync } from "node:fs";

/** The longest blocks of this thread's event loop, in milliseconds. */
export interface LoopBlocks {
  /** CPU time of this thread during the block. */
  readonly cpuMs: number;
  /** CPU times of the five longest blocks, the longest first. */
  readonly longestCpuMs: readonly number[];
  /** Wall-clock time, which includes the time when the machine ran other threads. */
  readonly wallMs: number;
}

const intervalMs = 5;
const keptBlocks = 5;

/**
 * Measures how long the event loop of the current thread is blocked, with a timer of 5 ms. If the timer is late in
 * wall-clock time, either the loop was blocked, or the thread did not get a processor, or a garbage collection waited
 * for helper threads that did not get one. On a shared machine, the last two cause most delays, sometimes of seconds.
 * The limit therefore applies to the CPU time of this thread between two ticks of the timer, which the kernel reports in
 * nanoseconds (first number of `schedstat`; without that file, CPU time of the whole process). It includes everything
 * that the program does, such as generating values and collecting garbage.
 */
export class LoopBlockMonitor {
  #longestCpuMs: readonly number[] = [];
  #maxWallMs = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    let last = performance.now();
    let lastCpuMs = threadCpuMs();
    this.#timer = setInterval(() => {
      const now = performance.now();
      const cpuNowMs = threadCpuMs();
      const lateMs = now - last - intervalMs;
      this.#maxWallMs = Math.max(this.#maxWallMs, lateMs);
      this.#keepLongest(Math.min(lateMs, cpuNowMs - lastCpuMs));
      last = now;
      lastCpuMs = cpuNowMs;
    }, intervalMs);
    this.#timer.unref();
  }

  get longest(): LoopBlocks {
    const longestCpuMs = this.#longestCpuMs;
    return { cpuMs: longestCpuMs[0] ?? 0, longestCpuMs, wallMs: this.#maxWallMs };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #keepLongest(cpuMs: number): void {
    const shortestKept = this.#longestCpuMs[keptBlocks - 1] ?? 0;
    if (cpuMs > shortestKept) {
      this.#longestCpuMs = [...this.#longestCpuMs, cpuMs]
        .toSorted((a, b) => b - a)
        .slice(0, keptBlocks);
    }
  }
}

/** CPU time of the current thread, in milliseconds. */
function threadCpuMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1_000_000;
  } catch {
    // Not Linux: the CPU time of the whole process is an upper bound.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
