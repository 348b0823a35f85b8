import type { RunStore } from "../run-store.ts";

/** When and how fast the sweeper works. */
export interface SweeperTimes {
  /** Milliseconds from the server's start to the first sweep, and from the end of a sweep to the next. */
  readonly sweepIntervalMs: number;
  /** The longest pause between two steps of a sweep, in milliseconds. */
  readonly maxPauseMs: number;
}

const defaultTimes: SweeperTimes = { sweepIntervalMs: 60_000, maxPauseMs: 1_000 };

/**
 * Deletes the runs that have expired under the retention rules. A sweep consists of small steps, each of which is a
 * write like any other. The pause after a step is as long as the step, up to `maxPauseMs`, so that other writes have
 * about half of the time, however many runs have expired. The timer does not keep the process alive. The server calls
 * `close` when it closes.
 */
export class RetentionSweeper {
  readonly #store: RunStore;
  readonly #times: SweeperTimes;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: RunStore, times: SweeperTimes = defaultTimes) {
    this.#store = store;
    this.#times = times;
    this.#schedule(null, times.sweepIntervalMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(fromProjectKey: string | null, delayMs: number): void {
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => void this.#step(fromProjectKey), delayMs);
      this.#timer.unref();
    }
  }

  async #step(fromProjectKey: string | null): Promise<void> {
    const { sweepIntervalMs, maxPauseMs } = this.#times;
    const startMs = performance.now();
    try {
      const { next } = await this.#store.write.retention.sweep(Date.now() * 1_000, fromProjectKey);
      const pauseMs = Math.min(maxPauseMs, Math.ceil(performance.now() - startMs));
      this.#schedule(next, next === null ? sweepIntervalMs : pauseMs);
    } catch (cause) {
      // The disk may be full, or the writer thread may have ended. The next sweep tries again.
      process.emitWarning(
        `expired runs could not be deleted, next attempt in ${sweepIntervalMs / 1_000} s: ${String(cause)}`,
      );
      this.#schedule(null, sweepIntervalMs);
    }
  }
}
