/** A caller that waits for capacity. */
interface Waiter {
  readonly resolve: (hasCapacity: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Callers that wait until the queue has capacity, first come, first served. One caller is admitted per turn of the
 * event loop, so that each adds its records before the next is admitted. Otherwise a thousand callers could be admitted
 * when there is capacity for only one tape (a buffer of recorded runs).
 */
export class CapacityWaiters {
  readonly #hasCapacity: () => boolean;
  readonly #waiters = new Set<Waiter>();
  #turn: NodeJS.Immediate | undefined;

  constructor(hasCapacity: () => boolean) {
    this.#hasCapacity = hasCapacity;
  }

  /** Resolves to true as soon as there is capacity, to false after `timeoutMs`. The timer keeps the process alive. */
  wait(timeoutMs: number): Promise<boolean> {
    if (this.#waiters.size === 0 && this.#hasCapacity()) {
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resolve,
        timer: setTimeout(() => this.#settle(waiter, false), timeoutMs),
      };
      this.#waiters.add(waiter);
      this.admitIfCapacity();
    });
  }

  /** Call this after records left the queue: it admits the first waiter if there is capacity. */
  admitIfCapacity(): void {
    if (this.#waiters.size > 0 && this.#turn === undefined && this.#hasCapacity()) {
      this.#turn = setImmediate(() => this.#admitNext());
    }
  }

  /** Resolves all waiters to false, because the queue has ended and will not free capacity any more. */
  refuseAll(): void {
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
    this.admitIfCapacity();
  }

  #settle(waiter: Waiter, hasCapacity: boolean): void {
    clearTimeout(waiter.timer);
    if (this.#waiters.delete(waiter)) {
      waiter.resolve(hasCapacity);
    }
  }
}
