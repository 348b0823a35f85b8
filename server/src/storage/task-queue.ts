/**
 * Runs tasks one after the other, also when a task awaits something. A task starts at once if none is running. An error
 * of a task rejects no promise: it ends the thread, as an error in an event listener does.
 */
export class TaskQueue {
  readonly #waiting: (() => void | Promise<void>)[] = [];
  #isRunning = false;

  add(task: () => void | Promise<void>): void {
    this.#waiting.push(task);
    this.#start();
  }

  /** Runs a task before those that wait already. */
  addNext(task: () => void | Promise<void>): void {
    this.#waiting.unshift(task);
    this.#start();
  }

  #start(): void {
    if (!this.#isRunning) {
      void this.#runAll();
    }
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      const ended = task();
      // A task that does not wait ends before `add` returns.
      if (ended !== undefined) {
        await ended;
      }
    }
    this.#isRunning = false;
  }
}
