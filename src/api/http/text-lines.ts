/**
 * Splits a stream of JSON Lines into lines and drops the empty ones. For each chunk, yields the lines that end in that
 * chunk.
 */
export async function* splitIntoLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  for await (const lines of splitAtLineFeeds(chunks)) {
    yield lines.map(stripCarriageReturn).filter(isNotEmpty);
  }
}

/**
 * Splits a stream of CSV into lines. A quoted cell can contain line breaks, so a row may span several lines, and an
 * empty line may be part of a cell. A carriage return at the end of a line is removed only outside of quotes, where the
 * line break ends a row. For each chunk, yields the lines that end in that chunk.
 */
export async function* splitCsvIntoLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  let isInQuotes = false;
  for await (const lines of splitAtLineFeeds(chunks)) {
    yield lines.map((line) => {
      // A quote inside a cell is written as two quotes, which leave the state as it is.
      isInQuotes = isInQuotes !== hasOddQuotes(line);
      return isInQuotes ? line : stripCarriageReturn(line);
    });
  }
}

/** Splits a stream of text at `\n`. After a `\n` at the end of the text, no empty line follows. */
async function* splitAtLineFeeds(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Parts of the current line. They are joined only when the line ends, because a line can span many chunks. */
  let lineParts: string[] = [];
  for await (const chunk of chunks) {
    const [first = "", ...furtherLines] = decoder.decode(chunk, { stream: true }).split("\n");
    lineParts.push(first);
    const unfinishedLine = furtherLines.pop();
    if (unfinishedLine !== undefined) {
      yield [lineParts.join(""), ...furtherLines];
      lineParts = [unfinishedLine];
    }
  }
  lineParts.push(decoder.decode());
  const lastLine = lineParts.join("");
  if (lastLine !== "") {
    yield [lastLine];
  }
}

const stripCarriageReturn = (line: string): string =>
  line.endsWith("\r") ? line.slice(0, -1) : line;

const isNotEmpty = (line: string): boolean => line !== "";

function hasOddQuotes(line: string): boolean {
  let isOdd = false;
  for (let index = line.indexOf('"'); index !== -1; index = line.indexOf('"', index + 1)) {
    isOdd = !isOdd;
  }
  return isOdd;
}
