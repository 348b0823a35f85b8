import { RequestError } from "../../model/errors.ts";

/** The queue of the calls with one name, which run one after the other. */
interface Queue {
  /** Settles when the call that was added last has ended. */
  last: Promise<unknown>;
  /** Number of calls that wait or run. */
  length: number;
}

/** Runs calls with the same name one after the other, in the order in which they arrived. */
export class KeyedQueues {
  readonly #maxLength: number;
  readonly #queues = new Map<string, Queue>();

  /** @param maxLength - the most calls with one name that may wait or run */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** @throws RequestError 503: too many calls with this name wait. */
  async run<Result>(name: string, call: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(name) ?? { last: Promise.resolve(), length: 0 };
    if (queue.length >= this.#maxLength) {
      throw new RequestError(
        503,
        `${this.#maxLength} changes are already waiting; retry later, or send fewer at once`,
        1,
      );
    }
    this.#queues.set(name, queue);
    queue.length += 1;
    const result = queue.last.then(call, call);
    // A call also runs if the previous one failed; the caller of the failed call receives the failure.
    queue.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) {
        this.#queues.delete(name);
      }
    }
  }
}
