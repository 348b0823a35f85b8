import type { RunStore } from "../run-store.ts";

export interface SweeperTimes {
  /** Milliseconds from the server's start to the first sweep, and from the end of a sweep to the next one. */
  readonly restMs: number;
  /** Milliseconds between the steps of a sweep, during which the writer serves other requests. */
  readonly pauseMs: number;
}

const defaultTimes: SweeperTimes = { restMs: 60_000, pauseMs: 100 };

/**
 * Deletes runs that no retention rule keeps any more. It works in small steps with pauses between them, and each
 * step is a write like any other. The timer does not keep the process alive. The server calls `end` when it closes.
 */
export class Sweeper {
  readonly #store: RunStore;
  readonly #times: SweeperTimes;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(store: RunStore, times: SweeperTimes = defaultTimes) {
    this.#store = store;
    this.#times = times;
    this.#schedule(null, times.restMs);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #schedule(from: string | null, delayMs: number): void {
    if (!this.#ended) {
      this.#timer = setTimeout(() => void this.#step(from), delayMs);
      this.#timer.unref();
    }
  }

  async #step(from: string | null): Promise<void> {
    const { restMs, pauseMs } = this.#times;
    try {
      const { next } = await this.#store.write.retention.sweep(Date.now() * 1_000, from);
      this.#schedule(next, next === null ? restMs : pauseMs);
    } catch (cause) {
      // The disk may be full, or the writer thread may have ended. The runs stay until the next sweep.
      process.emitWarning(
        `expired runs could not be deleted, next attempt in ${restMs / 1_000} s: ${String(cause)}`,
      );
      this.#schedule(null, restMs);
    }
  }
}
