import { clock } from "../../model/clock.ts";

/** The last microsecond that a number counts exactly; in the year 2255. */
const lastExactMicros = Number.MAX_SAFE_INTEGER;

/**
 * How far a caller's clock may be ahead of ours and still be believed, microseconds. A stamp
 * beyond it is wrong or forged, and must not date our runs.
 */
const skewLimitMicros = 3_600_000_000;

/** What all runs of one trace share in this process. */
export class Trace {
  /** One decision for the whole trace. */
  readonly sampled: boolean;
  /** The newest start; every later start is after it. */
  #newestMicros = 0;

  constructor(sampled: boolean) {
    this.sampled = sampled;
  }

  /** A start time after every other that this trace gave out, whatever the clock, which says `now`, does. */
  nextStart(now: number): number {
    const next = now > this.#newestMicros ? now : this.#newestMicros + 1;
    this.#newestMicros = next;
    return next;
  }

  /** Makes later starts come after one made elsewhere, unless its clock is far ahead of ours. */
  startAfter(micros: number): void {
    if (micros > this.#newestMicros && micros < clock() + skewLimitMicros) {
      this.#newestMicros = micros;
    }
  }
}

/** A caller's time, in milliseconds or as a Date, converted to microseconds; `undefined` if it is not a time. */
export function toMicros(time: unknown): number | undefined {
  const ms = time instanceof Date ? time.getTime() : time;
  if (typeof ms !== "number") {
    return undefined;
  }
  const micros = Math.round(ms * 1_000);
  return micros >= 0 && micros <= lastExactMicros ? micros : undefined;
}
