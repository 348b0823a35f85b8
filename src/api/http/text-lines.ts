/**
 * Splits a stream of text into lines and drops the empty ones. For each chunk, yields the lines that end in that chunk.
 */
export async function* splitIntoLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Parts of the current line. They are joined only when the line ends, because a line can span many chunks. */
  let lineParts: string[] = [];
  for await (const chunk of chunks) {
    const [first = "", ...furtherLines] = decoder.decode(chunk, { stream: true }).split(/\r?\n/);
    lineParts.push(first);
    const unfinishedLine = furtherLines.pop();
    if (unfinishedLine !== undefined) {
      yield [lineParts.join(""), ...furtherLines].map(stripCarriageReturn).filter(isNotEmpty);
      lineParts = [unfinishedLine];
    }
  }
  lineParts.push(decoder.decode());
  yield [lineParts.join("")].map(stripCarriageReturn).filter(isNotEmpty);
}

/**
 * Removes a carriage return at the end of a line. It remains there if a chunk ended between the two characters `\r\n`.
 */
const stripCarriageReturn = (line: string): string =>
  line.endsWith("\r") ? line.slice(0, -1) : line;

const isNotEmpty = (line: string): boolean => line !== "";
