// Control and format characters, which are invisible or change the direction of the text around them. Line
// ends, tabs and the joiners that some scripts and emoji need are allowed.
const hiddenCharacters = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/**
 * Makes an untrusted text safe to display: characters that would reorder or hide other text are replaced by
 * escapes such as `\u202e`.
 */
export const toVisibleText = (text: string): string => text.replace(hiddenCharacters, toEscape);

function toEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
