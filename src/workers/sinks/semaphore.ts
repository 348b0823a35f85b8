/** Limits how many calls run at the same time. Further calls wait in order of arrival. */
export class Semaphore {
  #freePermits: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#freePermits = permits;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#freePermits > 0) {
      this.#freePermits -= 1;
    } else {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) {
        this.#freePermits += 1;
      } else {
        next();
      }
    }
  }
}
