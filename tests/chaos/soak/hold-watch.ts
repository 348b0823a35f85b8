import { readFileSync } from "node:fs";

/** How long the loop of this thread was held at the longest, in milliseconds. */
export interface Holds {
  /** Computing on this thread. */
  readonly oursMs: number;
  /** By the clock on the wall: with the time in which the machine let others run. */
  readonly wallMs: number;
}

const everyMs = 5;

/**
 * Watches the loop of the thread that makes it with a timer of 5 ms. A loop that is late by the clock was held, or
 * its thread did not get a processor, or stood still in a collection of garbage for helper threads that did
 * not get one: on a machine that others use too that is most of it, seconds at times. So what counts is the
 * processor time of this one thread between two turns of the timer, which the kernel tells to the nanosecond
 * (first number of `schedstat`; of the whole process where there is no such file). All that the
 * program does is counted as ours, its own drawing of values and its collections of garbage included.
 */
export class HoldWatch {
  #oursMs = 0;
  #wallMs = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    let last = performance.now();
    let used = computedMs();
    this.#timer = setInterval(() => {
      const now = performance.now();
      const usedNow = computedMs();
      const lateMs = now - last - everyMs;
      this.#wallMs = Math.max(this.#wallMs, lateMs);
      this.#oursMs = Math.max(this.#oursMs, Math.min(lateMs, usedNow - used));
      last = now;
      used = usedNow;
    }, everyMs);
    this.#timer.unref();
  }

  get holds(): Holds {
    return { oursMs: this.#oursMs, wallMs: this.#wallMs };
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** How long the thread that asks has run on a processor. */
function computedMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1_000_000;
  } catch {
    // Not Linux: the threads of the whole process are a bound from above.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
