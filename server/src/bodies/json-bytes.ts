/** Creates a lookup table of bytes: 1 for each of the characters, 0 for all others. */
const createByteTable = (characters: string): Uint8Array => {
  const table = new Uint8Array(256);
  for (const character of characters) {
    table[character.charCodeAt(0)] = 1;
  }
  return table;
};
/** Characters that may follow a backslash, except `u`. */
export const escapableBytes = createByteTable('"\\/bfnrt');
/** A lookup table of the hexadecimal digits. */
export const hexDigitBytes = createByteTable("0123456789abcdefABCDEF");
/** Bytes that may occur in a string without an escape. */
export const unescapedBytes = new Uint8Array(256).fill(1, 0x20);
unescapedBytes[0x22] = 0;
unescapedBytes[0x5c] = 0;

const highBits = 0x80808080 | 0;

/**
 * Whether one of the four bytes in `word` is a quote, a backslash or a control character. Subtracting a constant from a
 * byte sets the byte's highest bit if the byte is smaller than the constant. Before that, flipping one bit moves the
 * quote (0x22) next to the control characters, so that one subtraction detects both.
 */
export function hasSpecialByte(word: number): boolean {
  const flippedWord = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return (
    ((((flippedWord - 0x21212121) & ~flippedWord) | ((backslashes - 0x01010101) & ~backslashes)) &
      highBits) !==
    0
  );
}
