/**
 * A write that is performed in slices, between which other writes run. A repository method returns it in place of its
 * result, or a promise of it: callers see only the result ({@link WithLongWrites}). The statements of a slice are
 * synchronous, because a slice is one transaction and its duration decides where it ends; long writes concern runs and
 * examples, whose SQL is written separately for each engine. New data becomes visible with the last slice, but while a
 * deletion is under way, some of the data may already be missing.
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

  /** Performs all slices at once, in the caller's transaction. Used by programs that serve no other requests. */
  finish(): Result {
    let step = this.steps.next();
    while (step.done !== true) {
      step = this.steps.next();
    }
    return step.value;
  }
}

/**
 * The methods of a resource as its engine implements them: the named methods resolve to a long write instead of its
 * result.
 */
export type WithLongWrites<Writes, Names extends keyof Writes> = {
  readonly [Name in keyof Writes]: Writes[Name] extends (
    ...args: infer Args
  ) => Promise<infer Result>
    ? (...args: Args) => Promise<Name extends Names ? LongWrite<Result> : Result>
    : never;
};

function* undoNothing(): Generator<void, void> {}
