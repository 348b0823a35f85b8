/**
 * Runs an action in the next turn of the event loop, once for all requests before that turn.
 *
 * A call that records a run starts its follow-up work (sending, timers, log messages) in this way. The program may make
 * that call when its call stack is almost exhausted. Any function call can then throw a RangeError, whereas a new turn
 * begins with an empty stack. The turn is requested with `setImmediate`. In that function, Node makes its deepest calls
 * before it changes the queue of immediates, so a RangeError leaves the queue intact. A RangeError inside `setTimeout`
 * could leave Node's timer lists inconsistent, and then timers of the program would never fire.
 */
export class NextTurn {
  readonly #action: () => void;
  #immediate: NodeJS.Immediate | undefined;
  #requestedWith: typeof setImmediate | undefined;

  constructor(action: () => void) {
    this.#action = action;
  }

  /**
   * Requests the action. A request made while fake timers were installed does not block a later request with real
   * timers.
   */
  request(): void {
    if (this.#immediate === undefined || this.#requestedWith !== setImmediate) {
      this.#immediate = setImmediate(() => {
        this.#immediate = undefined;
        this.#action();
      });
      this.#requestedWith = setImmediate;
    }
  }

  cancel(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
  }
}
