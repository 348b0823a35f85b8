/**
 * A write that is done in slices, between which others write: what a method of a resource returns in place of
 * its result. What is written is seen with the last slice; of a deletion what is gone already may be missed before.
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

  /** Performs all of it at once, in the transaction of the caller: for programs without other requests. */
  finish(): Result {
    let step = this.steps.next();
    while (step.done !== true) {
      step = this.steps.next();
    }
    return step.value;
  }
}

function* undoNothing(): Generator<void, void> {}
