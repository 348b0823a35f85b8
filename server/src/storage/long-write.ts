/**
 * A write that is performed in slices, between which other writes run. A repository method returns a long write, or a
 * promise of one, in place of the result of the write, and callers of the store receive only that result (see
 * {@link WithLongWrites}). Long writes concern only runs and examples, whose SQL is written separately for each engine.
 * SQLite performs the statements of a slice synchronously, because a slice is one transaction and its duration decides
 * where it ends; PostgreSQL awaits them. New data becomes visible with the last slice, but while a deletion is under
 * way, some of the data may already be missing.
 */
export class LongWrite<Result> {
  /** Yields wherever a slice may end; everything written up to that point is then committed. */
  readonly steps: Generator<void, Result>;
  /** Reverts, in slices too, what earlier slices have committed. Called when a later slice fails. */
  readonly undo: () => Generator<void, void>;
  /** The slices for an engine whose statements are asynchronous. If this is set, `steps` is not used. */
  readonly asyncSteps: AsyncGenerator<void, Result> | undefined;

  constructor(
    steps: Generator<void, Result>,
    undo: () => Generator<void, void> = undoNothing,
    asyncSteps?: AsyncGenerator<void, Result>,
  ) {
    this.steps = steps;
    this.undo = undo;
    this.asyncSteps = asyncSteps;
  }

  /**
   * A long write whose statements are asynchronous, for PostgreSQL. Each slice is a transaction of its own, so a
   * failure leaves what earlier slices have committed: only deletions, which can be repeated, may have several slices.
   */
  static createAsync<Result>(steps: AsyncGenerator<void, Result>): LongWrite<Result> {
    return new LongWrite<Result>(refuseSync(), undoNothing, steps);
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
 * The methods of a resource as a storage engine implements them: the methods in `Names` resolve to a long write
 * instead of to the result of the write.
 */
export type WithLongWrites<Writes, Names extends keyof Writes> = {
  readonly [Name in keyof Writes]: Writes[Name] extends (
    ...args: infer Args
  ) => Promise<infer Result>
    ? (...args: Args) => Promise<Name extends Names ? LongWrite<Result> : Result>
    : never;
};

function* undoNothing(): Generator<void, void> {}

// oxlint-disable-next-line require-yield -- it throws at its first step
function* refuseSync<Result>(): Generator<void, Result> {
  throw new Error("this long write has asynchronous slices, which SQLite can't perform");
}
