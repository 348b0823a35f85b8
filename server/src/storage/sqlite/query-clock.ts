import { performance } from "node:perf_hooks";
import { RequestError } from "../../model/errors.ts";

/** How long a query may take, and what ends it before. */
export interface QueryLimit {
  readonly durationMs: number;
  /** Set to anything but 0, by any thread, it ends the query: its client left, or the server closes. */
  readonly ended?: Int32Array<SharedArrayBuffer>;
}

/**
 * A condition that is always true, and ends its query beyond the limit: for the statement that
 * passes many rows, with a number that differs from row to row. It reads the clock for one row of 64: the
 * function costs 0.05 to 0.3 µs a call, what stands before it 0.03. Rows are chosen by a hash, so that
 * no regular choice of rows escapes it.
 */
export const withinDeadline = (rowNumber: string): string =>
  `(((${rowNumber}) * 40503 >> 7) & 63 OR within_deadline())`;

/** The same for a statement that reads much for each row, such as a payload: it asks the clock every time. */
export const withinDeadlineEachTime = (rowNumber: string): string =>
  `(${rowNumber} IS NULL OR within_deadline())`;

/** Decides whether the query of a connection may continue. Deadlines of reads depend on it, as the SQLite engines can't be interrupted. */
export class QueryClock {
  #limit: QueryLimit | undefined;
  #untilMs = Number.POSITIVE_INFINITY;
  #failure: RequestError | undefined;

  /** What `within_deadline()` does: 1, or it throws. */
  check(): number {
    if (this.#limit === undefined) {
      return 1;
    }
    this.#failure ??= this.#findFailure(this.#limit);
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    return 1;
  }

  limited<Result>(limit: QueryLimit, read: () => Result): Result {
    this.#limit = limit;
    this.#untilMs = performance.now() + limit.durationMs;
    this.#failure = undefined;
    try {
      this.check();
      return read();
    } catch (cause) {
      // An engine may wrap what a function of ours throws.
      throw this.#failure ?? cause;
    } finally {
      this.#limit = undefined;
    }
  }

  #findFailure({ durationMs, ended }: QueryLimit): RequestError | undefined {
    if (ended !== undefined && Atomics.load(ended, 0) !== 0) {
      return new RequestError(
        503,
        "the query was ended: its client left, or the server is closing",
      );
    }
    return performance.now() > this.#untilMs
      ? new RequestError(
          408,
          `the query took longer than ${durationMs} ms and was ended: narrow it, by time or by project`,
        )
      : undefined;
  }
}
