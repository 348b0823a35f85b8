/** Splits a stream of text into lines and drops the empty ones. Yields the lines that each chunk completes. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Parts of the line that has not ended yet. They are joined only at its end: a line can span many chunks. */
  let lineParts: string[] = [];
  for await (const chunk of chunks) {
    const [first = "", ...rest] = decoder.decode(chunk, { stream: true }).split(/\r?\n/);
    lineParts.push(first);
    const last = rest.pop();
    if (last !== undefined) {
      yield [lineParts.join(""), ...rest].map(stripCarriageReturn).filter(isNotEmpty);
      lineParts = [last];
    }
  }
  lineParts.push(decoder.decode());
  yield [lineParts.join("")].map(stripCarriageReturn).filter(isNotEmpty);
}

/**
 * Removes a trailing carriage return: the split above misses a line end whose two characters are in different
 * chunks.
 */
const stripCarriageReturn = (line: string): string =>
  line.endsWith("\r") ? line.slice(0, -1) : line;

const isNotEmpty = (line: string): boolean => line !== "";
