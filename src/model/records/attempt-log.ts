import type { SdkError } from "../errors.ts";

/** The state of a call of which an attempt has failed. */
export interface AttemptState {
  /** Why the last attempt that ended has failed. */
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
  #started = 0;
  #withoutEffect = 0;
  #lastState: AttemptState | undefined;

  constructor(report: (state: AttemptState) => void) {
    this.#report = report;
  }

  /** Counts an attempt that begins. Reports it if all attempts before it had no effect, because this one may have one. */
  start(): void {
    this.#started += 1;
    if (this.#lastState?.mayHaveTakenEffect === false) {
      this.#change(this.#lastState.error);
    }
  }

  /** An attempt has failed. */
  fail(error: SdkError, { mayHaveTakenEffect }: Pick<AttemptState, "mayHaveTakenEffect">): void {
    this.#withoutEffect += mayHaveTakenEffect ? 0 : 1;
    this.#change(error);
  }

  #change(error: SdkError): void {
    this.#lastState = { error, mayHaveTakenEffect: this.#started > this.#withoutEffect };
    this.#report(this.#lastState);
  }
}
