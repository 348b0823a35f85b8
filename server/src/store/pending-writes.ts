import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { toError } from "../storage/thread-reply.ts";
import type { ThreadReply } from "../storage/thread-reply.ts";

/** A request that was sent to the writer thread and is not answered yet. */
interface PendingWrite {
  readonly bytes: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** The requests that a writer thread has not answered yet. The bytes of their batches are limited. */
export class PendingWrites {
  readonly #writes = new Map<number, PendingWrite>();
  readonly #fullMessage: string;
  #sequence = 0;
  #bytes = 0;
  /** Why requests are refused; `undefined` while they are accepted. */
  #refusal: string | undefined;

  /** @param fullMessage - the error message for a client whose batch would exceed the limit. */
  constructor(fullMessage: string) {
    this.#fullMessage = fullMessage;
  }

  get isOpen(): boolean {
    return this.#refusal === undefined;
  }

  /**
   * Adds a request. Its promise is settled by the reply that has the same sequence number.
   *
   * @param bytes - size of the request's batch; 0 if it has none.
   * @param send - sends the request to the thread.
   * @throws RequestError the thread is being closed or has ended (503), or the batch would exceed the limit (429).
   */
  async add(bytes: number, send: (sequence: number) => void): Promise<unknown> {
    if (this.#refusal !== undefined) {
      throw new RequestError(503, this.#refusal);
    }
    if (bytes > 0 && this.#bytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(429, this.#fullMessage, 1);
    }
    const sequence = (this.#sequence += 1);
    this.#bytes += bytes;
    return new Promise<unknown>((resolve, reject) => {
      this.#writes.set(sequence, { bytes, resolve, reject });
      send(sequence);
    });
  }

  settle(reply: ThreadReply): void {
    const write = this.#writes.get(reply.sequence);
    this.#writes.delete(reply.sequence);
    this.#bytes -= write?.bytes ?? 0;
    if (reply.kind === "result") {
      write?.resolve(reply.value);
    } else {
      write?.reject(toError(reply));
    }
  }

  /** Refuses further requests. Requests that were added before are still settled. */
  close(): void {
    this.#refusal ??= "the server is closing";
  }

  /** Rejects all pending requests. Must be called when the thread has ended, because it sends no more replies. */
  rejectAll(): void {
    this.#refusal ??= "the writer thread ended unexpectedly; restart the server";
    for (const { reject } of this.#writes.values()) {
      reject(new RequestError(503, this.#refusal));
    }
    this.#writes.clear();
  }
}
