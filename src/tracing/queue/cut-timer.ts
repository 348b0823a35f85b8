import { assertStackRoom } from "./stack-room.ts";

/**
 * When the open tape is to be cut: after a time, or at the next turn of the event loop, whichever was
 * asked for. No later call pushes either back. It holds no process: an idle program may end, and
 * lifecycle then flushes what is pending.
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
