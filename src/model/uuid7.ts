import { randomFillSync } from "node:crypto";

/** Where ids take their time and their randomness from. */
export interface Uuid7Sources {
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Fills the whole array with random bytes. */
  readonly random: (bytes: Uint8Array) => void;
}

/** Bytes of randomness fetched at once: one fetch costs as much as many ids. */
const poolBytes = 4_096;
/** Whole bytes at the end of an id that are random. */
const tailBytes = 5;
/** The most an id takes: a counter's seed, a step, two bits and the tail. */
const bytesPerId = 4 + 1 + 1 + tailBytes;
const counterLimit = 2 ** 32;
/** The largest time that the 48 bits of a version 7 UUID hold. */
const lastMs = 2 ** 48 - 1;

/**
 * Makes version 7 UUIDs (RFC 9562) that are ordered within the process, even when the clock
 * stands still or steps back: 48 bits of milliseconds, then a 32-bit counter that starts at a
 * random place in each millisecond and takes random steps, then 42 fresh random bits.
 */
export function createUuid7s({ now, random }: Uuid7Sources): () => string {
  const pool = new Uint8Array(poolBytes);
  const view = Buffer.from(pool.buffer);
  let poolHex = "";
  let used = poolBytes;
  let ms = -1;
  let counter = 0;
  let prefix = "";

  const startMs = (next: number): void => {
    ms = next;
    const hex = next.toString(16).padStart(12, "0");
    prefix = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
    // The top bit stays clear: room for sixteen million steps before the counter is spent.
    counter = view.readUInt32LE(used) >>> 1;
    used += 4;
  };

  return () => {
    if (used + bytesPerId > poolBytes) {
      random(pool);
      poolHex = view.toString("hex");
      used = 0;
    }
    const time = now();
    if (time > ms && time <= lastMs) {
      startMs(Math.floor(time));
    } else {
      counter += 1 + (pool[used++] ?? 0);
      if (counter >= counterLimit || ms < 0) {
        startMs(ms + 1);
      }
    }
    // The counter lies across three groups: 12 bits, 14 bits behind the variant, 6 bits.
    const low = ((counter & 0x3f) << 2) | ((pool[used] ?? 0) & 3);
    const tail = (used + 1) * 2;
    used += 1 + tailBytes;
    return `${prefix}${hex3[counter >>> 20]}-${hex4(0x80_00 | ((counter >>> 6) & 0x3f_ff))}-${hex2[low]}${poolHex.slice(tail, tail + tailBytes * 2)}`;
  };
}

const hex2 = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));
const hex3 = Array.from({ length: 4_096 }, (_, n) => n.toString(16).padStart(3, "0"));
const hex4 = (value: number): string => `${hex2[value >>> 8]}${hex2[value & 0xff]}`;

/** A new id. */
export const createUuid7 = createUuid7s({
  now: () => Date.now(),
  random: (bytes) => {
    randomFillSync(bytes);
  },
});
