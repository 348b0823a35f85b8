import process from "node:process";
import { Worker } from "node:worker_threads";
import { distFile } from "../../dist-files.ts";
import { threadOptions } from "../../threads.ts";
import { isSqliteError } from "./connection.ts";
import { checkLog } from "./log-check.ts";

/** Notices that a database is damaged; from then on nothing is to be written to it. */
export class DamageWatch {
  readonly #path: string;
  #checker: Worker | undefined;
  #reason: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Why nothing is to be written any more; `undefined` while all is well. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Before the database is opened: opening it may take the log in. Gives whether it was left unclosed. */
  checkLog(): boolean {
    const { isEmpty, lostPages } = checkLog(this.#path);
    if (lostPages > 0) {
      process.emitWarning(
        `${this.#path}-wal is damaged: its last ${lostPages} pages can't be read, and what was written with them is lost. ` +
          "A power cut or the disk is the cause; restore from a backup what you miss",
      );
    }
    return !isEmpty;
  }

  /** Reads the whole database on a thread of its own: that takes seconds for each gigabyte. */
  checkInBackground(): void {
    const worker = new Worker(distFile("check.worker.js"), {
      ...threadOptions,
      name: "millrace-check",
      workerData: this.#path,
    });
    this.#checker = worker;
    worker.on("message", (fault: string | undefined) => {
      if (fault !== undefined) {
        this.#note(fault);
      }
    });
    // A check that can't be made finds nothing; reads and writes find damage where they meet it.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      this.#checker = undefined;
    });
    worker.unref();
  }

  /** Looks at why a write failed. */
  onFailure(cause: unknown): void {
    if (isSqliteError(cause, "corrupt") || isSqliteError(cause, "notDatabase")) {
      this.#note(cause instanceof Error ? cause.message : String(cause));
    }
  }

  async close(): Promise<void> {
    await this.#checker?.terminate();
  }

  #note(fault: string): void {
    if (this.#reason === undefined) {
      this.#reason = `the database is damaged (${fault}) and takes no more writes: restore a backup, or save what can be read with sqlite3's .recover`;
      process.emitWarning(`${this.#path}: ${this.#reason}`);
    }
  }
}
