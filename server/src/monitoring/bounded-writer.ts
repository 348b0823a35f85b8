import { write } from "node:fs";

/** Writes bytes to a file; `callback` gets an error, or the number of bytes that were written. */
export type WriteBytes = (
  bytes: Uint8Array,
  callback: (cause: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** Writes to a file descriptor, without blocking the thread. */
export const writeTo =
  (fd: number): WriteBytes =>
  (bytes, callback) =>
    write(fd, bytes, callback);

/** Bytes of lines that may wait for the destination. */
const maxWaitingBytes = 1_048_576;
/** Milliseconds until the next attempt if the destination accepts nothing now. */
const retryMs = 20;

/**
 * Writes lines in their order, one write at a time. If lines come faster than the destination accepts them, up to
 * {@link maxWaitingBytes} of them wait. Further lines are dropped and counted, so that a slow log neither fills the
 * memory nor delays requests.
 */
export class BoundedWriter {
  readonly #write: WriteBytes;
  readonly #describeDropped: (count: number) => string;
  readonly #idleListeners: (() => void)[] = [];
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isWriting = false;

  /** @param describeDropped - creates the line that says how many lines were dropped */
  constructor(writeBytes: WriteBytes, describeDropped: (count: number) => string) {
    this.#write = writeBytes;
    this.#describeDropped = describeDropped;
  }

  /** Writes a line, or drops it. */
  push(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#writeWaiting();
  }

  /** Waits until all lines are written, for at most `withinMs` milliseconds. */
  async flush(withinMs: number): Promise<void> {
    if (!this.#isWriting) {
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#idleListeners.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Writes the lines that wait, unless a write is in progress. */
  #writeWaiting(): void {
    if (this.#isWriting) {
      return;
    }
    if (this.#dropped > 0 && this.#waitingBytes < maxWaitingBytes / 2) {
      const line = Buffer.from(this.#describeDropped(this.#dropped));
      this.#dropped = 0;
      this.#waiting.push(line);
      this.#waitingBytes += line.length;
    }
    if (this.#waiting.length === 0) {
      this.#idleListeners.splice(0).forEach((listener) => listener());
      return;
    }
    this.#isWriting = true;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#writeAll(bytes);
  }

  #writeAll(bytes: Buffer): void {
    this.#write(bytes, (cause, written) => {
      if (cause?.code === "EAGAIN") {
        // The destination is a pipe whose reader is slow. The timer keeps the process alive until all is written.
        setTimeout(() => this.#writeAll(bytes), retryMs);
        return;
      }
      // After any other error nobody reads the log any more. The lines are dropped, because they can't be reported
      // anywhere else.
      const count = cause === null ? written : bytes.length;
      this.#waitingBytes -= count;
      if (count < bytes.length) {
        this.#writeAll(bytes.subarray(count));
        return;
      }
      this.#isWriting = false;
      this.#writeWaiting();
    });
  }
}
