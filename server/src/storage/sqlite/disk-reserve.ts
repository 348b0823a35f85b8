import { randomFillSync } from "node:crypto";
import {
  closeSync,
  ftruncateSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isSqliteError } from "./connection.ts";

const reserveFile = "millrace.reserve";
const mebibyte = 1_048_576;
/** So little is no room. */
const noRoomBytes = 65_536;

/** How large the disk is, and how much of it is free. */
export interface DiskUse {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export function readDiskUse(folder: string): DiskUse {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    // A file system that does not say it: writes find out by themselves where it is full.
    return { totalBytes: Number.MAX_SAFE_INTEGER, freeBytes: Number.MAX_SAFE_INTEGER };
  }
}

/** What is kept for deletions on a disk of that size: 32 MiB from 2 GiB on, 4 MiB at the least. */
export const reserveBytesOf = ({ totalBytes }: DiskUse): number =>
  Math.min(32 * mebibyte, Math.max(4 * mebibyte, Math.floor(totalBytes / 64)));

/** Whether something failed for want of room, in the database or in another file. */
export function isDiskFull(cause: unknown, folder: string, readUse = readDiskUse): boolean {
  return (
    isSqliteError(cause, "full") ||
    (cause instanceof Error && /^E(?:NOSPC|DQUOT)$/.test(String(Reflect.get(cause, "code")))) ||
    // Of the log's index SQLite only says that it could not be written, or opened.
    ((isSqliteError(cause, "ioError") || isSqliteError(cause, "cantOpen")) &&
      readUse(folder).freeBytes < noRoomBytes)
  );
}

/**
 * A file that takes room on the disk, to be given up for deletions when there is no other room: to delete is to
 * write, so a full disk could not be emptied.
 */
export class DiskReserve {
  readonly #path: string;
  #chunk: Buffer | undefined;

  constructor(databasePath: string) {
    this.#path = join(dirname(databasePath), reserveFile);
  }

  /** What it takes now. */
  get bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Makes it larger by so much; gives whether there was room for that. */
  grow(bytes: number): boolean {
    const before = this.bytes;
    let file: number | undefined;
    try {
      file = openSync(this.#path, "a", 0o600);
      for (let rest = bytes; rest > 0;) {
        rest -= writeSync(file, this.#bytes(), 0, Math.min(rest, mebibyte));
      }
      return true;
    } catch {
      if (file !== undefined) {
        ftruncateSync(file, before);
      }
      return false;
    } finally {
      if (file !== undefined) {
        closeSync(file);
      }
    }
  }

  /** Gives up what it takes beyond so much; gives whether there was any. */
  shrink(toBytes: number): boolean {
    if (this.bytes <= toBytes) {
      return false;
    }
    if (toBytes === 0) {
      rmSync(this.#path, { force: true });
    } else {
      const file = openSync(this.#path, "r+");
      ftruncateSync(file, toBytes);
      closeSync(file);
    }
    return true;
  }

  /** Gives all of it up; gives whether there was any. */
  release(): boolean {
    return this.shrink(0);
  }

  /** Nothing that a file system could compress. */
  #bytes(): Buffer {
    return (this.#chunk ??= randomFillSync(Buffer.alloc(mebibyte)));
  }
}
