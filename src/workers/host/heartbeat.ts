/**
 * The shared memory consists of slots, one for each thread. A slot is a pair of 32-bit integers: the thread's id and
 * its number of beats, negative while the thread is idle.
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
 * The heartbeat of a worker. It reports that the thread started. While a task runs, it adds a beat every `intervalMs`
 * if the event loop is not blocked. An idle thread has no beats, because each would wake it.
 */
export class Heartbeat {
  readonly #integers: Int32Array;
  readonly #intervalMs: number;
  /** Index of the thread's number of beats; `undefined` if all slots are in use. */
  readonly #index: number | undefined;
  #runningTasks = 0;
  #beats = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor({ memory, intervalMs }: HeartbeatOptions, threadId: number) {
    this.#integers = new Int32Array(memory);
    this.#intervalMs = intervalMs;
    for (let offset = 0; offset < this.#integers.length; offset += integersPerThread) {
      if (Atomics.compareExchange(this.#integers, offset, 0, threadId) === 0) {
        this.#index = offset + 1;
        this.#store(-this.#beats);
        return;
      }
    }
  }

  /** Runs a task and beats until it has ended. */
  async runWithHeartbeat<Result>(task: () => Promise<Result>): Promise<Result> {
    this.#runningTasks += 1;
    if (this.#runningTasks === 1) {
      this.#beat();
      this.#timer = setInterval(() => this.#beat(), this.#intervalMs);
      this.#timer.unref();
    }
    try {
      return await task();
    } finally {
      this.#runningTasks -= 1;
      if (this.#runningTasks === 0) {
        clearInterval(this.#timer);
        this.#store(-this.#beats);
      }
    }
  }

  #beat(): void {
    this.#beats += 1;
    this.#store(this.#beats);
  }

  #store(beats: number): void {
    if (this.#index !== undefined) {
      Atomics.store(this.#integers, this.#index, beats);
    }
  }
}

/** Reads, in the main thread, the heartbeats that the workers write. */
export class Heartbeats {
  readonly #integers: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#integers = new Int32Array(memory);
  }

  /**
   * Returns a number that grows while the thread runs tasks and its event loop is not blocked; 0 if it has not started
   * yet.
   */
  readBeats(threadId: number): number {
    return Math.abs(this.#readSlot(threadId));
  }

  /** Whether the thread has started and runs no task. */
  isIdle(threadId: number): boolean {
    return this.#readSlot(threadId) < 0;
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

  #readSlot(threadId: number): number {
    for (let offset = 0; offset < this.#integers.length; offset += integersPerThread) {
      if (Atomics.load(this.#integers, offset) === threadId) {
        return Atomics.load(this.#integers, offset + 1);
      }
    }
    return 0;
  }
}
