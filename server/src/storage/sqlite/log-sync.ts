import { closeSync, fdatasync, openSync } from "node:fs";

export interface LogSyncOptions {
  /** From the first commit that is not on disk to the sync that brings it there. */
  readonly delayMs?: number;
  readonly sync?: typeof fdatasync;
}

/** Half of the bound that is promised: the other half is for a long commit and for the disk. */
const usualDelayMs = 250;

/**
 * Brings the write-ahead log to disk while it grows. A commit leaves its pages with the operating system,
 * which keeps them through the end of the process and not through a power cut. The sync runs on a thread of
 * Node's pool, so that the writer goes on.
 *
 * The log's own descriptor is opened here: the locks of SQLite are on the other two files, so that
 * closing it gives none of them up.
 */
export class LogSync {
  readonly #path: string;
  readonly #delayMs: number;
  readonly #sync: typeof fdatasync;
  #fd: number | undefined;
  /** When the oldest commit came that may not be on disk. */
  #dirtySinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSyncing = false;
  #isClosed = false;

  constructor(
    databasePath: string,
    { delayMs = usualDelayMs, sync = fdatasync }: LogSyncOptions = {},
  ) {
    this.#path = `${databasePath}-wal`;
    this.#delayMs = delayMs;
    this.#sync = sync;
  }

  /** To be called after each commit, however little it wrote. */
  touch(): void {
    const nowMs = performance.now();
    this.#dirtySinceMs ??= nowMs;
    if (nowMs - this.#dirtySinceMs >= this.#delayMs) {
      // A timer waits where one commit follows the other.
      this.#start();
    } else {
      this.#timer ??= setTimeout(() => this.#start(), this.#delayMs);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (!this.#isSyncing) {
      this.#closeFile();
    }
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isSyncing || this.#isClosed || this.#dirtySinceMs === undefined) {
      return;
    }
    try {
      this.#fd ??= openSync(this.#path, "r+");
    } catch {
      // No log, no pages in it; or no descriptor is left: the next commit tries again.
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
      const sinceMs = performance.now() - this.#dirtySinceMs;
      this.#timer ??= setTimeout(() => this.#start(), Math.max(0, this.#delayMs - sinceMs));
    }
  }

  #closeFile(): void {
    if (this.#fd !== undefined) {
      closeSync(this.#fd);
      this.#fd = undefined;
    }
  }
}
