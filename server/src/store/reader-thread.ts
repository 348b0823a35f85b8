import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../storage/dist-files.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { endThread, threadOptions, waitForFirstMessage, waitForExit } from "../storage/threads.ts";
import type { ReaderCall, ReaderMessage, ReaderQuery } from "./reader-protocol.ts";
import { toError } from "../storage/thread-reply.ts";

interface PendingQuery {
  readonly sequence: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** How a reader thread of a database engine is started. */
export interface ReaderSource {
  /** Name of the thread's file in the output folder. */
  readonly file: string;
  /**
   * Creates the `workerData`. The flag is one number, shared with the thread. A value other than 0 cancels the running
   * query.
   */
  createData(cancelFlag: Int32Array<SharedArrayBuffer>): object;
  /**
   * Whether a query is also canceled with the message `cancel`, because the thread can receive messages while a query
   * runs.
   */
  readonly getsCancelMessage: boolean;
}

/**
 * The main thread's handle for a reader thread. The reader thread starts with its first query and runs one query at a
 * time.
 */
export class ReaderThread {
  readonly #source: ReaderSource;
  readonly #onDamage: (detail: string) => void;
  readonly #cancelFlag = new Int32Array(new SharedArrayBuffer(4));
  #pending: PendingQuery | undefined;
  #worker: Promise<Worker> | undefined;
  #sequence = 0;

  constructor(source: ReaderSource, onDamage: (detail: string) => void = () => undefined) {
    this.#source = source;
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

  /** Cancels the running query. With SQLite, it ends when it reads the next row. */
  cancel(): void {
    Atomics.store(this.#cancelFlag, 0, 1);
    if (this.#source.getsCancelMessage && this.#pending !== undefined) {
      void this.#worker?.then((worker) => worker.postMessage("cancel")).catch(() => undefined);
    }
  }

  /** Ends the thread; resolves when its connection to the database is closed. */
  async close(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    if (worker !== undefined) {
      this.cancel();
      await endThread(worker, "close", serverLimits.readerEndMs);
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(toDistFileUrl(this.#source.file), {
      ...threadOptions,
      name: "millrace-reader",
      workerData: this.#source.createData(this.#cancelFlag),
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
