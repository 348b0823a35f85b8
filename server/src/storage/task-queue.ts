/**
 * Runs tasks one after the other, even if a task awaits something. A task starts at once if none is running. If a task
 * throws, the error ends the thread, like an error in an event listener.
 */
export class TaskQueue {
  readonly #waiting: (() => void | Promise<void>)[] = [];
  #isRunning = false;

  add(task: () => void | Promise<void>): void {
    this.#waiting.push(task);
    this.#start();
  }

  /** Adds a task before the tasks that are already waiting. */
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
      const completion = task();
      // Await only asynchronous tasks: after an `await`, the next synchronous task would not be complete when its `add`
      // returns.
      if (completion !== undefined) {
        await completion;
      }
    }
    this.#isRunning = false;
  }
}
