/**
 * A write that is done in slices, between which others write: what a method of a noun returns in place of
 * its result. Until its last slice nothing that it has written may be seen.
 */
export class LongWrite<Result> {
  /** Yields wherever a slice may end: what was written up to there is committed then. */
  readonly steps: Generator<void, Result>;
  /** Takes back what earlier slices have committed, in slices too; called when a later one fails. */
  readonly undo: () => Generator<void, void>;

  constructor(steps: Generator<void, Result>, undo: () => Generator<void, void> = undoNothing) {
    this.steps = steps;
    this.undo = undo;
  }
}

function* undoNothing(): Generator<void, void> {}
