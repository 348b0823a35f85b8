/**
 * Adapts the number of rows that a step of a deletion deletes. A step that failed is repeated with fewer rows: on a
 * nearly full disk, the log of a step must fit into the remaining space.
 */
export class StepSize {
  #fraction = 1;

  rowsOf(maxRows: number): number {
    return Math.max(1, Math.floor(maxRows * this.#fraction));
  }

  /** Called when a step was too large. */
  shrink(): void {
    this.#fraction = Math.max(1 / 256, this.#fraction / 4);
  }

  /** Called when a step was written. The next one may be larger again. */
  grow(): void {
    this.#fraction = Math.min(1, this.#fraction * 2);
  }
}
