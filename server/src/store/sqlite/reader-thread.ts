import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { distFile } from "../../dist-files.ts";
import { messageOf, RequestError } from "../../errors.ts";
import { serverLimits } from "../../options.ts";
import { threadOptions, waitForFirstMessage } from "../../threads.ts";
import type { ReaderCall, ReaderMessage } from "./reader-protocol.ts";
import { toError } from "./thread-answer.ts";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

/** The near end of the reader's thread, which starts when it is first asked. */
export class ReaderThread {
  readonly #path: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Promise<Worker> | undefined;
  #sequence = 0;
  #isOpen = true;

  constructor(path: string) {
    this.#path = path;
  }

  /** Asks a method of a noun. A thread that has ended is started anew. */
  async read(noun: string, method: string, args: readonly unknown[]): Promise<unknown> {
    if (!this.#isOpen) {
      throw new RequestError(503, "the server is closing");
    }
    if (this.#waiting.size >= serverLimits.slowReadsMax) {
      throw new RequestError(429, "too many questions that take long wait; ask again later", 1);
    }
    const worker = await (this.#worker ??= this.#start());
    const sequence = (this.#sequence += 1);
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(sequence, { resolve, reject });
      worker.postMessage({ sequence, noun, method, args } satisfies ReaderCall);
    });
  }

  /** Answers what was asked, for a while, then ends the thread. */
  async close(): Promise<void> {
    this.#isOpen = false;
    const worker = await this.#worker?.catch(() => undefined);
    if (worker === undefined) {
      return;
    }
    const ended = once(worker, "exit");
    worker.postMessage("close");
    const timer = setTimeout(() => void worker.terminate(), serverLimits.endMs);
    await ended;
    clearTimeout(timer);
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(distFile("reader.worker.js"), {
      ...threadOptions,
      name: "millrace-reader",
      workerData: this.#path,
    });
    // Before anything else: an end that nobody hears of would leave callers waiting.
    worker.once("exit", () => this.#onExit());
    const first = await this.#firstOf(worker);
    if (first.kind !== "ready") {
      await worker.terminate();
      const reason = first.kind === "failedToStart" ? first.reason : first.kind;
      throw new RequestError(503, `the reader's thread did not start: ${reason}`, 1);
    }
    worker.on("message", (message: ReaderMessage) => this.#onMessage(message));
    // An error is followed by the exit.
    worker.on("error", () => undefined);
    return worker;
  }

  async #firstOf(worker: Worker): Promise<ReaderMessage> {
    try {
      return (await waitForFirstMessage(worker)) as ReaderMessage;
    } catch (cause) {
      return { kind: "failedToStart", reason: messageOf(cause) };
    }
  }

  #onMessage(message: ReaderMessage): void {
    if (message.kind === "ready" || message.kind === "failedToStart") {
      return;
    }
    const waiting = this.#waiting.get(message.sequence);
    this.#waiting.delete(message.sequence);
    if (message.kind === "answer") {
      waiting?.resolve(message.value);
    } else {
      waiting?.reject(toError(message));
    }
  }

  #onExit(): void {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) {
      reject(new RequestError(503, "the reader's thread ended; ask again", 1));
    }
    this.#waiting.clear();
  }
}
