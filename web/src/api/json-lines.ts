/** Parses JSON Lines that arrive in chunks of any size. */
export class JsonLineReader {
  /**
   * The chunks of the incomplete line. They are joined only when the line is complete, so that a long line is not
   * copied for each chunk.
   */
  #pieces: string[] = [];

  /** Whether the text so far ends within a line. */
  get isWithinLine(): boolean {
    return this.#pieces.some((piece) => piece !== "");
  }

  /** Adds a chunk and returns the values of the lines that it completes. @throws SyntaxError a line is not JSON. */
  read(text: string): readonly unknown[] {
    const parts = text.split("\n");
    const rest = parts.pop() ?? "";
    if (parts.length === 0) {
      this.#pieces.push(rest);
      return [];
    }
    const [end = "", ...lines] = parts;
    const completed = [this.#pieces.join("") + end, ...lines];
    this.#pieces = [rest];
    return completed.map((line): unknown => JSON.parse(line));
  }
}
