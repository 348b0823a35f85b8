// Names of members that have a code.
import { memberCodes } from "./layout";
import { same } from "./texts";

/** By code: the name of a member, 32 bytes, and its length. */
const names: usize = memory.data(64 * 32);
const nameSizes: usize = memory.data(64);
/** By length and first byte: the code and one. */
const nameSlots: usize = memory.data(256);
/** Where a name is written for {@link know}. */
export const namePlace: usize = memory.data(64);

/** A member's name stands at `namePlace`. */
export function know(code: usize, size: usize): void {
  memory.copy(names + 32 * code, namePlace, 32);
  store<u8>(nameSizes + code, <u8>size);
  let slot = slotOf(namePlace, size);
  while (load<u8>(nameSlots + slot) !== 0) {
    slot = (slot + 1) & 255;
  }
  store<u8>(nameSlots + slot, <u8>(code + 1));
}

function slotOf(at: usize, size: usize): usize {
  return (size * 23 + <usize>load<u8>(at) * 7 + <usize>load<u8>(at + 1)) & 255;
}

/** The code of a name; {@link memberCodes} where it has none. */
export function codeOfName(at: usize, size: usize): usize {
  let slot = slotOf(at, size);
  while (true) {
    const known: usize = load<u8>(nameSlots + slot);
    if (known === 0) {
      return memberCodes;
    }
    if (load<u8>(nameSizes + known - 1) === size && same(names + 32 * (known - 1), at, size)) {
      return known - 1;
    }
    slot = (slot + 1) & 255;
  }
}
