// What lies where in the module's memory: constants and tables, the output, and behind them the part of a
// tape that is read. Addresses of the tape are addresses of this memory.
import { fieldCodes } from "./layout";

/** Writes what was written so far where it belongs: the bytes from `from` to `to`. */
declare function flush(from: usize, to: usize): void;

const outBytes: usize = 262_144;
/** Bytes that may be written without a question after {@link room} was asked for {@link slack}, or for more. */
export const slack: usize = 256;
/** Bytes that may be read behind the tape, or written behind what was asked for. */
export const beyond: usize = 64;
/** The most records of one run. */
export const recordsLimit: usize = 64;
/** The most bytes of the runtime facts. */
export const runtimeLimit: usize = 4_096;

/** By field code: where the content begins of the run's field; 0 where it has none. */
export const fields: usize = memory.data(4 * 64);
export const heads: usize = memory.data(4 * 64);
export const runtime: usize = memory.data(4_096 + 64);
/** Of the second that was written last, as `2026-11-21T10:11:12`. */
export const secondText: usize = memory.data(64);
/** How four units of up to three bytes in 16 are moved together, and how many bytes that makes. */
export const shuffles: usize = memory.data(256 * 16);
export const sizes: usize = memory.data(256);
/** How eight units of up to two bytes are. */
export const pairShuffles: usize = memory.data(256 * 16);
const out: usize = memory.data(262_144 + 64);
const outEnd: usize = out + outBytes;

/** Where the next byte goes. */
export let to: usize = out;

export function goTo(at: usize): void {
  to = at;
}

/** Makes room for so many bytes and {@link slack}. */
export function room(size: usize): void {
  if (to + size + slack > outEnd) {
    flushAll();
  }
}

/** Hands over what was written. */
export function flushAll(): void {
  if (to > out) {
    flush(out, to);
    to = out;
  }
}

/** Leaves what a failure left. */
export function discard(): void {
  to = out;
}

export function clearFields(): void {
  memory.fill(fields, 0, 4 * fieldCodes);
}

/** Fills the tables. Once. */
export function fillTables(): void {
  for (let index: usize = 0; index < 256; index++) {
    store<u8>(sizes + index, <u8>fillShuffle(shuffles + 16 * index, index));
    fillPairShuffle(pairShuffles + 16 * index, index);
  }
}

/** Bit `unit` says that it has a second byte, bit `unit` + 4 that it has a third. */
function fillShuffle(table: usize, index: usize): usize {
  memory.fill(table, 0x80, 16);
  let size: usize = 0;
  for (let unit: usize = 0; unit < 4; unit++) {
    const count: usize = 1 + ((index >> unit) & 1) + ((index >> (unit + 4)) & 1);
    for (let i: usize = 0; i < count; i++) {
      store<u8>(table + size, <u8>(4 * unit + i));
      size += 1;
    }
  }
  return size;
}

/** Bit `unit` says that it has a second byte. */
function fillPairShuffle(table: usize, index: usize): void {
  memory.fill(table, 0x80, 16);
  let size: usize = 0;
  for (let unit: usize = 0; unit < 8; unit++) {
    const count: usize = 1 + ((index >> unit) & 1);
    for (let i: usize = 0; i < count; i++) {
      store<u8>(table + size, <u8>(2 * unit + i));
      size += 1;
    }
  }
}
