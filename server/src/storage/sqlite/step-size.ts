/**
 * Adapts the number of rows that a step of a deletion deletes. A step that failed is repeated with fewer rows, because
 * on a nearly full disk the log of a step must fit into the remaining space.
 */
export class StepSize {
  #fraction = 1;

  limitRows(maxRows: number): number {
    return Math.max(1, Math.floor(maxRows * this.#fraction));
  }

  /** Must be called when a step was too large. */
  shrink(): void {
    this.#fraction = Math.max(1 / 256, this.#fraction / 4);
  }

  /** Must be called when a step was written. The next one may be larger again. */
  grow(): void {
    this.#fraction = Math.min(1, this.#fraction * 2);
  }
}
