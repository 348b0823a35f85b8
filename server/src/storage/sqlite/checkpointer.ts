import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "../dist-files.ts";
import { threadOptions } from "../threads.ts";
import { eraseLog, targetLogPages, writeBack } from "./write-ahead-log.ts";
import type { Connection } from "./connection.ts";
import type { WriteBackResult } from "./write-ahead-log.ts";
import { WordMerger } from "./word-merger.ts";

/** Bytes of payloads that are committed between two checkpoints. */
const checkpointBytes = 33_554_432;
/** Milliseconds to wait after a deletion, so that the data of successive deletions is erased together. */
const eraseDelayMs = 500;
/**
 * Milliseconds to wait before a checkpoint is repeated, if it could not write back all pages because a query was still
 * reading an earlier state of the database.
 */
const retryMs = 1_000;
/**
 * Milliseconds to wait before a new thread erases deleted data, if the previous thread ended before the data was
 * erased.
 */
const restartMs = 30_000;

/**
 * Writes the write-ahead log back to the database (a checkpoint) on a thread of its own, so that the writer thread
 * does not wait for the disk. The thread starts with the first checkpoint. If the thread fails, the log grows until
 * SQLite writes it back within a commit.
 */
export class Checkpointer {
  readonly #db: Connection;
  readonly #path: string;
  #worker: Worker | undefined;
  #isRunning = false;
  #isClosed = false;
  #bytesSinceCheckpoint = 0;
  /** Whether the log contains data that was deleted. */
  #mustErase = false;
  #eraseTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  /** Whether the full-text index contains words of deleted examples. */
  #mustMerge = false;
  readonly #wordMerger: WordMerger;

  /** `db` is the writer's own connection. */
  constructor(db: Connection, path: string) {
    this.#db = db;
    this.#wordMerger = new WordMerger(db);
    this.#path = path;
  }

  /** Must be called after each commit, with the number of payload bytes that the commit stored. */
  addBytes(bytes: number): void {
    this.#bytesSinceCheckpoint += bytes;
    if (this.#bytesSinceCheckpoint >= checkpointBytes) {
      this.#startCheckpoint();
    }
  }

  /**
   * Must be called after a commit that deleted something. Within about a second, the files no longer contain the
   * deleted data.
   *
   * @param includesExamples - whether examples were deleted, whose words are in a full-text index.
   */
  scheduleErase(includesExamples: boolean): void {
    this.#mustErase = true;
    this.#mustMerge ||= includesExamples;
    this.#eraseTimer ??= setTimeout(() => this.#prepareErase(), eraseDelayMs);
  }

  /** Merges the full-text index in small steps, between which other writes run, and then starts a checkpoint. */
  #prepareErase(): void {
    this.#eraseTimer = undefined;
    try {
      if (this.#mustMerge) {
        this.#mustMerge = !this.#wordMerger.runStep();
      }
    } catch {
      // The disk may be full. The words of deleted examples stay in the index until the next deletion.
      this.#mustMerge = false;
    }
    if (this.#mustMerge) {
      this.#eraseTimer = setTimeout(() => this.#prepareErase(), 0);
    } else {
      this.#startCheckpoint();
    }
  }

  #startCheckpoint(): void {
    if (!this.#isRunning) {
      this.#bytesSinceCheckpoint = 0;
      this.#isRunning = true;
      this.#worker ??= this.#startWorker();
      this.#worker.postMessage("checkpoint");
    }
  }

  /** Ends the checkpoint thread. Resolves once its connection is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#eraseTimer);
    clearTimeout(this.#retryTimer);
    const worker = this.#worker;
    if (worker !== undefined) {
      const exited = new Promise<void>((resolve) => {
        worker.once("exit", () => resolve());
      });
      worker.postMessage("close");
      await exited;
    }
  }

  #startWorker(): Worker {
    const worker = new Worker(toDistFileUrl("checkpoint.worker.js"), {
      ...threadOptions,
      name: "millrace-checkpoint",
      workerData: this.#path,
    });
    worker.on("message", (result: WriteBackResult) => this.#onWrittenBack(result));
    // An `exit` event follows each error and is handled below.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      this.#worker = undefined;
      this.#isRunning = false;
      if (this.#mustErase && !this.#isClosed) {
        this.#eraseTimer ??= setTimeout(() => this.#prepareErase(), restartMs);
      }
    });
    return worker;
  }

  /**
   * SQLite reuses the log from its beginning only after all of it was written back. Commits add pages to the log
   * during a checkpoint, so these pages are written back here, between two commits.
   */
  #onWrittenBack({ pageCount, isFarBehind }: WriteBackResult): void {
    this.#isRunning = false;
    if (this.#isClosed) {
      return; // The writer writes back the whole log when it closes.
    }
    if (isFarBehind === true) {
      // A query was still reading an earlier state of the database. Write back the remaining pages after it has
      // ended, even if no commits follow.
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined;
        this.#startCheckpoint();
      }, retryMs);
    }
    if (pageCount < targetLogPages && !this.#mustErase) {
      return;
    }
    try {
      if (this.#mustErase) {
        this.#mustErase = false;
        // A query is still reading an earlier state of the database: try again later.
        if (!eraseLog(this.#db)) {
          this.scheduleErase(false);
        }
      } else {
        writeBack(this.#db);
      }
    } catch {
      // The data stays in the log, which is just as safe, until the next attempt.
    }
  }
}
