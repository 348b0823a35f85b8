import { statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { RequestError } from "../../model/errors.ts";
import { DiskReserve, isDiskFull, readDiskUse, reserveBytesOf } from "./disk-reserve.ts";
import type { DiskUse } from "./disk-reserve.ts";
import { parseRows } from "./rows.ts";
import { eraseLog } from "./write-ahead-log.ts";
import type { Connection } from "./connection.ts";

const mebibyte = 1_048_576;
/** A disk with more room than this is looked at a few times a second, and not for each write. */
const ampleBytes = 1_024 * mebibyte;
const lookAgainMs = 250;
const tickMs = 1_000;
/** The reserve is laid by in steps, so that no write waits for it. */
const layStepBytes = mebibyte;
const layStepMs = 5;
/** A small database needs no more to be emptied. */
const smallReserveBytes = 4 * mebibyte;
const retryAfterSeconds = 10;

/** What a transaction adds: bytes of payloads, and rows. */
export interface AddedLoad {
  readonly bytes: number;
  readonly rows: number;
}

export const noLoad: AddedLoad = { bytes: 0, rows: 0 };

export interface DiskSpaceOptions {
  /** Called with the reason why only deletions are accepted from now on; with `undefined` where all writes are accepted again. */
  readonly onChange?: (reason: string | undefined) => void;
  readonly readUse?: (folder: string) => DiskUse;
}

interface Measure {
  /** Of the disk, beside the reserve, once the log is written back: the database may grow by it. */
  readonly usableBytes: number;
  /** By which the log makes the database's file grow when it is written back. */
  readonly growthBytes: number;
  /** Pages of the database that hold nothing: they are filled before its file grows. */
  readonly spareBytes: number;
  /** What is laid by. */
  readonly reserveBytes: number;
}

/**
 * Decides what a writer may write with the room that is on its disk. While there is room, so much of it is kept
 * free that the log can always be written back, and beside that a reserve in a file of its own. Below it only
 * deletions are taken, which get the reserve; the log is written back behind each of them, and the reserve laid by again.
 *
 * open -> full -> open; with `r` for the reserve (32 MiB, less on a small disk): full where less than r/4 is left, or less
 * than r together with the free pages of the database, or where a write did not fit; open again with 3r/8 and 2r, where
 * that write fits.
 */
export class DiskSpace {
  readonly #db: Connection;
  readonly #path: string;
  readonly #folder: string;
  readonly #onChange: (reason: string | undefined) => void = () => undefined;
  readonly #readUse: (folder: string) => DiskUse;
  readonly #reserve: DiskReserve;
  readonly #reserveMax: number;
  readonly #statements;
  readonly #pageBytes: number;
  readonly #ticks: NodeJS.Timeout;
  #layTimer: NodeJS.Timeout | undefined;
  #isAmpleUntilMs = 0;
  #bytesSinceLook = 0;
  #reason: string | undefined;
  /** Whether a deletion has the reserve. */
  #isGiven = false;
  /** The earliest time of the next attempt after a failed write, whatever free space the disk reports. */
  #mayOpenAtMs = 0;
  /** What did not fit. */
  #refused: AddedLoad = noLoad;

  constructor(
    db: Connection,
    path: string,
    { onChange = () => undefined, readUse = readDiskUse }: DiskSpaceOptions = {},
  ) {
    this.#db = db;
    this.#path = path;
    this.#folder = dirname(path);
    this.#readUse = readUse;
    this.#reserve = new DiskReserve(path);
    this.#reserveMax = reserveBytesOf(readUse(this.#folder));
    this.#statements = {
      pages: db.prepare("PRAGMA page_count").raw(),
      freePages: db.prepare("PRAGMA freelist_count").raw(),
    };
    this.#pageBytes = numberOf(db.prepare("PRAGMA page_size").raw().all());
    this.#look(noLoad);
    if (this.#reason === undefined) {
      this.#lay(smallReserveBytes);
    } else {
      this.#leaveSome();
      this.#update();
    }
    // What was found until here is the reason that it begins with.
    this.#onChange = onChange;
    this.#ticks = setInterval(() => this.#tick(), tickMs).unref();
  }

  /** Why only deletions are taken; `undefined` while all is. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether there is so little that each transaction should be small. */
  get isShort(): boolean {
    return performance.now() >= this.#isAmpleUntilMs;
  }

  /** Ends its timers. */
  close(): void {
    clearInterval(this.#ticks);
    clearTimeout(this.#layTimer);
  }

  /** To be called before what adds something: 503 where it may not be written, as the disk is full. */
  refuse(load: AddedLoad): RequestError | undefined {
    if (this.#reason === undefined) {
      this.#bytesSinceLook += load.bytes;
      const isAmple = performance.now() < this.#isAmpleUntilMs;
      if (!isAmple || this.#bytesSinceLook > ampleBytes / 4) {
        this.#look(load);
      }
    }
    return this.#reason === undefined ? undefined : refusal(this.#reason);
  }

  /** To be called behind a part of a deletion: gives back what its log has, where that is needed. */
  shortenLog(): void {
    if (performance.now() >= this.#isAmpleUntilMs) {
      this.#writeBack();
    }
  }

  /** To be called behind a whole deletion, or one that failed: lays by again what it was given. */
  takeReserve(): void {
    this.#isGiven = false;
    if (performance.now() >= this.#isAmpleUntilMs) {
      this.#writeBack();
      this.#update();
    }
  }

  /**
   * To be called with what a write failed by: whether that was for want of room.
   *
   * @param load - what was to be added; a deletion adds nothing.
   */
  isFull(cause: unknown, load: AddedLoad): boolean {
    if (!isDiskFull(cause, this.#folder, this.#readUse)) {
      return false;
    }
    this.#isAmpleUntilMs = 0;
    if (load.bytes + load.rows > 0) {
      this.#fill(load);
      this.#mayOpenAtMs = performance.now() + retryAfterSeconds * 1_000;
    }
    this.#writeBack();
    return true;
  }

  /** What a write is answered for which there was no room. */
  failure(): RequestError {
    return refusal(this.#reason ?? this.#describe(this.#measure()));
  }

  /** Gives the reserve up for a deletion that found no room, until {@link takeReserve}; gives whether there was one. */
  giveReserve(): boolean {
    this.#isGiven = true;
    clearTimeout(this.#layTimer);
    const isThere = this.#reserve.release();
    // What did not fit into the database before may do so now.
    this.#writeBack();
    return isThere;
  }

  /** Looks whether there is room for a load, and remembers what it found. */
  #look(load: AddedLoad): void {
    this.#bytesSinceLook = 0;
    let found = this.#measure();
    if (found.usableBytes >= ampleBytes) {
      this.#isAmpleUntilMs = performance.now() + lookAgainMs;
      return;
    }
    this.#isAmpleUntilMs = 0;
    if (found.growthBytes > this.#reserveMax / 4 || !this.#isRoomFor(load, found)) {
      this.#writeBack();
      found = this.#measure();
    }
    if (!this.#isRoomFor(load, found)) {
      this.#fill(load);
    }
  }

  /** Checks the disk between writes, as other programs fill it or free space. */
  #tick(): void {
    try {
      if (this.#reason === undefined) {
        this.#look(noLoad);
      }
      if (!this.#isGiven) {
        this.#update();
      }
    } catch {
      // Of a database that can't be read others tell.
    }
  }

  /** Takes everything again where there is room, and lays by what may be laid by. */
  #update(): void {
    if (this.#reason === undefined) {
      this.#lay(layStepBytes);
      return;
    }
    if (this.#measure().growthBytes > 0) {
      this.#writeBack();
    }
    // First what deletions need, whatever else there is room for.
    this.#lay(this.#reserveMax / 2);
    // Its other half is room for the log of what fills the free pages of the database.
    this.#reserve.shrink(this.#reserveTarget(this.#measure()));
    if (this.#mayOpen(this.#measure())) {
      this.#reason = undefined;
      this.#refused = noLoad;
      process.emitWarning(`${this.#folder}: there is room on the disk again: all writes are taken`);
      this.#onChange(undefined);
    }
  }

  #mayOpen(found: Measure): boolean {
    const { usableBytes, spareBytes, reserveBytes } = found;
    return (
      performance.now() >= this.#mayOpenAtMs &&
      reserveBytes >= Math.min(this.#reserveTarget(found), this.#reserveMax / 2) &&
      usableBytes >= this.#reserveMax * 0.375 &&
      usableBytes + spareBytes >= this.#reserveMax * 2 &&
      this.#isRoomFor(this.#refused, found)
    );
  }

  #isRoomFor({ bytes, rows }: AddedLoad, { usableBytes, spareBytes }: Measure): boolean {
    // The log holds each changed page as a whole: those of payloads, and about one of an index for two rows.
    const logBytes = bytes * 1.25 + (rows * this.#pageBytes) / 2;
    const addedBytes = bytes * 1.1 + rows * 2_048;
    return (
      usableBytes >= this.#reserveMax / 4 &&
      usableBytes + spareBytes >= this.#reserveMax &&
      usableBytes >= logBytes + Math.max(0, addedBytes - spareBytes)
    );
  }

  #fill(load: AddedLoad): void {
    this.#refused = {
      bytes: Math.max(load.bytes, this.#refused.bytes),
      rows: Math.max(load.rows, this.#refused.rows),
    };
    if (this.#reason === undefined) {
      this.#reason = this.#describe(this.#measure());
      process.emitWarning(`${this.#folder}: ${this.#reason}`);
      this.#onChange(this.#reason);
    }
  }

  #describe({ usableBytes, reserveBytes }: Measure): string {
    return (
      `the disk of the server's data folder is full (${inMebibytes(usableBytes)} MiB are free, and ${inMebibytes(reserveBytes)} MiB kept for deletions): ` +
      "only deletions are taken. Delete projects, datasets or old runs, or make room on that disk; writes are taken again as soon as there is room"
    );
  }

  #measure(): Measure {
    const pages = numberOf(this.#statements.pages.all());
    const growthBytes = Math.max(0, pages * this.#pageBytes - statSync(this.#path).size);
    return {
      usableBytes: this.#readUse(this.#folder).freeBytes - growthBytes,
      growthBytes,
      spareBytes: numberOf(this.#statements.freePages.all()) * this.#pageBytes,
      reserveBytes: this.#reserve.bytes,
    };
  }

  /** Where others left nothing at all free: the files beside the database need a little to be opened. */
  #leaveSome(): void {
    const leftBytes = this.#reserveMax / 8;
    const { reserveBytes } = this.#measure();
    if (this.#readUse(this.#folder).freeBytes < leftBytes / 2 && reserveBytes > leftBytes) {
      this.#reserve.shrink(reserveBytes - leftBytes);
    }
  }

  /** As far as readers let it. */
  #writeBack(): void {
    if (this.#db.inTransaction) {
      return;
    }
    try {
      eraseLog(this.#db);
    } catch {
      // No room for that either: it stays in the log, where it is as safe.
    }
  }

  /** What the reserve should take: no more than a deletion can need. */
  #reserveTarget({ spareBytes, growthBytes }: Measure): number {
    const databaseBytes = statSync(this.#path).size + growthBytes;
    const whole = Math.min(this.#reserveMax, Math.max(smallReserveBytes, databaseBytes));
    const isLent = this.#reason !== undefined && spareBytes >= this.#reserveMax * 2;
    return isLent ? Math.min(whole, this.#reserveMax / 2) : whole;
  }

  /** Lays some of it by, and the rest a little later. */
  #lay(stepBytes: number): void {
    clearTimeout(this.#layTimer);
    const found = this.#measure();
    // On a disk that is nearly full, some is left for the files beside the database: the text index, the log's index.
    const leftBytes = this.#reason === undefined ? this.#reserveMax : this.#reserveMax / 8;
    const missing = this.#reserveTarget(found) - found.reserveBytes;
    const bytes = Math.floor(Math.min(missing, found.usableBytes - leftBytes, stepBytes));
    if (bytes > 0 && this.#reserve.grow(bytes) && bytes < missing) {
      this.#layTimer = setTimeout(() => this.#lay(layStepBytes), layStepMs).unref();
    }
  }
}

const refusal = (reason: string): RequestError => new RequestError(503, reason, retryAfterSeconds);

const inMebibytes = (bytes: number): string => (Math.max(0, bytes) / mebibyte).toFixed(1);

const numberOf = (rows: readonly unknown[]): number => Number(parseRows(rows)[0]?.[0]);
