/** Between two reports of progress. */
const tickMs = 250;

/** When an upload reports, and how it waits. */
export class Pace {
  readonly #report: () => void;
  readonly #ended = new AbortController();
  #reportedAt = performance.now();

  constructor(report: () => void) {
    this.#report = report;
  }

  /** Aborted by the end. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Something went on. */
  tick(): void {
    const now = performance.now();
    if (now - this.#reportedAt >= tickMs) {
      this.#reportedAt = now;
      this.#report();
    }
  }

  /** Keeps the process alive, as an upload is awaited. Ends early when the upload ends. */
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

  /** The last report, whenever it is; waits end. Called again it does nothing. */
  end(): void {
    if (!this.#ended.signal.aborted) {
      this.#ended.abort();
      this.#report();
    }
  }
}
