/** Matches a link or an image. A line of plain text keeps only its text. */
const linkPattern = /!?\[(?<text>[^[\]\n]*)\]\([^()\s]*\)/g;
const emphasisPattern =
  /(?<![\w*])(?<mark>\*{1,3})(?=[^\s*])(?<text>[^*\n]*[^\s*])\k<mark>(?![\w*])/g;
/** Matches the `**` that begins a bold text whose end was cut off. */
const openBoldPattern = /(?<![\w*])\*\*(?=\w)/g;
const lineStartPattern = /(?<start>^|\n) {0,3}(?:#{1,6}|>) +/g;

/**
 * Removes the marks of Markdown that stand out in a line of plain text: emphasis, code, links, headings and quotes.
 * Underscores and single asterisks that may be parts of a name or a formula stay.
 */
export const removeMarkdownMarks = (text: string): string =>
  text
    .replaceAll(linkPattern, "$<text>")
    .replaceAll(emphasisPattern, "$<text>")
    .replaceAll(openBoldPattern, "")
    .replaceAll("`", "")
    .replaceAll(lineStartPattern, "$<start>");
