import type { RunStore } from "../run-store.ts";

export interface SweeperTimes {
  /** From the start, and from one end of a sweep to the next. */
  readonly restMs: number;
  /** Between the steps of a sweep: what arrives has the writer meanwhile. */
  readonly pauseMs: number;
}

const usualTimes: SweeperTimes = { restMs: 60_000, pauseMs: 100 };

/**
 * Deletes runs that no rule of retention keeps: in small steps, each a write like any other, with
 * pauses between them. Holds no process; ends when the server closes.
 */
export class Sweeper {
  readonly #store: RunStore;
  readonly #times: SweeperTimes;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(store: RunStore, times: SweeperTimes = usualTimes) {
    this.#store = store;
    this.#times = times;
    this.#wait(null, times.restMs);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #wait(from: string | null, delayMs: number): void {
    if (!this.#ended) {
      this.#timer = setTimeout(() => void this.#step(from), delayMs);
      this.#timer.unref();
    }
  }

  async #step(from: string | null): Promise<void> {
    const { restMs, pauseMs } = this.#times;
    try {
      const { next } = await this.#store.write.retention.sweep(Date.now() * 1_000, from);
      this.#wait(next, next === null ? restMs : pauseMs);
    } catch (cause) {
      // A full disk, or the writer is gone: runs stay for longer, and the next sweep tries again.
      process.emitWarning(`old runs could not be deleted: ${String(cause)}`);
      this.#wait(null, restMs);
    }
  }
}
