/** Parses JSON Lines that arrive in chunks of any size. */
export class JsonLineReader {
  /**
   * The pieces of the incomplete line. They are joined only when the line is complete, so that a long line is not
   * copied for each piece.
   */
  #pieces: string[] = [];

  /** Whether the text so far ends within a line. */
  get isWithinLine(): boolean {
    return this.#pieces.some((piece) => piece !== "");
  }

  /** Adds a chunk and returns the values of the lines that it completes. @throws SyntaxError a line is not JSON. */
  read(text: string): readonly unknown[] {
    const parts = text.split("\n");
    const incompleteLine = parts.pop() ?? "";
    if (parts.length === 0) {
      this.#pieces.push(incompleteLine);
      return [];
    }
    const [end = "", ...lines] = parts;
    const completed = [this.#pieces.join("") + end, ...lines];
    this.#pieces = [incompleteLine];
    return completed.map((line): unknown => JSON.parse(line));
  }
}
