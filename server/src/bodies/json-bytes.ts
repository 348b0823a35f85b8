/** Creates a lookup table of bytes: 1 for each of the characters, 0 for all others. */
const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256);
  for (const character of characters) {
    table[character.charCodeAt(0)] = 1;
  }
  return table;
};
/** Characters that may follow a backslash, except `u`. */
export const escapable = tableOf('"\\/bfnrt');
export const hexDigit = tableOf("0123456789abcdefABCDEF");
/** Bytes that may occur in a string without an escape. */
export const plain = new Uint8Array(256).fill(1, 0x20);
plain[0x22] = 0;
plain[0x5c] = 0;

const highBits = 0x80808080 | 0;

/**
 * Whether one of the four bytes in `word` is a quote, a backslash or a control character. Each term detects a small
 * byte by the borrow that a subtraction takes from the byte's highest bit. Flipping one bit first maps the quote right
 * after the control characters.
 */
export function hasSpecial(word: number): boolean {
  const low = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return (
    ((((low - 0x21212121) & ~low) | ((backslashes - 0x01010101) & ~backslashes)) & highBits) !== 0
  );
}
