// Controls and formats: they change the direction of the text around them, or can't be seen. Line ends,
// tabs and the joiners that scripts and emoji are written with are harmless.
const hidden = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/**
 * A text from a run, as a page may show it: what would reorder or hide other text is written out, as
 * an escape.
 */
export const toVisibleText = (text: string): string => text.replace(hidden, toEscape);

function toEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
