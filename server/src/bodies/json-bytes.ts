/** Tables over bytes: 1 where the byte is of the kind. */
const tableOf = (characters: string): Uint8Array => {
  const table = new Uint8Array(256);
  for (const character of characters) {
    table[character.charCodeAt(0)] = 1;
  }
  return table;
};
/** What may follow a backslash, but for `u`. */
export const escapable = tableOf('"\\/bfnrt');
export const hexDigit = tableOf("0123456789abcdefABCDEF");
/** Bytes that stand for themselves inside a string. */
export const plain = new Uint8Array(256).fill(1, 0x20);
plain[0x22] = 0;
plain[0x5c] = 0;

const highBits = 0x80808080 | 0;

/**
 * Whether one of four bytes is a quote, a backslash or a control character. Each term finds a small
 * byte by the borrow that a subtraction takes from its highest bit; flipping one bit first makes the
 * quote the next after the control characters.
 */
export function hasSpecial(word: number): boolean {
  const low = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return (
    ((((low - 0x21212121) & ~low) | ((backslashes - 0x01010101) & ~backslashes)) & highBits) !== 0
  );
}
