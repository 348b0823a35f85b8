import { NextTurn } from "../../model/next-turn.ts";

/**
 * Schedules when the open tape (the buffer to which records are appended) is cut: it then gets no more records and is
 * sent. A recording call only requests a turn of the event loop, and that turn sets the timer. The timer is unref'd: an
 * idle program may end, and `delivery/lifecycle.ts` then flushes the pending records.
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

  /** Whether the open tape, to which records are appended, is to be cut and sent as soon as possible. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Whether the timer of the open tape (the one to which records are appended) was started, or the tape is due. */
  get isSet(): boolean {
    return this.#isSet;
  }

  requestTurn(): void {
    this.#turn.request();
  }

  /** Starts the timer after which the open tape is due to be sent, and clears the timer of an earlier tape. */
  setAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#makeDue(), delayMs);
    this.#timer.unref();
    this.#isSet = true;
  }

  /** Makes the open tape due now: as soon as possible, it gets no more records and is sent. */
  setDue(): void {
    this.#isSet = true;
    this.#isDue = true;
  }

  /** Call it when records go to a new tape from now on. The timer of the earlier tape may still run, without effect. */
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
