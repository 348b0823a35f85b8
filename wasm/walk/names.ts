// Maps the names of members to codes.
import { memberCodes } from "./layout";
import { hasSameBytes } from "./texts";

/** Indexed by code: the name of a member, 32 bytes each, and its length. */
const names: usize = memory.data(64 * 32);
const nameSizes: usize = memory.data(64);
/** Hash table by length and first bytes: the code plus one; 0 for an empty slot. */
const nameSlots: usize = memory.data(256);
/** Input of {@link know}. */
export const namePlace: usize = memory.data(64);

/** Registers the name that was written to `namePlace`. */
export function know(code: usize, size: usize): void {
  memory.copy(names + 32 * code, namePlace, 32);
  store<u8>(nameSizes + code, <u8>size);
  let slot = hashName(namePlace, size);
  while (load<u8>(nameSlots + slot) !== 0) {
    slot = (slot + 1) & 255;
  }
  store<u8>(nameSlots + slot, <u8>(code + 1));
}

function hashName(at: usize, size: usize): usize {
  return (size * 23 + <usize>load<u8>(at) * 7 + <usize>load<u8>(at + 1)) & 255;
}

/** Returns the code of a name; {@link memberCodes} if it has none. */
export function codeOfName(at: usize, size: usize): usize {
  let slot = hashName(at, size);
  while (true) {
    const codePlusOne: usize = load<u8>(nameSlots + slot);
    if (codePlusOne === 0) {
      return memberCodes;
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
