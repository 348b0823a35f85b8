import { NextTurn } from "../../model/next-turn.ts";

/**
 * Schedules the cut of the open tape. A recording call only requests a turn of the event loop, and that turn sets the
 * timer. The timer is unref'd: an idle program may end, and `delivery/lifecycle.ts` then flushes what is pending.
 */
export class CutTimer {
  readonly #turn: NextTurn;
  readonly #onDue: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isSet = false;
  #isDue = false;

  /** Calls `onTurn` in a requested turn, and `onDue` when the delay is over. */
  constructor(onTurn: () => void, onDue: () => void) {
    this.#turn = new NextTurn(onTurn);
    this.#onDue = onDue;
  }

  /** Whether the open tape is to be cut as soon as it can be sent. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Whether the open tape has a timer, or is due. */
  get isSet(): boolean {
    return this.#isSet;
  }

  requestTurn(): void {
    this.#turn.request();
  }

  /** Sets the timer of the open tape, and clears that of an earlier tape. */
  setAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#makeDue(), delayMs);
    this.#timer.unref();
    this.#isSet = true;
  }

  /** Makes the open tape due now, so that it is cut as soon as it can be sent. */
  setDue(): void {
    this.#isSet = true;
    this.#isDue = true;
  }

  /** Call it when a new tape is opened. The timer of the earlier tape may still run, but it has no effect. */
  restart(): void {
    this.#isSet = false;
    this.#isDue = false;
  }

  /** Cancels the timer and the requested turn. */
  cancel(): void {
    this.restart();
    this.#turn.cancel();
    clearTimeout(this.#timer);
  }

  #makeDue(): void {
    if (this.#isSet) {
      this.#isDue = true;
      this.#onDue();
    }
  }
}
