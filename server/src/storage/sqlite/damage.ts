import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { distFile } from "../dist-files.ts";
import { cleanEnvironment } from "../threads.ts";
import { isSqliteError } from "./connection.ts";
import { checkLog } from "./log-check.ts";

/** Notices that a database is damaged; from then on nothing is to be written to it. */
export class DamageWatch {
  readonly #path: string;
  #checker: ChildProcess | undefined;
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

  /**
   * Reads the whole database, which takes seconds for each gigabyte. A process does it, since it can be
   * killed at any time: ending a thread that is within SQLite may end the whole server.
   */
  checkInBackground(): void {
    try {
      this.#startCheck();
    } catch {
      // The program may not start processes. Reads and writes find damage where they meet it.
    }
  }

  #startCheck(): void {
    const checker = fork(fileURLToPath(distFile("check.worker.js")), [this.#path], {
      execArgv: [],
      env: cleanEnvironment,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#checker = checker;
    checker.on("message", (fault) => {
      if (typeof fault === "string") {
        this.#note(fault);
      }
    });
    // A check that can't be made finds nothing, as above.
    checker.on("error", () => undefined);
    checker.once("exit", () => {
      this.#checker = undefined;
    });
    checker.unref();
    checker.channel?.unref();
  }

  /** Looks at why a write failed. */
  onFailure(cause: unknown): void {
    if (isSqliteError(cause, "corrupt") || isSqliteError(cause, "notDatabase")) {
      this.#note(cause instanceof Error ? cause.message : String(cause));
    }
  }

  /** Ends a check that is under way. */
  async close(): Promise<void> {
    const checker = this.#checker;
    if (checker?.pid !== undefined && checker.kill("SIGKILL")) {
      await once(checker, "exit");
    }
  }

  #note(fault: string): void {
    if (this.#reason === undefined) {
      this.#reason = `the database is damaged (${fault}) and takes no more writes: restore a backup, or save what can be read with sqlite3's .recover`;
      process.emitWarning(`${this.#path}: ${this.#reason}`);
    }
  }
}
