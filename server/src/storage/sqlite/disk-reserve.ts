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

const reserveFileName = "millrace.reserve";
const mebibyte = 1_048_576;
/** Free space below which the disk counts as full. */
const minFreeBytes = 65_536;

/** The size of a disk, and how much of it is free. */
export interface DiskUse {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Reads the size of the disk that contains a folder, and how much of it is free. */
export function readDiskUse(folder: string): DiskUse {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    // The file system does not report its size. A write still fails when the disk is full.
    return { totalBytes: Number.MAX_SAFE_INTEGER, freeBytes: Number.MAX_SAFE_INTEGER };
  }
}

/** Computes the size of the reserve file on a disk of this size: 1/64 of it, at least 4 MiB and at most 32 MiB. */
export const computeReserveBytes = ({ totalBytes }: DiskUse): number =>
  Math.min(32 * mebibyte, Math.max(4 * mebibyte, Math.floor(totalBytes / 64)));

/** Whether an operation failed because the disk is full, either in the database or in another file. */
export function isDiskFull(cause: unknown, folder: string, readUse = readDiskUse): boolean {
  return (
    isSqliteError(cause, "full") ||
    (cause instanceof Error && /^E(?:NOSPC|DQUOT)$/.test(String(Reflect.get(cause, "code")))) ||
    // If the shared-memory file next to the write-ahead log can't be written, SQLite reports only an I/O error or
    // that the file can't be opened.
    ((isSqliteError(cause, "ioError") || isSqliteError(cause, "cantOpen")) &&
      readUse(folder).freeBytes < minFreeBytes)
  );
}

/**
 * A file that reserves disk space for deletions: when a deletion finds no other space, the file is deleted. Deleting
 * data also writes to the disk, so without this space a full disk could not be emptied.
 */
export class DiskReserve {
  readonly #path: string;
  #fillBytes: Buffer | undefined;

  constructor(databasePath: string) {
    this.#path = join(dirname(databasePath), reserveFileName);
  }

  /** Current size of the reserve file. */
  get bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Enlarges the reserve file by `bytes`. Returns false and changes nothing if there is not enough space. */
  grow(bytes: number): boolean {
    const previousBytes = this.bytes;
    let fileDescriptor: number | undefined;
    try {
      fileDescriptor = openSync(this.#path, "a", 0o600);
      for (let remaining = bytes; remaining > 0;) {
        remaining -= writeSync(
          fileDescriptor,
          this.#randomBytes(),
          0,
          Math.min(remaining, mebibyte),
        );
      }
      return true;
    } catch {
      if (fileDescriptor !== undefined) {
        ftruncateSync(fileDescriptor, previousBytes);
      }
      return false;
    } finally {
      if (fileDescriptor !== undefined) {
        closeSync(fileDescriptor);
      }
    }
  }

  /** Shrinks the reserve file to `toBytes`. Returns whether that freed any space. */
  shrink(toBytes: number): boolean {
    if (this.bytes <= toBytes) {
      return false;
    }
    if (toBytes === 0) {
      rmSync(this.#path, { force: true });
    } else {
      const fileDescriptor = openSync(this.#path, "r+");
      ftruncateSync(fileDescriptor, toBytes);
      closeSync(fileDescriptor);
    }
    return true;
  }

  /** Deletes the reserve file. Returns whether that freed any space. */
  release(): boolean {
    return this.shrink(0);
  }

  /** Random bytes, so that no file system can compress the reserve file. */
  #randomBytes(): Buffer {
    return (this.#fillBytes ??= randomFillSync(Buffer.alloc(mebibyte)));
  }
}
