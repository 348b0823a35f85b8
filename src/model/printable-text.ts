/**
 * What moves a terminal's cursor, ends a line of a log or turns the direction of a text: controls, the
 * separators of lines and paragraphs, marks of direction. Half of a surrogate pair is no character.
 */
const unprintable = /[\p{Cc}\p{Surrogate}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/gu;

/** Longest text of an error or of a log line, in UTF-16 units. */
const longest = 8_192;

/** A text as one line that can be shown anywhere: what can't is escaped, what is too long is cut. */
export const toPrintable = (text: string, limit = longest): string =>
  (text.length > limit ? `${text.slice(0, limit)}…` : text).replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
