import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../storage/dist-files.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { endThread, threadOptions, waitForFirstMessage, waitForExit } from "../storage/threads.ts";
import type { ReaderCall, ReaderData, ReaderMessage, ReaderQuery } from "./reader-protocol.ts";
import { toError } from "../storage/thread-reply.ts";

interface PendingQuery {
  readonly sequence: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/**
 * The main thread's handle of a reader thread. The reader thread starts with its first query and runs one query at a
 * time.
 */
export class ReaderThread {
  readonly #path: string;
  readonly #onDamage: (detail: string) => void;
  readonly #cancelFlag = new Int32Array(new SharedArrayBuffer(4));
  #pending: PendingQuery | undefined;
  #worker: Promise<Worker> | undefined;
  #sequence = 0;

  constructor(path: string, onDamage: (detail: string) => void) {
    this.#path = path;
    this.#onDamage = onDamage;
  }

  /** Calls a method of a resource. A thread that has ended is started again. */
  async read(query: ReaderQuery): Promise<unknown> {
    this.#sequence += 1;
    Atomics.store(this.#cancelFlag, 0, 0);
    const sequence = this.#sequence;
    const worker = await (this.#worker ??= this.#start());
    return new Promise<unknown>((resolve, reject) => {
      this.#pending = { sequence, resolve, reject };
      worker.postMessage({ ...query, sequence } satisfies ReaderCall);
    });
  }

  /** Cancels the running query. It ends when it reads the next row. */
  cancel(): void {
    Atomics.store(this.#cancelFlag, 0, 1);
  }

  /** Ends the thread; resolves when its connection is closed. */
  async close(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    if (worker !== undefined) {
      this.cancel();
      await endThread(worker, "close", serverLimits.readerEndMs);
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(toDistFileUrl("reader.worker.js"), {
      ...threadOptions,
      name: "millrace-reader",
      workerData: { path: this.#path, cancelFlag: this.#cancelFlag } satisfies ReaderData,
    });
    // Listen before anything else: if the thread ended without a listener, callers would wait forever.
    worker.once("exit", () => this.#onExit());
    const firstMessage = await this.#readFirstMessage(worker);
    if (firstMessage.kind !== "ready") {
      // The thread has closed its connection and ends by itself.
      await waitForExit(worker);
      const reason =
        firstMessage.kind === "failedToStart" ? firstMessage.reason : firstMessage.kind;
      throw new RequestError(503, `a reader thread did not start: ${reason}`, 1);
    }
    worker.on("message", (message: ReaderMessage) => this.#onMessage(message));
    // The `exit` event follows and is handled above.
    worker.on("error", () => undefined);
    return worker;
  }

  async #readFirstMessage(worker: Worker): Promise<ReaderMessage> {
    try {
      return (await waitForFirstMessage(worker, "close")) as ReaderMessage;
    } catch (cause) {
      return { kind: "failedToStart", reason: messageOf(cause) };
    }
  }

  #onMessage(message: ReaderMessage): void {
    if (message.kind === "damaged") {
      this.#onDamage(message.detail);
      return;
    }
    if (message.kind === "ready" || message.kind === "failedToStart") {
      return;
    }
    const pending = this.#pending;
    if (pending?.sequence !== message.sequence) {
      return;
    }
    this.#pending = undefined;
    if (message.kind === "result") {
      pending.resolve(message.value);
    } else {
      pending.reject(toError(message));
    }
  }

  #onExit(): void {
    this.#worker = undefined;
    this.#pending?.reject(
      new RequestError(503, "a reader thread ended unexpectedly; retry the request", 1),
    );
    this.#pending = undefined;
  }
}
