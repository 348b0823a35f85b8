/** One caller that waits for capacity. */
interface Waiter {
  readonly resolve: (hasCapacity: boolean) => void;
  readonly deadline: NodeJS.Timeout;
}

/**
 * Callers that wait until the queue has capacity, first come, first served. One caller is admitted per
 * turn of the event loop, so that each has recorded before the next is admitted. Otherwise a thousand
 * callers would share the capacity for one tape.
 */
export class Capacity {
  readonly #hasCapacity: () => boolean;
  readonly #waiters = new Set<Waiter>();
  #turn: NodeJS.Immediate | undefined;

  constructor(hasRoom: () => boolean) {
    this.#hasCapacity = hasRoom;
  }

  /** True as soon as there is room, false when `timeoutMs` is over. The timer holds the process. */
  wait(timeoutMs: number): Promise<boolean> {
    if (this.#waiters.size === 0 && this.#hasCapacity()) {
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resolve,
        deadline: setTimeout(() => this.#settle(waiter, false), timeoutMs),
      };
      this.#waiters.add(waiter);
      this.check();
    });
  }

  /** Something left the queue: lets the first waiter through where there is room. */
  check(): void {
    if (this.#waiters.size > 0 && this.#turn === undefined && this.#hasCapacity()) {
      this.#turn = setImmediate(() => this.#admitNext());
    }
  }

  /** Nothing will leave the queue any more. */
  end(): void {
    for (const waiter of this.#waiters) {
      this.#settle(waiter, false);
    }
  }

  #admitNext(): void {
    this.#turn = undefined;
    const [first] = this.#waiters;
    if (first !== undefined && this.#hasCapacity()) {
      this.#settle(first, true);
    }
    this.check();
  }

  #settle(waiter: Waiter, hasCapacity: boolean): void {
    clearTimeout(waiter.deadline);
    if (this.#waiters.delete(waiter)) {
      waiter.resolve(hasCapacity);
    }
  }
}
