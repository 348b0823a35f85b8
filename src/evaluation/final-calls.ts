import { SdkError } from "../main/index.ts";
import { describeError } from "./rows/deadline.ts";
import type { Warnings } from "./warnings.ts";

/**
 * Makes the requests at the end of an evaluation. Once a request has failed because the server is unavailable, later
 * requests are skipped, because each would first exhaust its retries. The evaluation still returns its result, because
 * all rows are in the journal, and adds a warning with what to do.
 */
export class FinalCalls {
  readonly #warnings: Warnings;
  #isServerUnavailable = false;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /** Whether a request failed because the server is unavailable. */
  get isServerUnavailable(): boolean {
    return this.#isServerUnavailable;
  }

  /** Calls `action`. Returns `undefined` if the server is unavailable, now or in an earlier call. */
  async runUnlessUnavailable<Result>(action: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#isServerUnavailable) {
      return undefined;
    }
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof SdkError && error.retryable)) {
        throw error;
      }
      this.#isServerUnavailable = true;
      this.#warnings.add(
        `The end of the experiment could not be stored (${describeError(error)}). All rows are in the journal: run the same evaluation again when the server is available. It sends what is missing, and does not call the target again for finished rows.`,
      );
      return undefined;
    }
  }
}
