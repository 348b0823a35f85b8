/** Runs a limited number of tasks at the same time. Others wait in the order in which they came. */
export class TaskLimit {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    } else {
      this.#running += 1;
    }
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // If a task waits, it replaces this one, so the number of running tasks stays the same.
      if (next === undefined) {
        this.#running -= 1;
      } else {
        next();
      }
    }
  }
}
