/**
 * How much of what a step of a deletion may take it does take. One that failed is tried again with less: on a disk
 * that is nearly full a step has to fit into what room its log has.
 */
export class StepSize {
  #share = 1;

  rowsOf(most: number): number {
    return Math.max(1, Math.floor(most * this.#share));
  }

  /** A step was too large. */
  shrink(): void {
    this.#share = Math.max(1 / 256, this.#share / 4);
  }

  /** A step was written: the next may be larger again. */
  grow(): void {
    this.#share = Math.min(1, this.#share * 2);
  }
}
