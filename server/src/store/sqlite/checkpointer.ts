import { Worker } from "node:worker_threads";
import { distFile } from "../../dist-files.ts";
import { threadOptions } from "../../threads.ts";
import { logPages, writeBack } from "./schema.ts";
import type { Connection } from "./schema.ts";

/** Bytes of payloads after which the log is written back. */
const stepBytes = 33_554_432;

/**
 * Has the write-ahead log written back by a thread of its own: the writer goes on meanwhile, where it
 * would wait for the disk. The thread starts with the first bytes that are worth it. Where it fails, the
 * log grows until SQLite writes it back within a commit.
 */
export class Checkpointer {
  readonly #db: Connection;
  readonly #path: string;
  #worker: Worker | undefined;
  #isAtWork = false;
  #bytes = 0;

  /** Takes the writer's own connection. */
  constructor(db: Connection, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** To be called behind each commit, with the bytes of payloads that it stored. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= stepBytes && !this.#isAtWork) {
      this.#bytes = 0;
      this.#isAtWork = true;
      this.#worker ??= this.#start();
      this.#worker.postMessage("checkpoint");
    }
  }

  /** Ends the thread; resolves when its connection is closed. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker !== undefined) {
      const ended = new Promise<void>((resolve) => {
        worker.once("exit", () => resolve());
      });
      worker.postMessage("close");
      await ended;
    }
  }

  #start(): Worker {
    const worker = new Worker(distFile("checkpoint.worker.js"), {
      ...threadOptions,
      name: "millrace-checkpoint",
      workerData: this.#path,
    });
    worker.on("message", (pages: number) => this.#onWrittenBack(pages));
    // An error is followed by the exit.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      this.#worker = undefined;
      this.#isAtWork = false;
    });
    return worker;
  }

  /**
   * The log begins anew only once all of it is written back, and what came meanwhile is not. That little
   * is written back between two commits, where nothing comes.
   */
  #onWrittenBack(pages: number): void {
    this.#isAtWork = false;
    if (pages < logPages) {
      return;
    }
    try {
      writeBack(this.#db);
    } catch {
      // It stays in the log, where it is as safe, until the next time.
    }
  }
}
