import type { ErrorCode } from "../errors.ts";

/** Why a request failed, as the workers report it. Holds no key, input or output. */
export interface FailedTry {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** What was attempted and what came back, on one line. */
  readonly cause: string;
  readonly code?: ErrorCode;
  /** Of the response, where there was one. */
  readonly status?: number;
  /** Whether the records were refused for good; else they are sent again. */
  readonly isFinal: boolean;
}

/** Of the memory, in 32-bit numbers. */
const counter = {
  finished: 0,
  responses: 1,
  connections: 2,
  failures: 3,
  strange: 4,
  unconnected: 5,
} as const;
/** What follows begins at a multiple of eight. */
const counterBytes = 6 * Int32Array.BYTES_PER_ELEMENT;
/** In 64-bit numbers. */
const total = { requests: 0, retries: 1, bytesSent: 2 } as const;
const totalBytes = 3 * BigInt64Array.BYTES_PER_ELEMENT;
/** Slots for failures. A thread that crashes while it writes one loses only that one. */
const slots = 4;
const slotBytes = 2_048;
/** Of a slot: the number of its failure, 0 while it is written, and the bytes of its text. */
const slotHeadBytes = 2 * Int32Array.BYTES_PER_ELEMENT;
const longestCause = 400;

/**
 * What the workers have counted, and their last failures, in memory that every thread sees. The main
 * thread reads it at any moment: in the middle of a series of retries, and also while it blocks at a
 * forced end, when no message can arrive.
 */
export class SharedTraffic {
  readonly memory: SharedArrayBuffer;
  readonly #counters: Int32Array;
  readonly #totals: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(counterBytes + totalBytes + slots * slotBytes)) {
    this.memory = memory;
    this.#counters = new Int32Array(memory, 0, counterBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#totals = new BigInt64Array(memory, counterBytes, Object.keys(total).length);
  }

  /** Counts a request that begins, and the bytes of its body. */
  countRequest(bytes: number): void {
    Atomics.add(this.#totals, total.requests, 1n);
    Atomics.add(this.#totals, total.bytesSent, BigInt(bytes));
  }

  countRetry(): void {
    Atomics.add(this.#totals, total.retries, 1n);
  }

  /** Counts a response that a server of runs may have given. */
  countResponse(): void {
    Atomics.add(this.#counters, counter.responses, 1);
  }

  /** The server's `/info` names no version: it may be no server of runs. */
  recordStrangeServer(): void {
    Atomics.store(this.#counters, counter.strange, 1);
  }

  get isServerStrange(): boolean {
    return Atomics.load(this.#counters, counter.strange) === 1;
  }

  countConnection(): void {
    Atomics.add(this.#counters, counter.connections, 1);
  }

  /** A worker that had time to connect has no connection yet. */
  recordUnconnected(): void {
    Atomics.store(this.#counters, counter.unconnected, 1);
  }

  /** Whether no connection was made, though one failed or a worker had time for it. */
  get isUnconnected(): boolean {
    const isOverdue = Atomics.load(this.#counters, counter.unconnected) === 1;
    return this.connections === 0 && (isOverdue || this.failures > 0);
  }

  /** Counts a tape of which every outcome is written, and wakes {@link SharedTraffic.waitForTape}. */
  countFinished(): void {
    Atomics.add(this.#counters, counter.finished, 1);
    Atomics.notify(this.#counters, counter.finished);
  }

  get finished(): number {
    return Atomics.load(this.#counters, counter.finished);
  }

  /** Blocks until more than `seen` tapes are finished, at most `timeoutMs`. */
  waitForTape(seen: number, timeoutMs: number): void {
    Atomics.wait(this.#counters, counter.finished, seen, timeoutMs);
  }

  get requests(): number {
    return Number(Atomics.load(this.#totals, total.requests));
  }

  get retries(): number {
    return Number(Atomics.load(this.#totals, total.retries));
  }

  get bytesSent(): number {
    return Number(Atomics.load(this.#totals, total.bytesSent));
  }

  get responses(): number {
    return Atomics.load(this.#counters, counter.responses);
  }

  get connections(): number {
    return Atomics.load(this.#counters, counter.connections);
  }

  get failures(): number {
    return Atomics.load(this.#counters, counter.failures);
  }

  /** Keeps a failure for {@link SharedTraffic.lastFailure}, with its cause cut to one short line. */
  fail(failure: FailedTry): void {
    const cause = oneLine(failure.cause).slice(0, longestCause);
    const text = Buffer.from(JSON.stringify({ ...failure, cause }));
    const number = Atomics.add(this.#counters, counter.failures, 1) + 1;
    const { head, bytes } = this.#slotOf(number);
    Atomics.store(head, 0, 0);
    if (text.length <= bytes.length) {
      bytes.set(text);
      Atomics.store(head, 1, text.length);
      Atomics.store(head, 0, number);
    }
  }

  /** The newest failure that is written whole; `undefined` where there was none. */
  get lastFailure(): FailedTry | undefined {
    const newest = this.failures;
    for (let number = newest; number > Math.max(0, newest - slots); number--) {
      const { head, bytes } = this.#slotOf(number);
      const text = Buffer.from(bytes.subarray(0, Atomics.load(head, 1))).toString();
      // Another thread may have begun to write the slot anew while it was read.
      if (text !== "" && Atomics.load(head, 0) === number) {
        return JSON.parse(text) as FailedTry;
      }
    }
    return undefined;
  }

  #slotOf(number: number): { readonly head: Int32Array; readonly bytes: Uint8Array } {
    const at = counterBytes + totalBytes + (number % slots) * slotBytes;
    return {
      head: new Int32Array(this.memory, at, 2),
      bytes: new Uint8Array(this.memory, at + slotHeadBytes, slotBytes - slotHeadBytes),
    };
  }
}

/** A server's text can't forge lines of a log, nor hold a terminal's commands. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
