import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../../storage/dist-files.ts";
import { endThread, threadOptions } from "../../storage/threads.ts";
import type { PostgresThreadData } from "./connect.ts";

/** A message to the thread: whether this server is the leader, or that the thread must end. */
export type PostgresBackgroundRequest = { readonly isLeader: boolean } | "close";

/**
 * The main thread's handle for the thread that counts metrics and indexes texts. The thread starts when this server
 * becomes the leader for the first time. The server works without the thread, only slower.
 */
export class PostgresBackgroundThread {
  readonly #data: PostgresThreadData;
  #worker: Worker | undefined;
  #isLeader = false;
  #isClosing = false;

  constructor(data: PostgresThreadData) {
    this.#data = data;
  }

  setLeader(isLeader: boolean): void {
    if (isLeader === this.#isLeader || this.#isClosing) {
      return;
    }
    this.#isLeader = isLeader;
    this.#worker ??= this.#start();
    this.#worker.postMessage({ isLeader } satisfies PostgresBackgroundRequest);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#worker !== undefined) {
      await endThread(this.#worker, "close" satisfies PostgresBackgroundRequest);
    }
  }

  #start(): Worker {
    const worker = new Worker(toDistFileUrl("postgres-background.worker.js"), {
      ...threadOptions,
      name: "millrace-background",
      workerData: this.#data,
    });
    worker.on("error", (cause: Error) => {
      process.emitWarning(`background work failed: ${cause.message}`);
    });
    worker.once("exit", () => {
      this.#worker = undefined;
      // The next time that the writer thread reports that this server is the leader, another thread is started.
      this.#isLeader = false;
    });
    return worker;
  }
}
