/**
 * Adapts the number of rows that one step of a deletion deletes. A step that failed is repeated with fewer rows,
 * because on a nearly full disk the write-ahead log of a step must fit into the remaining space.
 */
export class StepSize {
  #fraction = 1;

  limitRows(maxRows: number): number {
    return Math.max(1, Math.floor(maxRows * this.#fraction));
  }

  /** Must be called when a step failed because it was too large. */
  shrink(): void {
    this.#fraction = Math.max(1 / 4_096, this.#fraction / 4);
  }

  /** Must be called after a successful step: lets the next one delete more rows, up to the maximum. */
  grow(): void {
    this.#fraction = Math.min(1, this.#fraction * 2);
  }
}
