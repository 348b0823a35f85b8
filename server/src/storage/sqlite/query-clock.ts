import { performance } from "node:perf_hooks";
import { RequestError } from "../../model/errors.ts";

export interface QueryLimit {
  readonly durationMs: number;
  /**
   * Any thread can set this flag to a value other than 0, for example because the client disconnected. The query then
   * ends.
   */
  readonly cancelFlag?: Int32Array<SharedArrayBuffer>;
}

/**
 * Returns an SQL condition that is always true, and that aborts its query when the limit is exceeded. Use it in
 * statements that read many rows. `rowNumber` must differ from row to row. The clock is read for one row in 64,
 * because calling the function costs 0.05 to 0.3 µs, but deciding whether to call it only 0.03 µs. A hash of the row
 * number decides, so that no regular pattern of row numbers skips all calls.
 */
export const withinDeadlineSql = (rowNumber: string): string =>
  `(((${rowNumber}) * 40503 >> 7) & 63 OR within_deadline())`;

/**
 * Like {@link withinDeadlineSql}, but reads the clock for each row. Use it in statements that read much data per row,
 * such as payloads.
 */
export const withinDeadlineEachTimeSql = (rowNumber: string): string =>
  `(${rowNumber} IS NULL OR within_deadline())`;

/**
 * Decides whether the query of a connection may continue. Time limits of queries depend on this check, because the
 * SQLite packages for Node can't interrupt a query.
 */
export class QueryClock {
  #limit: QueryLimit | undefined;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #failure: RequestError | undefined;

  /** Implements the SQL function `within_deadline()`: returns 1, or throws. */
  checkLimit(): number {
    if (this.#limit === undefined) {
      return 1;
    }
    this.#failure ??= this.#findFailure(this.#limit);
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    return 1;
  }

  async runLimited<Result>(
    limit: QueryLimit,
    read: () => Result | Promise<Result>,
  ): Promise<Result> {
    this.#limit = limit;
    this.#deadlineMs = performance.now() + limit.durationMs;
    this.#failure = undefined;
    try {
      this.checkLimit();
      return await read();
    } catch (cause) {
      // SQLite may wrap an error that the SQL function throws, so throw the original error.
      throw this.#failure ?? cause;
    } finally {
      this.#limit = undefined;
    }
  }

  #findFailure({ durationMs, cancelFlag }: QueryLimit): RequestError | undefined {
    if (cancelFlag !== undefined && Atomics.load(cancelFlag, 0) !== 0) {
      return new RequestError(
        503,
        "the query was canceled: its client disconnected, or the server is closing",
      );
    }
    return performance.now() > this.#deadlineMs
      ? new RequestError(
          408,
          `the query took longer than ${durationMs} ms and was canceled: restrict it to a shorter time or one project`,
        )
      : undefined;
  }
}
