import { clock } from "../../model/clock.ts";

/** The largest time in microseconds that a number represents exactly; in the year 2255. */
const lastExactMicros = Number.MAX_SAFE_INTEGER;

/**
 * Largest accepted clock skew of another process, in microseconds. A start time further in the future is wrong or
 * forged and must not affect the start times of runs in this process.
 */
const maxSkewMicros = 3_600_000_000;

/** State shared by all runs of one trace in this process. */
export class Trace {
  /** Whether sampling selected the trace, so that it is recorded. */
  readonly isSampled: boolean;
  /** The latest start time that was assigned. Every later start time is greater. */
  #newestMicros = 0;

  constructor(sampled: boolean) {
    this.isSampled = sampled;
  }

  /** Returns a start time greater than all earlier ones of this trace, even if the clock (`now`) was set back. */
  assignStart(now: number): number {
    const startMicros = now > this.#newestMicros ? now : this.#newestMicros + 1;
    this.#newestMicros = startMicros;
    return startMicros;
  }

  /**
   * Makes all later start times greater than `micros`, the start time of a remote run, unless `micros` is too far in
   * the future.
   */
  requireStartAfter(micros: number): void {
    if (micros > this.#newestMicros && micros < clock() + maxSkewMicros) {
      this.#newestMicros = micros;
    }
  }
}

/** Converts a time in milliseconds or a Date to microseconds. Returns `undefined` if it is not a valid time. */
export function toMicros(time: unknown): number | undefined {
  const ms = time instanceof Date ? time.getTime() : time;
  if (typeof ms !== "number") {
    return undefined;
  }
  const micros = Math.round(ms * 1_000);
  return micros >= 0 && micros <= lastExactMicros ? micros : undefined;
}
