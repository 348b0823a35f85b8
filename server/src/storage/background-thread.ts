import { Worker } from "node:worker_threads";
import { messageOf } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { toDistFileUrl } from "./dist-files.ts";
import { endThread, threadOptions } from "./threads.ts";

/** A message of a background thread: a write for the writer thread, or why a step failed. */
export type BackgroundMessage<Write> =
  | { readonly kind: "write"; readonly write: Write }
  | { readonly kind: "failed"; readonly reason: string };

/** The reply to a write, with the reason if it failed. */
export interface BackgroundReply {
  readonly failure?: string;
}

/** The message that makes a background thread close its resources and end. */
export const closeBackgroundThread = "close";

interface BackgroundThreadInit<Write> {
  /** Name of the thread's file, such as `metrics.worker.js`. */
  readonly file: string;
  readonly name: string;
  /** Path of the database. */
  readonly path: string;
  /** Milliseconds after which the thread starts, so that it does not delay the server's start. */
  readonly delayMs: number;
  /** Makes a write on the writer thread. */
  readonly write: (write: Write) => Promise<unknown>;
  /** The warning about a failed step: what it means for users. The reason is appended. */
  readonly warning: string;
}

/**
 * Starts and ends a thread that prepares data in the background, and passes its writes to the writer thread. The server
 * works without the thread, only slower, and the next start continues where the thread ended. This object belongs to
 * the main thread; `runInBackground` is its counterpart in the background thread.
 */
export class BackgroundThread<Write> {
  readonly #init: BackgroundThreadInit<Write>;
  readonly #timer: NodeJS.Timeout;
  #worker: Worker | undefined;
  #hasWarned = false;
  #isClosing = false;

  constructor(init: BackgroundThreadInit<Write>) {
    this.#init = init;
    this.#timer = setTimeout(() => this.#start(), init.delayMs);
    this.#timer.unref();
  }

  /** Ends the thread. Resolves once its connections are closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker !== undefined) {
      await endThread(worker, closeBackgroundThread, serverLimits.readerEndMs);
    }
  }

  #start(): void {
    const { file, name, path } = this.#init;
    const worker = new Worker(toDistFileUrl(file), { ...threadOptions, name, workerData: path });
    this.#worker = worker;
    worker.on(
      "message",
      (message: BackgroundMessage<Write>) => void this.#onMessage(worker, message),
    );
    worker.on("error", (cause) => this.#warn(messageOf(cause)));
    worker.once("exit", () => {
      this.#worker = undefined;
    });
  }

  async #onMessage(worker: Worker, message: BackgroundMessage<Write>): Promise<void> {
    if (message.kind === "failed") {
      this.#warn(message.reason);
      return;
    }
    const reply: BackgroundReply = await this.#init.write(message.write).then(
      () => ({}),
      (cause: unknown) => ({ failure: messageOf(cause) }),
    );
    worker.postMessage(reply);
  }

  #warn(reason: string): void {
    // While the server closes, a refused write is expected.
    if (!this.#hasWarned && !this.#isClosing) {
      this.#hasWarned = true;
      process.emitWarning(`${this.#init.warning}: ${reason}`);
    }
  }
}
