/** Time between two progress reports, in milliseconds. */
const reportIntervalMs = 250;

/** Reports the progress of an upload at intervals until it ends. */
export class ProgressReporter {
  readonly #report: () => void;
  readonly #ending = new AbortController();
  #reportedAt = performance.now();

  constructor(report: () => void) {
    this.#report = report;
  }

  /** A signal that is aborted when the upload ends. */
  get endSignal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Reports progress if the last report is old enough. */
  reportIfDue(): void {
    const now = performance.now();
    if (now - this.#reportedAt >= reportIntervalMs) {
      this.#reportedAt = now;
      this.#report();
    }
  }

  /** Aborts `endSignal` and reports progress one last time. A second call has no effect. */
  end(): void {
    if (!this.#ending.signal.aborted) {
      this.#ending.abort();
      this.#report();
    }
  }
}
