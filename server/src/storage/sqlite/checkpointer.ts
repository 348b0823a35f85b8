import { Worker } from "node:worker_threads";
import { distFile } from "../dist-files.ts";
import { threadOptions } from "../threads.ts";
import { eraseLog, logPages, writeBack } from "./write-ahead-log.ts";
import type { Connection } from "./connection.ts";
import type { WrittenBack } from "./write-ahead-log.ts";
import { WordMerger } from "./word-merger.ts";

/** Bytes of payloads after which the log is written back. */
const stepBytes = 33_554_432;
/** Deletions that come one after the other are erased together. */
const eraseMs = 500;
const retryMs = 1_000;

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
  #isClosed = false;
  #bytes = 0;
  /** Whether the log holds what was deleted. */
  #mustErase = false;
  #eraseTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  /** Whether the index of words holds some of examples that were deleted. */
  #mustMerge = false;
  readonly #words: WordMerger;

  /** Takes the writer's own connection. */
  constructor(db: Connection, path: string) {
    this.#db = db;
    this.#words = new WordMerger(db);
    this.#path = path;
  }

  /** To be called behind each commit, with the bytes of payloads that it stored. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= stepBytes) {
      this.#begin();
    }
  }

  /**
   * To be called behind a commit that deleted something: within a second or so the files hold it no more.
   *
   * @param ofExamples - whether it was of examples, whose words are in an index.
   */
  erase(ofExamples: boolean): void {
    this.#mustErase = true;
    this.#mustMerge ||= ofExamples;
    this.#eraseTimer ??= setTimeout(() => this.#prepareErase(), eraseMs);
  }

  /** In small steps, between which other writes are taken. */
  #prepareErase(): void {
    this.#eraseTimer = undefined;
    try {
      if (this.#mustMerge) {
        this.#mustMerge = !this.#words.step();
      }
    } catch {
      // A full disk, say. The words stay until the next deletion.
      this.#mustMerge = false;
    }
    if (this.#mustMerge) {
      this.#eraseTimer = setTimeout(() => this.#prepareErase(), 0);
    } else {
      this.#begin();
    }
  }

  #begin(): void {
    if (!this.#isAtWork) {
      this.#bytes = 0;
      this.#isAtWork = true;
      this.#worker ??= this.#start();
      this.#worker.postMessage("checkpoint");
    }
  }

  /** Ends the thread; resolves when its connection is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#eraseTimer);
    clearTimeout(this.#retryTimer);
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
    worker.on("message", (last: WrittenBack) => this.#onWrittenBack(last));
    // An error is followed by the exit.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      this.#worker = undefined;
      this.#isAtWork = false;
      clearTimeout(this.#eraseTimer);
    });
    return worker;
  }

  /**
   * The log begins anew only once all of it is written back, and what came meanwhile is not. That little
   * is written back between two commits, where nothing comes.
   */
  #onWrittenBack({ pages, isFarBehind }: WrittenBack): void {
    this.#isAtWork = false;
    if (this.#isClosed) {
      return; // The writer folds all of the log next.
    }
    if (isFarBehind === true) {
      // A query read what was before: the rest follows when it has ended, also where no more commits come.
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined;
        this.#begin();
      }, retryMs);
    }
    if (pages < logPages && !this.#mustErase) {
      return;
    }
    try {
      if (this.#mustErase) {
        this.#mustErase = false;
        // Somebody reads what is older: again when that has ended.
        if (!eraseLog(this.#db)) {
          this.erase(false);
        }
      } else {
        writeBack(this.#db);
      }
    } catch {
      // It stays in the log, where it is as safe, until the next time.
    }
  }
}
