import { Worker } from "node:worker_threads";
import { distFile } from "../../../storage/dist-files.ts";
import { messageOf } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { endThread, threadOptions } from "../../../storage/threads.ts";
import type { TextIndexMethod } from "./text-index-writer.ts";

/** What the indexer's thread asks of the writer. */
export interface IndexerRequest {
  readonly method: TextIndexMethod;
  readonly value: number;
}

export type IndexerMessage =
  | { readonly kind: "write"; readonly request: IndexerRequest }
  /** All is in the index but for the last second's. */
  | { readonly kind: "idle" }
  | { readonly kind: "failed"; readonly reason: string };

type Write = (method: TextIndexMethod, value: number) => Promise<unknown>;

/** The near end of the thread that fills the text index. It starts a while after the server, which so starts sooner. */
export class TextIndexThread {
  readonly #path: string;
  readonly #write: Write;
  readonly #timer: NodeJS.Timeout;
  #worker: Worker | undefined;
  #hasWarned = false;

  constructor(path: string, write: Write) {
    this.#path = path;
    this.#write = write;
    this.#timer = setTimeout(() => this.#start(), serverLimits.textIndexDelayMs);
    this.#timer.unref();
  }

  /** Ends the thread; resolves when its connections are closed. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker !== undefined) {
      await endThread(worker, "close", serverLimits.readerEndMs);
    }
  }

  #start(): void {
    const worker = new Worker(distFile("text-index.worker.js"), {
      ...threadOptions,
      name: "millrace-text-index",
      workerData: this.#path,
    });
    this.#worker = worker;
    worker.on("message", (message: IndexerMessage) => void this.#onMessage(worker, message));
    worker.on("error", (cause) => this.#warn(messageOf(cause)));
    // Without it searches read what the index lacks; the next start fills it.
    worker.once("exit", () => {
      this.#worker = undefined;
    });
  }

  async #onMessage(worker: Worker, message: IndexerMessage): Promise<void> {
    if (message.kind === "failed") {
      this.#warn(message.reason);
    } else if (message.kind === "write") {
      const { method, value } = message.request;
      try {
        await this.#write(method, value);
        worker.postMessage({});
      } catch (cause) {
        worker.postMessage({ failure: messageOf(cause) });
      }
    }
  }

  #warn(reason: string): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      process.emitWarning(`the text index can't be written, searches take longer: ${reason}`);
    }
  }
}
