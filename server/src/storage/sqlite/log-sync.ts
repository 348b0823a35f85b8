import { closeSync, fdatasync, openSync } from "node:fs";

/** Options of the sync of the write-ahead log to the disk. */
export interface LogSyncOptions {
  /** Milliseconds from the first commit that is not on disk to the sync that writes it there. */
  readonly delayMs?: number;
  readonly sync?: typeof fdatasync;
}

/**
 * Half of the time within which a commit is guaranteed to be on disk. The other half is left for a commit that takes
 * long and for the sync itself.
 */
const defaultDelayMs = 250;

/**
 * Syncs the write-ahead log to disk while it grows. A commit hands its pages to the operating system, which still
 * writes them if the process ends, but not if the power fails. The sync runs on a thread of Node's thread pool, so
 * that the writer thread can continue.
 *
 * This class opens the log with a file descriptor of its own. Closing the descriptor releases no lock of SQLite,
 * because SQLite never locks the log, only the database file and its shared-memory file.
 */
export class LogSync {
  readonly #path: string;
  readonly #delayMs: number;
  readonly #sync: typeof fdatasync;
  #fd: number | undefined;
  /** Time of the oldest commit that is possibly not on disk yet. */
  #dirtySinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSyncing = false;
  #isClosed = false;

  constructor(
    databasePath: string,
    { delayMs = defaultDelayMs, sync = fdatasync }: LogSyncOptions = {},
  ) {
    this.#path = `${databasePath}-wal`;
    this.#delayMs = delayMs;
    this.#sync = sync;
  }

  /** Must be called after each commit, even if it wrote little. */
  recordCommit(): void {
    const nowMs = performance.now();
    this.#dirtySinceMs ??= nowMs;
    if (nowMs - this.#dirtySinceMs >= this.#delayMs) {
      // Start the sync here, because no timer fires while commits follow each other without a pause.
      this.#startSync();
    } else {
      this.#timer ??= setTimeout(() => this.#startSync(), this.#delayMs);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (!this.#isSyncing) {
      this.#closeFile();
    }
  }

  #startSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isSyncing || this.#isClosed || this.#dirtySinceMs === undefined) {
      return;
    }
    try {
      this.#fd ??= openSync(this.#path, "r+");
    } catch {
      // Either the log does not exist, so there is nothing to sync, or no file descriptor is available and the next
      // commit tries again.
      this.#dirtySinceMs = undefined;
      return;
    }
    this.#isSyncing = true;
    this.#dirtySinceMs = undefined;
    this.#sync(this.#fd, () => this.#onSynced());
  }

  #onSynced(): void {
    this.#isSyncing = false;
    if (this.#isClosed) {
      this.#closeFile();
    } else if (this.#dirtySinceMs !== undefined) {
      const elapsedMs = performance.now() - this.#dirtySinceMs;
      this.#timer ??= setTimeout(() => this.#startSync(), Math.max(0, this.#delayMs - elapsedMs));
    }
  }

  #closeFile(): void {
    if (this.#fd !== undefined) {
      closeSync(this.#fd);
      this.#fd = undefined;
    }
  }
}
