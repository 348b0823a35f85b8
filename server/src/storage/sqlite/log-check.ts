import { closeSync, openSync, readSync } from "node:fs";

/** What was found in the log of a server that did not close it. */
export interface LogState {
  /** Whether there is anything in it. */
  readonly isEmpty: boolean;
  /** Pages behind one that can't be read. SQLite ignores them, and so loses the commits that they belong to. */
  readonly lostPages: number;
}

const headBytes = 32;
const frameHeadBytes = 24;

/**
 * Reads a write-ahead log as SQLite does when it recovers: up to the first page whose checksum is not that of
 * all before it. What follows and is of the same turn of the log was written, and will not be read.
 */
export function checkLog(databasePath: string): LogState {
  const file = openIfThere(`${databasePath}-wal`);
  if (file === undefined) {
    return { isEmpty: true, lostPages: 0 };
  }
  try {
    return readLog(file);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined; // No log: it was closed.
  }
}

function readLog(file: number): LogState {
  const head = Buffer.alloc(headBytes);
  if (readSync(file, head, 0, headBytes, 0) < headBytes) {
    return { isEmpty: true, lostPages: 0 };
  }
  const pageBytes = head.readUInt32BE(8);
  // The lowest bit says in which order the checksums read the bytes.
  const sums = new Sums(
    (head.readUInt32BE(0) & 1) === 1,
    head.readUInt32BE(24),
    head.readUInt32BE(28),
  );
  const frame = Buffer.alloc(frameHeadBytes + pageBytes);
  let isReadable = true;
  let waiting = 0;
  let lostPages = 0;
  for (let at = headBytes; readSync(file, frame, 0, frame.length, at) === frame.length;) {
    if (frame.compare(head, 16, 24, 8, 16) !== 0) {
      break; // Left from an earlier turn of the log.
    }
    if (isReadable) {
      sums.add(frame, 0, 8);
      sums.add(frame, frameHeadBytes, frame.length);
      isReadable = sums.are(frame.readUInt32BE(16), frame.readUInt32BE(20));
    }
    // A commit's last page says how long the database is; pages without one behind them are of no commit.
    waiting += isReadable ? 0 : 1;
    if (!isReadable && frame.readUInt32BE(4) > 0) {
      lostPages = waiting;
    }
    at += frame.length;
  }
  return { isEmpty: false, lostPages };
}

/** The running checksum of a log. */
class Sums {
  readonly #isBigEndian: boolean;
  #first: number;
  #second: number;

  constructor(isBigEndian: boolean, first: number, second: number) {
    this.#isBigEndian = isBigEndian;
    this.#first = first;
    this.#second = second;
  }

  add(bytes: Buffer, from: number, to: number): void {
    let first = this.#first;
    let second = this.#second;
    for (let at = from; at < to; at += 8) {
      const one = this.#isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
      const other = this.#isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
      first = (first + one + second) | 0;
      second = (second + other + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  are(first: number, second: number): boolean {
    return this.#first >>> 0 === first && this.#second >>> 0 === second;
  }
}
