/**
 * A search text in two forms: as it occurs in names, and as it occurs in JSON, where some characters are escaped.
 */
export interface SearchTexts {
  readonly plain: string;
  readonly escaped: string;
}

/** Returns both forms of a search text, in lower case. */
export const toSearchTexts = (text: string): SearchTexts => ({
  plain: lowerAscii(text),
  escaped: lowerAscii(JSON.stringify(text).slice(1, -1)),
});

/** Converts only ASCII letters to lower case, as SQLite's lower() does. */
export const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
