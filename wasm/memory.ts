// Layout of the module's memory: constants and tables, then the output, then the part of a tape
// that is read. Offsets in the tape are addresses of this memory.
import { fieldCodes } from "./layout";

/** Copies the output from `from` to `to` out of the module. */
declare function flush(from: usize, to: usize): void;

/** Size of the output area in bytes. */
const outBytes: usize = 262_144;
/** Bytes that may be written after {@link ensureCapacity} in addition to the requested size. */
export const slack: usize = 256;
/** Bytes that may be read after the end of the tape, or written after the requested size. */
export const margin: usize = 64;
/** Maximum number of records of one run. */
export const recordsLimit: usize = 64;
/** Maximum number of bytes of the runtime facts. */
export const runtimeLimit: usize = 4_096;

/** Indexed by field code: the address of the field's content; 0 if the run has no such field. */
export const fields: usize = memory.data(4 * 64);
/** Addresses of the heads of the run's records. */
export const heads: usize = memory.data(4 * 64);
/** The runtime facts as JSON. */
export const runtime: usize = memory.data(4_096 + 64);
/** Text of the second that was written last, as `2026-11-21T10:11:12`. */
export const secondText: usize = memory.data(64);
/**
 * Shuffle masks that pack four UTF-8 sequences of up to three bytes each, and the resulting number
 * of bytes.
 */
export const shuffles: usize = memory.data(256 * 16);
export const sizes: usize = memory.data(256);
/** Shuffle masks that pack eight UTF-8 sequences of up to two bytes each. */
export const pairShuffles: usize = memory.data(256 * 16);
/** The powers of ten with exponents from -292 to 324, 16 bytes each. */
export const powersOfTen: usize = memory.data(617 * 16);
const out: usize = memory.data(262_144 + 64);
const outEnd: usize = out + outBytes;

/** Address of the next byte to write. */
export let position: usize = out;

export function setPosition(at: usize): void {
  position = at;
}

/** Ensures space for `size` bytes and {@link slack} in the output. */
export function ensureCapacity(size: usize): void {
  if (position + size + slack > outEnd) {
    flushAll();
  }
}

/** Copies the output out of the module and empties it. */
export function flushAll(): void {
  if (position > out) {
    flush(out, position);
    position = out;
  }
}

/** Drops output that a failure left. */
export function discard(): void {
  position = out;
}

export function clearFields(): void {
  memory.fill(fields, 0, 4 * fieldCodes);
}

/** Fills the tables. Called once. */
export function fillTables(): void {
  for (let index: usize = 0; index < 256; index++) {
    store<u8>(sizes + index, <u8>fillShuffle(shuffles + 16 * index, index));
    fillPairShuffle(pairShuffles + 16 * index, index);
  }
}

/**
 * Fills one mask for four code units. Bit `unit` of the index is set if that unit has a second
 * byte, bit `unit` + 4 if it has a third. Returns the number of packed bytes.
 */
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

/**
 * Fills one mask for eight code units. Bit `unit` of the index is set if that unit has a second
 * byte.
 */
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
