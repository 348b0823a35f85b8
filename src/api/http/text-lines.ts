/** The lines of a text that comes in pieces, less the empty ones; as many at a time as a piece completes. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Pieces of a line that has not ended: joined once, as one may be long. */
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const [first = "", ...rest] = decoder.decode(chunk, { stream: true }).split(/\r?\n/);
    begun.push(first);
    const last = rest.pop();
    if (last !== undefined) {
      yield [begun.join(""), ...rest].map(withoutReturn).filter(isLine);
      begun = [last];
    }
  }
  begun.push(decoder.decode());
  yield [begun.join("")].map(withoutReturn).filter(isLine);
}

/** A carriage return that a piece ended with was not seen beside its line feed. */
const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

const isLine = (line: string): boolean => line !== "";
