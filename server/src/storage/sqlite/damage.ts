import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { toDistFileUrl } from "../dist-files.ts";
import { cleanEnvironment } from "../threads.ts";
import { isSqliteError } from "./connection.ts";
import { checkLog } from "./log-check.ts";

/** Detects damage of a database. Nothing may be written to a damaged database. */
export class DamageWatch {
  readonly #path: string;
  #checker: ChildProcess | undefined;
  #reason: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Why nothing may be written any more; `undefined` while no damage is known. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /**
   * Checks the write-ahead log. Must be called before the database is opened, because opening it may change the log.
   * Returns whether there is a log, which means that the server ended without closing the database.
   */
  checkLog(): boolean {
    const { isEmpty, lostPageCount } = checkLog(this.#path);
    if (lostPageCount > 0) {
      process.emitWarning(
        `${this.#path}-wal is damaged: its last ${lostPageCount} pages can't be read, and the data written with them is lost. ` +
          "The cause is a power failure or the disk; restore missing data from a backup",
      );
    }
    return !isEmpty;
  }

  /**
   * Checks the whole database, which takes seconds for each gigabyte. A child process does it, because a process can
   * be killed at any time, while terminating a thread in which SQLite runs may end the whole server.
   */
  checkInBackground(): void {
    try {
      this.#startCheck();
    } catch {
      // The program may not be allowed to start processes. Reads and writes still detect damage that they
      // encounter.
    }
  }

  #startCheck(): void {
    const checker = fork(fileURLToPath(toDistFileUrl("check.worker.js")), [this.#path], {
      execArgv: [],
      env: cleanEnvironment,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#checker = checker;
    checker.on("message", (fault) => {
      if (typeof fault === "string") {
        this.#report(fault);
      }
    });
    // If the check can't run, reads and writes still detect damage that they encounter.
    checker.on("error", () => undefined);
    checker.once("exit", () => {
      this.#checker = undefined;
    });
    checker.unref();
    checker.channel?.unref();
  }

  /**
   * Must be called with the error of a failed write. Records the damage if the error shows that the database is
   * damaged.
   */
  onFailure(cause: unknown): void {
    if (isSqliteError(cause, "corrupt") || isSqliteError(cause, "notDatabase")) {
      this.#report(cause instanceof Error ? cause.message : String(cause));
    }
  }

  /** Ends the check if it is running. */
  async close(): Promise<void> {
    const checker = this.#checker;
    if (checker?.pid !== undefined && checker.kill("SIGKILL")) {
      await once(checker, "exit");
    }
  }

  #report(fault: string): void {
    if (this.#reason === undefined) {
      this.#reason = `the database is damaged (${fault}) and accepts no more writes: restore a backup, or recover readable data with sqlite3's .recover command`;
      process.emitWarning(`${this.#path}: ${this.#reason}`);
    }
  }
}
