// Maps the names of members to codes.
import { unknownNameCode } from "./layout";

/** Indexed by code: the name of a member, 32 bytes each, and its length. */
const names: usize = memory.data(64 * 32);
const nameSizes: usize = memory.data(64);
/** Hash table by length and first bytes: the code plus one; 0 for an empty slot. */
const nameSlots: usize = memory.data(256);
/** The address at which {@link registerName} expects a name. */
export const nameAddress: usize = memory.data(64);

/** Registers the name that was written to `nameAddress`. */
export function registerName(code: usize, size: usize): void {
  memory.copy(names + 32 * code, nameAddress, 32);
  store<u8>(nameSizes + code, <u8>size);
  let slot = hashName(nameAddress, size);
  while (load<u8>(nameSlots + slot) !== 0) {
    slot = (slot + 1) & 255;
  }
  store<u8>(nameSlots + slot, <u8>(code + 1));
}

function hashName(at: usize, size: usize): usize {
  return (size * 23 + <usize>load<u8>(at) * 7 + <usize>load<u8>(at + 1)) & 255;
}

/** Returns the code of a name; {@link unknownNameCode} if it has none. */
export function codeOfName(at: usize, size: usize): usize {
  let slot = hashName(at, size);
  while (true) {
    const codePlusOne: usize = load<u8>(nameSlots + slot);
    if (codePlusOne === 0) {
      return unknownNameCode;
    }
    if (
      load<u8>(nameSizes + codePlusOne - 1) === size &&
      hasSameBytes(names + 32 * (codePlusOne - 1), at, size)
    ) {
      return codePlusOne - 1;
    }
    slot = (slot + 1) & 255;
  }
}

/** Whether `size` bytes are the same at both addresses. */
function hasSameBytes(a: usize, b: usize, size: usize): bool {
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
