/**
 * A write that is performed in slices, between which other writes run. A repository method returns it in place of
 * its result. New data becomes visible with the last slice, but while a deletion is under way, some of the data may
 * already be missing.
 */
export class LongWrite<Result> {
  /** Yields wherever a slice may end; everything written up to that point is then committed. */
  readonly steps: Generator<void, Result>;
  /** Reverts what earlier slices have committed, also in slices. Called when a later slice fails. */
  readonly undo: () => Generator<void, void>;

  constructor(steps: Generator<void, Result>, undo: () => Generator<void, void> = undoNothing) {
    this.steps = steps;
    this.undo = undo;
  }

  /** Performs all slices at once, in the caller's transaction. For programs that serve no other requests. */
  finish(): Result {
    let step = this.steps.next();
    while (step.done !== true) {
      step = this.steps.next();
    }
    return step.value;
  }
}

function* undoNothing(): Generator<void, void> {}
