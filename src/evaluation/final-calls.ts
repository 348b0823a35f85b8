import { SdkError } from "../main/index.ts";
import { describeError } from "./rows/deadline.ts";
import type { Warnings } from "./warnings.ts";

/**
 * Calls the server at the end of an evaluation. Once the server does not answer, later calls are skipped: each would take as long
 * as its attempts. The evaluation still has its result, because all rows are in the journal, and a warning says what to do.
 */
export class FinalCalls {
  readonly #warnings: Warnings;
  #isAway = false;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /** Whether a call was not answered. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Calls `action`. Returns `undefined` if the server does not answer, or did not answer an earlier call. */
  async unlessAway<Result>(action: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#isAway) {
      return undefined;
    }
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof SdkError && error.retryable)) {
        throw error;
      }
      this.#isAway = true;
      this.#warnings.add(
        `The end of the experiment could not be stored (${describeError(error)}). All rows are in the journal: run the same evaluation again when the server answers. It sends what is missing, and calls the target for no finished row.`,
      );
      return undefined;
    }
  }
}
