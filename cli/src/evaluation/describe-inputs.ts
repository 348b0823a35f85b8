/** Maximum length of the text that {@link describeInputs} returns. */
const maxLength = 80;

/**
 * Returns the beginning of a row's inputs as JSON on one line. Characters that could move the terminal's cursor are
 * escaped.
 */
export function describeInputs(inputs: unknown): string {
  const text = JSON.stringify(inputs) ?? "";
  const shown =
    text.length > maxLength
      ? // The text must not end with half of a surrogate pair.
        `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`
      : text;
  return shown.replaceAll(
    // JSON escapes only the first 32 control characters. The direction marks would reorder the text of the line.
    /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
