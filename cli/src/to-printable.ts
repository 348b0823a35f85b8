/**
 * Makes a text from another source safe to print: replaces control characters, which could move the cursor, by spaces,
 * and truncates the text to `maxLength` characters.
 */
export function toPrintable(text: string, maxLength = 200): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}
