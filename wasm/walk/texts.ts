// Table of the distinct texts of columns.
import { limit } from "./layout";
import { packed, setPacked, setText, textAt, textSize } from "./memory";

const slotCount: usize = 16_384;
/** Hash table: the index of the text plus one; 0 for an empty slot. */
const slots: usize = memory.data(16_384 * 2, 2);
/**
 * Maximum number of slots that are compared. A text that is not found among them is added again.
 */
const probes: usize = 16;
const firstMultiplier: u64 = 0x9e37_79b9_7f4a_7c15;
const secondMultiplier: u64 = 0xc2b2_ae3d_27d4_eb4f;

export const noText: usize = 0xffff_ffff;
export let textCount: usize = 0;
/** Number of bytes of the packed texts. */
export let packedSize: usize = 0;

export function resetTexts(): void {
  memory.fill(slots, 0, slotCount * 2);
  textCount = 0;
  packedSize = 0;
}

/** Returns the index of a text, and adds it if it is new; {@link noText} if there are too many. */
export function findText(at: usize, size: usize): usize {
  let slot = hash(at, size) & (slotCount - 1);
  for (let probe: usize = 0; probe < probes; probe++) {
    const slotAddress = slots + 2 * slot;
    const indexPlusOne: usize = load<u16>(slotAddress);
    if (indexPlusOne === 0) {
      const index = addText(at, size);
      if (index !== noText) {
        store<u16>(slotAddress, <u16>(index + 1));
      }
      return index;
    }
    if (textSize(indexPlusOne - 1) === size && hasSameBytes(textAt(indexPlusOne - 1), at, size)) {
      return indexPlusOne - 1;
    }
    slot = (slot + 1) & (slotCount - 1);
  }
  return addText(at, size);
}

function addText(at: usize, size: usize): usize {
  if (textCount === limit.texts || !hasCapacity(size)) {
    return noText;
  }
  setText(textCount, at, size);
  setPacked(textCount, isAscii(at, size) ? pack(at, size) : noText);
  textCount += 1;
  return textCount - 1;
}

export function hasCapacity(size: usize): bool {
  return packedSize + size <= limit.packedBytes;
}

/**
 * Appends ASCII to the packed texts and returns its offset there. There must be enough capacity.
 */
export function pack(at: usize, size: usize): usize {
  const offset = packedSize;
  for (let i: usize = 0; i < size; i += 16) {
    v128.store(packed + offset + i, v128.load(at + i));
  }
  packedSize += size;
  return offset;
}

function isAscii(at: usize, size: usize): bool {
  let i: usize = 0;
  for (; i + 16 <= size; i += 16) {
    if (i8x16.bitmask(v128.load(at + i)) !== 0) {
      return false;
    }
  }
  return (i8x16.bitmask(v128.load(at + i)) & ((1 << (<i32>(size - i))) - 1)) === 0;
}

/** Hashes the last 16 bytes of a text, in which ids differ. */
function hash(at: usize, size: usize): usize {
  let low: u64 = 0;
  let high: u64 = 0;
  if (size >= 16) {
    low = load<u64>(at + size - 16);
    high = load<u64>(at + size - 8);
  } else if (size > 8) {
    low = load<u64>(at);
    high = load<u64>(at + size - 8);
  } else if (size > 0) {
    low = load<u64>(at) & (u64.MAX_VALUE >> (64 - 8 * <u64>size));
  }
  const mixed = (low * firstMultiplier) ^ (rotl<u64>(high, 31) * secondMultiplier) ^ <u64>size;
  return <usize>(((mixed ^ (mixed >> 32)) * firstMultiplier) >> 40);
}

/** Whether `size` bytes are the same at both addresses. */
export function hasSameBytes(a: usize, b: usize, size: usize): bool {
  let i: usize = 0;
  for (; i + 16 <= size; i += 16) {
    if (!i8x16.all_true(i8x16.eq(v128.load(a + i), v128.load(b + i)))) {
      return false;
    }
  }
  const equal = i8x16.bitmask(i8x16.eq(v128.load(a + i), v128.load(b + i)));
  const wanted = (1 << (<i32>(size - i))) - 1;
  return (equal & wanted) === wanted;
}
