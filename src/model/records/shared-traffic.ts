import type { ErrorCode } from "../errors.ts";

/** Why a request failed, as the workers report it. Contains no API key, input or output. */
export interface RequestFailure {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The attempted action and its result, on one line. */
  readonly cause: string;
  readonly code?: ErrorCode;
  /** HTTP status of the response, if there was one. */
  readonly status?: number;
  /** Whether the server refused the records permanently. Otherwise they are sent again. */
  readonly isFinal: boolean;
}

/** Index of each counter in the array of 32-bit integers at the start of the shared memory. */
const counterIndex = {
  finished: 0,
  responses: 1,
  connections: 2,
  failures: 3,
  versionless: 4,
  unconnected: 5,
} as const;
/** Size of the counters in bytes: a multiple of eight, because 64-bit integers follow. */
const counterBytes = 6 * Int32Array.BYTES_PER_ELEMENT;
/** Index of each total in the array of 64-bit integers after the counters. */
const totalIndex = { requests: 0, retries: 1, bytesSent: 2 } as const;
const totalBytes = 3 * BigInt64Array.BYTES_PER_ELEMENT;
/**
 * Number of slots. A slot is the memory for one failure; a new failure overwrites the oldest one. A thread that crashes
 * while it writes a failure therefore damages only one slot.
 */
const slotCount = 4;
const slotBytes = 2_048;
/**
 * Size of the fixed bytes at a slot's start: the number of the failure (0 while the slot is being written), then the
 * length of the failure's text in bytes.
 */
const slotHeadBytes = 2 * Int32Array.BYTES_PER_ELEMENT;
/** Maximum length of a cause, in UTF-16 code units. */
const maxCauseLength = 400;

/**
 * The counters of the workers and their last failures, in memory that all threads share. The main
 * thread can read this memory at any time: between two retries of a worker, and while the main thread
 * blocks at a forced process end, when no message can arrive.
 */
export class SharedTraffic {
  readonly memory: SharedArrayBuffer;
  readonly #counters: Int32Array;
  readonly #totals: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(counterBytes + totalBytes + slotCount * slotBytes)) {
    this.memory = memory;
    this.#counters = new Int32Array(memory, 0, counterBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#totals = new BigInt64Array(memory, counterBytes, Object.keys(totalIndex).length);
  }

  /** Counts a request that is being sent, and the bytes of its body. */
  countRequest(bytes: number): void {
    Atomics.add(this.#totals, totalIndex.requests, 1n);
    Atomics.add(this.#totals, totalIndex.bytesSent, BigInt(bytes));
  }

  countRetry(): void {
    Atomics.add(this.#totals, totalIndex.retries, 1n);
  }

  /** Counts a response that is not a web page, and so may come from a server that accepts runs. */
  countResponse(): void {
    Atomics.add(this.#counters, counterIndex.responses, 1);
  }

  /** Records that the server's `/info` contains no version. It is uncertain whether such a server accepts runs. */
  recordVersionlessServer(): void {
    Atomics.store(this.#counters, counterIndex.versionless, 1);
  }

  get isServerVersionless(): boolean {
    return Atomics.load(this.#counters, counterIndex.versionless) === 1;
  }

  countConnection(): void {
    Atomics.add(this.#counters, counterIndex.connections, 1);
  }

  /** Records that a worker had enough time to connect and has no connection yet. */
  recordUnconnected(): void {
    Atomics.store(this.#counters, counterIndex.unconnected, 1);
  }

  /** Whether no worker has connected yet, although a request failed or a worker had enough time to connect. */
  get isUnconnected(): boolean {
    const isOverdue = Atomics.load(this.#counters, counterIndex.unconnected) === 1;
    return this.connections === 0 && (isOverdue || this.failures > 0);
  }

  /**
   * Counts a tape (a buffer of records) as finished. A tape is finished when the outcome of each of its records is
   * written on it. Wakes {@link SharedTraffic.waitForTape}.
   */
  countFinishedTape(): void {
    Atomics.add(this.#counters, counterIndex.finished, 1);
    Atomics.notify(this.#counters, counterIndex.finished);
  }

  get finishedTapes(): number {
    return Atomics.load(this.#counters, counterIndex.finished);
  }

  /** Blocks until more than `finishedTapesBefore` tapes are finished, but at most for `timeoutMs`. */
  waitForTape(finishedTapesBefore: number, timeoutMs: number): void {
    Atomics.wait(this.#counters, counterIndex.finished, finishedTapesBefore, timeoutMs);
  }

  get requests(): number {
    return Number(Atomics.load(this.#totals, totalIndex.requests));
  }

  get retries(): number {
    return Number(Atomics.load(this.#totals, totalIndex.retries));
  }

  get bytesSent(): number {
    return Number(Atomics.load(this.#totals, totalIndex.bytesSent));
  }

  get responses(): number {
    return Atomics.load(this.#counters, counterIndex.responses);
  }

  get connections(): number {
    return Atomics.load(this.#counters, counterIndex.connections);
  }

  get failures(): number {
    return Atomics.load(this.#counters, counterIndex.failures);
  }

  /**
   * Stores a failure for {@link SharedTraffic.lastFailure}. The failure's `cause` is converted to one line and
   * truncated.
   */
  recordFailure(failure: RequestFailure): void {
    const cause = toOneLine(failure.cause).slice(0, maxCauseLength);
    const text = Buffer.from(JSON.stringify({ ...failure, cause }));
    const failureNumber = Atomics.add(this.#counters, counterIndex.failures, 1) + 1;
    const { head, bytes } = this.#findSlot(failureNumber);
    Atomics.store(head, 0, 0);
    if (text.length <= bytes.length) {
      bytes.set(text);
      Atomics.store(head, 1, text.length);
      Atomics.store(head, 0, failureNumber);
    }
  }

  /** The newest failure that was written completely; `undefined` if there is none. */
  get lastFailure(): RequestFailure | undefined {
    const newest = this.failures;
    for (
      let failureNumber = newest;
      failureNumber > Math.max(0, newest - slotCount);
      failureNumber--
    ) {
      const { head, bytes } = this.#findSlot(failureNumber);
      const text = Buffer.from(bytes.subarray(0, Atomics.load(head, 1))).toString();
      // Another thread may have begun to overwrite the slot while it was read.
      if (text !== "" && Atomics.load(head, 0) === failureNumber) {
        return JSON.parse(text) as RequestFailure;
      }
    }
    return undefined;
  }

  #findSlot(failureNumber: number): { readonly head: Int32Array; readonly bytes: Uint8Array } {
    const offset = counterBytes + totalBytes + (failureNumber % slotCount) * slotBytes;
    return {
      head: new Int32Array(this.memory, offset, 2),
      bytes: new Uint8Array(this.memory, offset + slotHeadBytes, slotBytes - slotHeadBytes),
    };
  }
}

/**
 * Replaces control characters with spaces: a server's text must not forge log lines or contain
 * terminal commands.
 */
// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const toOneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
