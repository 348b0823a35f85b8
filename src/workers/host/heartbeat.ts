/** Numbers of 32 bits: how many threads came up, then a thread's id and its beats, pair by pair. */
const head = 1;
const stride = 2;

/** Memory for the signs of life of so many threads at once; of those that died the places are used again. */
export const heartbeatMemory = (threads: number): SharedArrayBuffer =>
  new SharedArrayBuffer((head + stride * threads) * Int32Array.BYTES_PER_ELEMENT);

/** The settings of the heartbeat that a worker receives. */
export interface HeartbeatOptions {
  readonly memory: SharedArrayBuffer;
  readonly everyMs: number;
}

/** In a worker: reports that it started, and every `everyMs` that its event loop still turns. */
export function startHeartbeat({ memory, everyMs }: HeartbeatOptions, threadId: number): void {
  const numbers = new Int32Array(memory);
  for (let at = head; at < numbers.length; at += stride) {
    if (Atomics.compareExchange(numbers, at, 0, threadId) === 0) {
      Atomics.store(numbers, at + 1, 1);
      setInterval(() => Atomics.add(numbers, at + 1, 1), everyMs).unref();
      break;
    }
  }
  Atomics.add(numbers, 0, 1);
}

/** The main thread's view of the signs of life. */
export class Heartbeats {
  readonly #numbers: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory);
  }

  /** Threads that ever came up. */
  get risen(): number {
    return Atomics.load(this.#numbers, 0);
  }

  /** A number that changes while the thread's loop turns; 0 where it did not come up. */
  beats(threadId: number): number {
    const at = this.#find(threadId);
    return at === -1 ? 0 : Atomics.load(this.#numbers, at + 1);
  }

  /** Frees the places of all threads but these. */
  keepOnly(threadIds: ReadonlySet<number>): void {
    for (let at = head; at < this.#numbers.length; at += stride) {
      const id = Atomics.load(this.#numbers, at);
      if (id !== 0 && !threadIds.has(id)) {
        Atomics.compareExchange(this.#numbers, at, id, 0);
      }
    }
  }

  #find(threadId: number): number {
    for (let at = head; at < this.#numbers.length; at += stride) {
      if (Atomics.load(this.#numbers, at) === threadId) {
        return at;
      }
    }
    return -1;
  }
}
