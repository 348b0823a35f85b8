/** Time between two progress reports, milliseconds. */
const reportIntervalMs = 250;

/** Reports the progress of an upload at intervals, and waits until the upload has ended. */
export class Pace {
  readonly #report: () => void;
  readonly #ended = new AbortController();
  #reportedAt = performance.now();

  constructor(report: () => void) {
    this.#report = report;
  }

  /** Aborted when the upload ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Reports progress if the last report is old enough. */
  tick(): void {
    const now = performance.now();
    if (now - this.#reportedAt >= reportIntervalMs) {
      this.#reportedAt = now;
      this.#report();
    }
  }

  /** Waits for `delayMs`, or less if the upload ends. The timer keeps the process alive. */
  async wait(delayMs: number): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) {
      return;
    }
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", finish);
        resolve();
      };
      const timer = setTimeout(finish, delayMs);
      signal.addEventListener("abort", finish);
    });
  }

  /** Ends all waits and reports progress a last time. A second call has no effect. */
  end(): void {
    if (!this.#ended.signal.aborted) {
      this.#ended.abort();
      this.#report();
    }
  }
}
