import { assertStackRoom } from "./stack-room.ts";

/**
 * Schedules the cut of the open tape: after a time, or at the next turn of the event loop. A later call never
 * postpones it. The timers are unref'd: an idle program may end, and `delivery/lifecycle.ts` then flushes what is pending.
 */
export class CutTimer {
  readonly #onDue: () => void;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #isDue = false;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Whether the delay has elapsed, so that the open tape is cut as soon as a slot is free. */
  get isDue(): boolean {
    return this.#isDue;
  }

  get isSet(): boolean {
    return this.#timer !== undefined || this.#isDue;
  }

  setAfter(delayMs: number): void {
    // A stack overflow inside `setTimeout` could leave Node's internal timer lists inconsistent.
    assertStackRoom();
    this.#timer = setTimeout(() => this.#fire(), delayMs);
    this.#timer.unref();
  }

  setNextTurn(): void {
    if (this.#immediate === undefined) {
      assertStackRoom();
      this.#immediate = setImmediate(() => this.#fire());
      this.#immediate.unref();
    }
  }

  /** Clears both timers. Call it when a new tape is opened. */
  reset(): void {
    this.#isDue = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
  }

  #fire(): void {
    this.reset();
    this.#isDue = true;
    this.#onDue();
  }
}
