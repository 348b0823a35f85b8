import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

const reserveFile = "millrace.reserve";
/** Enough for the pages that a deletion of a hundred runs changes. */
const reserveBytes = 4 * 1_048_576;
/** The reserve is laid by only where so much more is free: a small disk is not filled by it. */
const spareFactor = 4;

/**
 * Room on the disk that is given up for deletions when there is no other: to delete is to write, so a full disk
 * could not be emptied.
 */
export class DiskReserve {
  readonly #folder: string;
  readonly #path: string;

  constructor(databasePath: string) {
    this.#folder = dirname(databasePath);
    this.#path = join(this.#folder, reserveFile);
  }

  /** Lays it by where it is missing and there is room. */
  fill(): void {
    if (existsSync(this.#path) || this.#freeBytes() < spareFactor * reserveBytes) {
      return;
    }
    try {
      const file = openSync(this.#path, "w", 0o600);
      try {
        writeSync(file, Buffer.alloc(reserveBytes, 1));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      this.release(); // Half a reserve helps nobody.
    }
  }

  /** Gives it up; gives whether there was one. */
  release(): boolean {
    const isThere = existsSync(this.#path);
    rmSync(this.#path, { force: true });
    return isThere;
  }

  #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      return bavail * bsize;
    } catch {
      return 0;
    }
  }
}
