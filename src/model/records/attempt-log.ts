import type { SdkError } from "../errors.ts";

/** The state of a call after at least one of its attempts has failed. */
export interface AttemptState {
  /** The error of the attempt that failed last. */
  readonly error: SdkError;
  /** Whether the server may have acted on a request of the call: one was sent, or may be in flight. */
  readonly mayHaveTakenEffect: boolean;
}

/**
 * Counts the attempts of one call, which may consist of several requests, and reports each change of its state. It
 * reports nothing before an attempt fails, so that a call that succeeds at once has no cost.
 */
export class AttemptLog {
  readonly #report: (state: AttemptState) => void;
  #startedAttempts = 0;
  #attemptsWithoutEffect = 0;
  #lastState: AttemptState | undefined;

  constructor(report: (state: AttemptState) => void) {
    this.#report = report;
  }

  /**
   * Counts an attempt that begins. Reports the new state if no earlier attempt can have had an effect: this one may.
   */
  start(): void {
    this.#startedAttempts += 1;
    if (this.#lastState?.mayHaveTakenEffect === false) {
      this.#change(this.#lastState.error);
    }
  }

  /** Counts a failed attempt, and reports the new state. */
  fail(error: SdkError, { mayHaveTakenEffect }: Pick<AttemptState, "mayHaveTakenEffect">): void {
    this.#attemptsWithoutEffect += mayHaveTakenEffect ? 0 : 1;
    this.#change(error);
  }

  #change(error: SdkError): void {
    this.#lastState = {
      error,
      mayHaveTakenEffect: this.#startedAttempts > this.#attemptsWithoutEffect,
    };
    this.#report(this.#lastState);
  }
}
