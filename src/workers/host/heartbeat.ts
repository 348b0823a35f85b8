/**
 * The shared memory consists of slots, one for each thread. A slot is a pair of 32-bit integers: the thread's id and
 * its number of beats.
 */
const integersPerThread = 2;

/**
 * Creates shared memory for the heartbeats of `threads` threads that run at the same time. The slot of an ended thread
 * is reused.
 */
export const createHeartbeatMemory = (threads: number): SharedArrayBuffer =>
  new SharedArrayBuffer(integersPerThread * threads * Int32Array.BYTES_PER_ELEMENT);

/** The settings of the heartbeat that a worker receives when it starts. */
export interface HeartbeatOptions {
  readonly memory: SharedArrayBuffer;
  /** Milliseconds between two beats. */
  readonly intervalMs: number;
}

/**
 * In a worker: reports that the thread started, then adds a beat every `intervalMs` while the event
 * loop is not blocked.
 */
export function startHeartbeat({ memory, intervalMs }: HeartbeatOptions, threadId: number): void {
  const integers = new Int32Array(memory);
  for (let offset = 0; offset < integers.length; offset += integersPerThread) {
    if (Atomics.compareExchange(integers, offset, 0, threadId) === 0) {
      Atomics.store(integers, offset + 1, 1);
      setInterval(() => Atomics.add(integers, offset + 1, 1), intervalMs).unref();
      return;
    }
  }
}

/** Reads, in the main thread, the heartbeats that the workers write. */
export class Heartbeats {
  readonly #integers: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#integers = new Int32Array(memory);
  }

  /** Returns a number that grows while the thread's event loop runs; 0 if the thread has not started yet. */
  readBeats(threadId: number): number {
    const offset = this.#findSlot(threadId);
    return offset === -1 ? 0 : Atomics.load(this.#integers, offset + 1);
  }

  /** Frees the slots of all threads except `threadIds`. */
  releaseOthers(threadIds: ReadonlySet<number>): void {
    for (let offset = 0; offset < this.#integers.length; offset += integersPerThread) {
      const id = Atomics.load(this.#integers, offset);
      if (id !== 0 && !threadIds.has(id)) {
        Atomics.compareExchange(this.#integers, offset, id, 0);
      }
    }
  }

  #findSlot(threadId: number): number {
    for (let offset = 0; offset < this.#integers.length; offset += integersPerThread) {
      if (Atomics.load(this.#integers, offset) === threadId) {
        return offset;
      }
    }
    return -1;
  }
}
