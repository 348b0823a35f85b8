/**
 * Removes the marks of Markdown that stand out in a line of plain text: bold, code, headings and quotes. A single `*` or
 * `_` stays, because it may be part of a formula or a name.
 */
export const removeMarkdownMarks = (text: string): string =>
  text.replaceAll(/\*\*|(?<!\w)__|__(?!\w)|`/g, "").replaceAll(/(^|\n) {0,3}(?:#{1,6}|>) +/g, "$1");
