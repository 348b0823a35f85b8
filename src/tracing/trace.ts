import { readLatin1, writeLatin1 } from "../model/buffer-text.ts";
import { stampLength, uuidLength, writeStamp } from "../model/dotted-order.ts";
import { clock } from "./clock.ts";

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

/** A caller's time, in milliseconds or as a Date, as microseconds; `undefined` if it is none. */
export function toMicros(time: unknown): number | undefined {
  const ms = time instanceof Date ? time.getTime() : time;
  if (typeof ms !== "number") {
    return undefined;
  }
  const micros = Math.round(ms * 1_000);
  return micros >= 0 && micros <= lastExactMicros ? micros : undefined;
}

/** A run's place in its trace, of which its dotted order is made. */
export interface Place {
  readonly id: string;
  readonly startMicros: number;
  /** Its parent's dotted order; absent for the root of a trace. */
  readonly parentOrder: string | undefined;
}

/** Bytes of a run's dotted order. */
export const orderLength = ({ parentOrder }: Place): number =>
  (parentOrder === undefined ? 0 : parentOrder.length + 1) + stampLength + uuidLength;

/** Writes a run's dotted order into {@link orderLength} bytes. */
export function writeOrder(bytes: Buffer, from: number, place: Place): void {
  const { id, startMicros, parentOrder } = place;
  let at = from;
  if (parentOrder !== undefined) {
    at += writeLatin1(bytes, parentOrder, at);
    bytes[at++] = dot;
  }
  writeStamp(bytes, at, startMicros);
  writeLatin1(bytes, id, at + stampLength);
}

const dot = 0x2e;

/** A run's dotted order as one flat string: joined parts would be flattened anew by each child. */
export function flatOrder(place: Place): string {
  const length = orderLength(place);
  const bytes = length > scratch.length ? Buffer.alloc(length) : scratch;
  writeOrder(bytes, 0, place);
  return readLatin1(bytes, 0, length);
}

const scratch = Buffer.alloc(1_024);
