import { closeSync, openSync, readSync } from "node:fs";

/** State of the write-ahead log of a server that ended without closing the database. */
export interface LogState {
  /** Whether there is no log, or nothing in it. */
  readonly isEmpty: boolean;
  /**
   * Number of pages, from the first unreadable page on, that belong to commits. SQLite ignores these pages, so the
   * commits are lost.
   */
  readonly lostPageCount: number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Reads a write-ahead log as SQLite does for recovery: up to the first page whose checksum, which also covers all pages
 * before it, does not match. Later pages with the salt of the log's header also belong to the log, but SQLite does not
 * read them.
 */
export function checkLog(databasePath: string): LogState {
  const fileDescriptor = openIfExists(`${databasePath}-wal`);
  if (fileDescriptor === undefined) {
    return { isEmpty: true, lostPageCount: 0 };
  }
  try {
    return readLog(fileDescriptor);
  } finally {
    closeSync(fileDescriptor);
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined; // There is no log, because the database was closed.
  }
}

function readLog(file: number): LogState {
  const header = Buffer.alloc(headerBytes);
  if (readSync(file, header, 0, headerBytes, 0) < headerBytes) {
    return { isEmpty: true, lostPageCount: 0 };
  }
  const pageBytes = header.readUInt32BE(8);
  // The lowest bit of the magic number is the byte order of the checksums.
  const checksum = new LogChecksum(
    (header.readUInt32BE(0) & 1) === 1,
    header.readUInt32BE(24),
    header.readUInt32BE(28),
  );
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  let isReadable = true;
  let unreadablePageCount = 0;
  let lostPageCount = 0;
  for (
    let position = headerBytes;
    readSync(file, frame, 0, frame.length, position) === frame.length;
  ) {
    if (frame.compare(header, 16, 24, 8, 16) !== 0) {
      break; // A frame from before the log was last restarted.
    }
    if (isReadable) {
      checksum.add(frame, 0, 8);
      checksum.add(frame, frameHeaderBytes, frame.length);
      isReadable = checksum.matches(frame.readUInt32BE(16), frame.readUInt32BE(20));
    }
    // The frame of a commit's last page contains the size of the database. Pages without such a frame after them
    // belong to no commit.
    unreadablePageCount += isReadable ? 0 : 1;
    if (!isReadable && frame.readUInt32BE(4) > 0) {
      lostPageCount = unreadablePageCount;
    }
    position += frame.length;
  }
  return { isEmpty: false, lostPageCount };
}

/** The running checksum of a log, as SQLite computes it. */
class LogChecksum {
  readonly #isBigEndian: boolean;
  #first: number;
  #second: number;

  constructor(isBigEndian: boolean, firstSum: number, secondSum: number) {
    this.#isBigEndian = isBigEndian;
    this.#first = firstSum;
    this.#second = secondSum;
  }

  add(bytes: Buffer, start: number, end: number): void {
    let firstSum = this.#first;
    let secondSum = this.#second;
    for (let position = start; position < end; position += 8) {
      const firstWord = this.#isBigEndian
        ? bytes.readUInt32BE(position)
        : bytes.readUInt32LE(position);
      const secondWord = this.#isBigEndian
        ? bytes.readUInt32BE(position + 4)
        : bytes.readUInt32LE(position + 4);
      firstSum = (firstSum + firstWord + secondSum) | 0;
      secondSum = (secondSum + secondWord + firstSum) | 0;
    }
    this.#first = firstSum;
    this.#second = secondSum;
  }

  matches(firstSum: number, secondSum: number): boolean {
    return this.#first >>> 0 === firstSum && this.#second >>> 0 === secondSum;
  }
}
