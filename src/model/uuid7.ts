import { randomFillSync } from "node:crypto";
import { readLatin1 } from "./buffer-text.ts";

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

export interface Uuid7Maker {
  /** A new id, of a time in milliseconds since the Unix epoch; without, of the maker's clock. */
  readonly create: (time?: number) => string;
  /** Writes the id that was made last; false, and nothing is written, where `id` is another. */
  readonly write: (view: DataView, at: number, id: string) => boolean;
}

/**
 * Makes version 7 UUIDs (RFC 9562) that are ordered within the process, even when the clock
 * stands still or steps back: 48 bits of milliseconds, then a 32-bit counter that starts at a
 * random place in each millisecond and takes random steps, then 42 fresh random bits.
 * Each takes its time from `now`, or is given it by a caller who has it already.
 */
export function uuid7Maker({ now, random }: Uuid7Sources): Uuid7Maker {
  const pool = Buffer.alloc(poolBytes);
  // The last id's text. One flat string is made of it: joined parts would stay a tree of strings for as long
  // as the id is kept, four times its size and as many objects to collect.
  const text = Buffer.from("00000000-0000-7000-0000-000000000000", "latin1");
  const textView = new DataView(text.buffer, text.byteOffset, text.length);
  let last = "";
  let used = poolBytes;
  let ms = -1;
  let counter = 0;

  const startMs = (next: number): void => {
    ms = next;
    const hex = next.toString(16).padStart(12, "0");
    text.write(hex.slice(0, 8), 0, "latin1");
    text.write(hex.slice(8), 9, "latin1");
    // The top bit stays clear: room for sixteen million steps before the counter is spent.
    counter = pool.readUInt32LE(used) >>> 1;
    used += 4;
  };

  const putHex = (at: number, byte: number): void => {
    textView.setUint16(at, hexPairs[byte] ?? 0, true);
  };

  const create = (at = now()): string => {
    const time = Math.floor(at);
    if (used + bytesPerId > poolBytes) {
      random(pool);
      used = 0;
    }
    if (time > ms && time <= lastMs) {
      startMs(time);
    } else {
      counter += 1 + (pool[used++] ?? 0);
      if (counter >= counterLimit || ms < 0) {
        startMs(ms + 1);
      }
    }
    // The counter lies across three groups: 12 bits, 14 bits behind the variant, 6 bits.
    const middle = (counter >>> 6) & 0x3f_ff;
    text[15] = hexDigits[counter >>> 28] ?? 0;
    putHex(16, (counter >>> 20) & 0xff);
    putHex(19, 0x80 | (middle >>> 8));
    putHex(21, middle & 0xff);
    putHex(24, ((counter & 0x3f) << 2) | ((pool[used] ?? 0) & 3));
    for (let tail = 1; tail <= tailBytes; tail++) {
      putHex(24 + 2 * tail, pool[used + tail] ?? 0);
    }
    used += 1 + tailBytes;
    last = readLatin1(text, 0, text.length);
    return last;
  };

  const write = (view: DataView, at: number, id: string): boolean => {
    if (id !== last) {
      return false;
    }
    // As the text is ASCII, none of these numbers is a NaN, which need not keep its bits.
    for (let i = 0; i < 32; i += 8) {
      view.setFloat64(at + i, textView.getFloat64(i, true), true);
    }
    view.setInt32(at + 32, textView.getInt32(32, true), true);
    return true;
  };

  return { create, write };
}

const hexDigits = Buffer.from("0123456789abcdef", "latin1");
/** By byte: its two digits, as a little-endian number of 16 bits. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, "0"), "latin1").readUInt16LE(),
);

const processMaker = uuid7Maker({
  now: () => Date.now(),
  random: (bytes) => {
    randomFillSync(bytes);
  },
});

/** A new id, of a time in milliseconds since the Unix epoch; of now without. */
export const createUuid7 = processMaker.create;

/** Writes an id, if it is the one that {@link createUuid7} made last, and says whether it is: a run is recorded when it got its id. */
export const writeUuid7 = processMaker.write;
