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

  /** The open tape is old enough to be cut as soon as a slot is free. */
  get isDue(): boolean {
    return this.#isDue;
  }

  get isSet(): boolean {
    return this.#timer !== undefined || this.#isDue;
  }

  setAfter(delayMs: number): void {
    // Node's own lists of timers must not be broken off in the middle.
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

  /** The open tape is a new one. */
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
