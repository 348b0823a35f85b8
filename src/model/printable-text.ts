/**
 * Characters that move a terminal's cursor, break a log line or change the direction of text:
 * control characters, line and paragraph separators, direction marks, and lone surrogates.
 */
const unprintableCharacters =
  /[\p{Cc}\p{Surrogate}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/gu;

/** Maximum length of a text in an error or a log line, in UTF-16 code units. */
const maxLength = 8_192;

/**
 * Converts a text to one line that is safe to display: unprintable characters are escaped, and text
 * that is too long is truncated.
 */
export const toPrintable = (text: string, limit = maxLength): string =>
  (text.length > limit ? `${text.slice(0, limit)}…` : text).replace(
    unprintableCharacters,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
