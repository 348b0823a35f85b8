// Texts of columns, each told once however often it stands in the body.
import { limit } from "./layout";
import { packed, setPacked, setText, textAt, textSize } from "./memory";

const slotCount: usize = 16_384;
/** By hash: the text's index and one. */
const slots: usize = memory.data(16_384 * 2, 2);
/** Texts that fall on one place are looked through so far: one behind is told again. */
const probes: usize = 16;
const first: u64 = 0x9e37_79b9_7f4a_7c15;
const second: u64 = 0xc2b2_ae3d_27d4_eb4f;

export const noText: usize = 0xffff_ffff;
export let textCount: usize = 0;
/** Bytes of the packed texts. */
export let packedSize: usize = 0;

export function noTexts(): void {
  memory.fill(slots, 0, slotCount * 2);
  textCount = 0;
  packedSize = 0;
}

/** The index of the text; {@link noText} where there are too many. */
export function textOf(at: usize, size: usize): usize {
  let slot = hash(at, size) & (slotCount - 1);
  for (let probe: usize = 0; probe < probes; probe++) {
    const place = slots + 2 * slot;
    const known: usize = load<u16>(place);
    if (known === 0) {
      const index = addText(at, size);
      if (index !== noText) {
        store<u16>(place, <u16>(index + 1));
      }
      return index;
    }
    if (textSize(known - 1) === size && same(textAt(known - 1), at, size)) {
      return known - 1;
    }
    slot = (slot + 1) & (slotCount - 1);
  }
  return addText(at, size);
}

function addText(at: usize, size: usize): usize {
  if (textCount === limit.texts || !hasRoom(size)) {
    return noText;
  }
  setText(textCount, at, size);
  setPacked(textCount, isAscii(at, size) ? pack(at, size) : noText);
  textCount += 1;
  return textCount - 1;
}

export function hasRoom(size: usize): bool {
  return packedSize + size <= limit.packedBytes;
}

/** Puts ASCII behind the packed texts; returns where it is among them. There is room. */
export function pack(at: usize, size: usize): usize {
  const place = packedSize;
  for (let i: usize = 0; i < size; i += 16) {
    v128.store(packed + place + i, v128.load(at + i));
  }
  packedSize += size;
  return place;
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

/** Of its last 16 bytes: ids differ there. */
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
  const mixed = (low * first) ^ (rotl<u64>(high, 31) * second) ^ <u64>size;
  return <usize>(((mixed ^ (mixed >> 32)) * first) >> 40);
}

/** Whether the same bytes stand at both places. */
export function same(a: usize, b: usize, size: usize): bool {
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
