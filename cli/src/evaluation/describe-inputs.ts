/** Length of the text that is shown of inputs. */
const maxLength = 80;

/** The beginning of a row's inputs as JSON on one line, without characters that could move the terminal's cursor. */
export function describeInputs(inputs: unknown): string {
  const text = JSON.stringify(inputs) ?? "";
  const shown =
    text.length > maxLength
      ? // A cut must not leave half of a character.
        `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`
      : text;
  return shown.replaceAll(
    // JSON escapes the other control characters itself. Marks of direction would reorder the line.
    /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
