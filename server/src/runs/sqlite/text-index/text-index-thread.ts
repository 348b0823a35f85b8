import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../../../storage/dist-files.ts";
import { messageOf } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { endThread, threadOptions } from "../../../storage/threads.ts";
import type { TextIndexMethod } from "./text-index-writer.ts";

/** A request by the thread that fills the text index to call a method of the writer thread. */
export interface IndexerRequest {
  readonly method: TextIndexMethod;
  readonly argument: number;
}

/** Messages of the thread that fills the text index. */
export type IndexerMessage =
  | { readonly kind: "write"; readonly request: IndexerRequest }
  /** All runs are indexed, except those of the last second. */
  | { readonly kind: "idle" }
  | { readonly kind: "failed"; readonly reason: string };

type WriteFunction = (method: TextIndexMethod, value: number) => Promise<unknown>;

/**
 * Starts and ends the thread that fills the text index, and handles its messages. This object belongs to the main
 * thread. The thread starts some time after the server, so that it does not delay the server's start.
 */
export class TextIndexThread {
  readonly #path: string;
  readonly #write: WriteFunction;
  readonly #timer: NodeJS.Timeout;
  #worker: Worker | undefined;
  #hasWarned = false;
  #isClosing = false;

  constructor(path: string, write: WriteFunction) {
    this.#path = path;
    this.#write = write;
    this.#timer = setTimeout(() => this.#start(), serverLimits.textIndexDelayMs);
    this.#timer.unref();
  }

  /** Ends the thread. Resolves once its connections are closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker !== undefined) {
      await endThread(worker, "close", serverLimits.readerEndMs);
    }
  }

  #start(): void {
    const worker = new Worker(toDistFileUrl("text-index.worker.js"), {
      ...threadOptions,
      name: "millrace-text-index",
      workerData: this.#path,
    });
    this.#worker = worker;
    worker.on("message", (message: IndexerMessage) => void this.#onMessage(worker, message));
    worker.on("error", (cause) => this.#warn(messageOf(cause)));
    // Without this thread, searches read the runs that the index does not contain. The next start of the server
    // continues filling the index.
    worker.once("exit", () => {
      this.#worker = undefined;
    });
  }

  async #onMessage(worker: Worker, message: IndexerMessage): Promise<void> {
    if (message.kind === "failed") {
      this.#warn(message.reason);
    } else if (message.kind === "write") {
      const { method, argument } = message.request;
      try {
        await this.#write(method, argument);
        worker.postMessage({});
      } catch (cause) {
        worker.postMessage({ failure: messageOf(cause) });
      }
    }
  }

  #warn(reason: string): void {
    // While the server closes, a refused write is expected: the next start continues where this one ended.
    if (!this.#hasWarned && !this.#isClosing) {
      this.#hasWarned = true;
      process.emitWarning(`the text index can't be updated, so searches take longer: ${reason}`);
    }
  }
}
