/** What to look for in names, and in JSON texts, where some characters are written as escapes. */
export interface Needles {
  readonly plain: string;
  readonly escaped: string;
}

/** The needles of a search text, in lower case. */
export const toNeedles = (text: string): Needles => ({
  plain: lowerAscii(text),
  escaped: lowerAscii(JSON.stringify(text).slice(1, -1)),
});

/** As SQLite's lower() has it. */
const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
