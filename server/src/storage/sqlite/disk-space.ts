import { statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { RequestError } from "../../model/errors.ts";
import { DiskReserve, isDiskFull, readDiskUse, computeReserveBytes } from "./disk-reserve.ts";
import type { DiskUse } from "./disk-reserve.ts";
import { parseRows } from "./rows.ts";
import { eraseLog } from "./write-ahead-log.ts";
import type { Connection } from "./connection.ts";

const mebibyte = 1_048_576;
/** A disk with more usable space than this is checked only a few times per second instead of before each write. */
const ampleBytes = 1_024 * mebibyte;
const recheckMs = 250;
const checkIntervalMs = 1_000;
/** The reserve file grows in steps, so that no write waits for it. */
const growStepBytes = mebibyte;
const growStepMs = 5;
/** Size of the reserve file that is enough for deleting all data of a small database. */
const smallReserveBytes = 4 * mebibyte;
const retryAfterSeconds = 10;

/** An estimate of what a transaction adds to the database: bytes of payloads, and rows. */
export interface AddedSize {
  readonly bytes: number;
  readonly rowCount: number;
}

/** The size of a write that adds nothing, such as a deletion. */
export const noAddedSize: AddedSize = { bytes: 0, rowCount: 0 };

/** Options of the check of the free disk space. */
export interface DiskSpaceOptions {
  /**
   * Called with the reason when only deletions are accepted from now on, and with `undefined` when all writes are
   * accepted again.
   */
  readonly onChange?: (reason: string | undefined) => void;
  readonly readUse?: (folder: string) => DiskUse;
}

interface SpaceMeasurement {
  /**
   * Free bytes of the disk after the write-ahead log is written back, not including the reserve file: the bytes by
   * which the database may grow.
   */
  readonly usableBytes: number;
  /** Bytes by which the database file grows when the write-ahead log is written back. */
  readonly growthBytes: number;
  /** Bytes of free pages within the database, which are used before its file grows. */
  readonly spareBytes: number;
  /** Size of the reserve file. */
  readonly reserveBytes: number;
}

/**
 * Decides which writes are accepted, depending on the space left on the disk. Normally enough space stays free to
 * write the write-ahead log back at any time, and a reserve file keeps space for deletions. If space runs out, only
 * deletions are accepted, which may use the space of the reserve file. After each deletion the log is written back,
 * and the reserve file grows again.
 *
 * States: open -> full -> open. `r` is the size of the reserve file (32 MiB, less on a small disk). The state becomes
 * full if fewer than r/4 bytes are usable, if these bytes and the free pages of the database are together smaller
 * than r, or if a write did not fit. It becomes open again if at least 3r/8 bytes are usable, if these bytes and the
 * free pages are together at least 2r, and if the write that did not fit now fits.
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
  readonly #checkTimer: NodeJS.Timeout;
  #growTimer: NodeJS.Timeout | undefined;
  #isAmpleUntilMs = 0;
  #bytesSinceCheck = 0;
  #reason: string | undefined;
  /** Whether the reserve file was deleted for a deletion that needed its space. */
  #isReserveReleased = false;
  /** After a failed write, writes are refused until this time, however much free space the disk reports. */
  #retryAtMs = 0;
  /** The largest size of a write that did not fit. */
  #refusedSize: AddedSize = noAddedSize;

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
    this.#reserveMax = computeReserveBytes(readUse(this.#folder));
    this.#statements = {
      pages: db.prepare("PRAGMA page_count").raw(),
      freePages: db.prepare("PRAGMA freelist_count").raw(),
    };
    this.#pageBytes = readNumber(db.prepare("PRAGMA page_size").raw().all());
    this.#check(noAddedSize);
    if (this.#reason === undefined) {
      this.#growReserve(smallReserveBytes);
    } else {
      this.#freeSomeReserve();
      this.#update();
    }
    // Set the callback last, so that it reports only changes after construction.
    this.#onChange = onChange;
    this.#checkTimer = setInterval(() => this.#checkPeriodically(), checkIntervalMs).unref();
  }

  /** The reason why the database currently accepts only deletions; `undefined` if it accepts all writes. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether so little space is free that each transaction should be small. */
  get isLow(): boolean {
    return performance.now() >= this.#isAmpleUntilMs;
  }

  /** Stops the timers. */
  close(): void {
    clearInterval(this.#checkTimer);
    clearTimeout(this.#growTimer);
  }

  /** Must be called before a write that adds data. Returns the error (503) if the disk is too full for the write. */
  checkSpaceFor(added: AddedSize): RequestError | undefined {
    if (this.#reason === undefined) {
      this.#bytesSinceCheck += added.bytes;
      const isAmple = performance.now() < this.#isAmpleUntilMs;
      if (!isAmple || this.#bytesSinceCheck > ampleBytes / 4) {
        this.#check(added);
      }
    }
    return this.#reason === undefined ? undefined : createRefusal(this.#reason);
  }

  /**
   * Must be called after each slice of a deletion. If space is short, writes the write-ahead log back to free its
   * space.
   */
  shortenLog(): void {
    if (performance.now() >= this.#isAmpleUntilMs) {
      this.#writeBack();
    }
  }

  /** Must be called after a complete or failed deletion. Creates the reserve file again, if it was deleted. */
  restoreReserve(): void {
    this.#isReserveReleased = false;
    if (performance.now() >= this.#isAmpleUntilMs) {
      this.#writeBack();
      this.#update();
    }
  }

  /**
   * Must be called with the error of a failed write. Returns whether the write failed because the disk is full.
   *
   * @param added - the estimated size of the write; zero for a deletion.
   */
  handleIfFull(cause: unknown, added: AddedSize): boolean {
    if (!isDiskFull(cause, this.#folder, this.#readUse)) {
      return false;
    }
    this.#isAmpleUntilMs = 0;
    if (added.bytes + added.rowCount > 0) {
      this.#markFull(added);
      this.#retryAtMs = performance.now() + retryAfterSeconds * 1_000;
    }
    this.#writeBack();
    return true;
  }

  /** The error of a write that failed because the disk is full. */
  createFailure(): RequestError {
    return createRefusal(this.#reason ?? this.#describe(this.#measure()));
  }

  /**
   * Deletes the reserve file for a deletion that found no space. It is created again after {@link restoreReserve} was
   * called. Returns whether there was a reserve file.
   */
  releaseReserve(): boolean {
    this.#isReserveReleased = true;
    clearTimeout(this.#growTimer);
    const wasReleased = this.#reserve.release();
    // Data that did not fit into the database file before may fit now.
    this.#writeBack();
    return wasReleased;
  }

  /** Checks whether there is space for a write of this size, and updates the state. */
  #check(added: AddedSize): void {
    this.#bytesSinceCheck = 0;
    let measurement = this.#measure();
    if (measurement.usableBytes >= ampleBytes) {
      this.#isAmpleUntilMs = performance.now() + recheckMs;
      return;
    }
    this.#isAmpleUntilMs = 0;
    if (measurement.growthBytes > this.#reserveMax / 4 || !this.#hasSpaceFor(added, measurement)) {
      this.#writeBack();
      measurement = this.#measure();
    }
    if (!this.#hasSpaceFor(added, measurement)) {
      this.#markFull(added);
    }
  }

  /** Checks the disk between writes, because other programs also use and free space. */
  #checkPeriodically(): void {
    try {
      if (this.#reason === undefined) {
        this.#check(noAddedSize);
      }
      if (!this.#isReserveReleased) {
        this.#update();
      }
    } catch {
      // The database can't be read. Reads and writes report that.
    }
  }

  /** Accepts all writes again if there is enough space, and enlarges the reserve file. */
  #update(): void {
    if (this.#reason === undefined) {
      this.#growReserve(growStepBytes);
      return;
    }
    if (this.#measure().growthBytes > 0) {
      this.#writeBack();
    }
    // First enlarge the reserve file to half of its maximum, which is what deletions need.
    this.#growReserve(this.#reserveMax / 2);
    // Shrink the reserve file to that half again if the database has many free pages: to write to these pages, the log
    // needs free space on the disk.
    this.#reserve.shrink(this.#computeReserveTarget(this.#measure()));
    if (this.#canReopen(this.#measure())) {
      this.#reason = undefined;
      this.#refusedSize = noAddedSize;
      process.emitWarning(
        `${this.#folder}: there is space on the disk again: all writes are accepted`,
      );
      this.#onChange(undefined);
    }
  }

  #canReopen(measurement: SpaceMeasurement): boolean {
    const { usableBytes, spareBytes, reserveBytes } = measurement;
    return (
      performance.now() >= this.#retryAtMs &&
      reserveBytes >= Math.min(this.#computeReserveTarget(measurement), this.#reserveMax / 2) &&
      usableBytes >= this.#reserveMax * 0.375 &&
      usableBytes + spareBytes >= this.#reserveMax * 2 &&
      this.#hasSpaceFor(this.#refusedSize, measurement)
    );
  }

  #hasSpaceFor(
    { bytes, rowCount }: AddedSize,
    { usableBytes, spareBytes }: SpaceMeasurement,
  ): boolean {
    // The write-ahead log contains each changed page as a whole: the pages of payloads, and about one page of an
    // index for every two rows.
    const logBytes = bytes * 1.25 + (rowCount * this.#pageBytes) / 2;
    const addedBytes = bytes * 1.1 + rowCount * 2_048;
    return (
      usableBytes >= this.#reserveMax / 4 &&
      usableBytes + spareBytes >= this.#reserveMax &&
      usableBytes >= logBytes + Math.max(0, addedBytes - spareBytes)
    );
  }

  #markFull(added: AddedSize): void {
    this.#refusedSize = {
      bytes: Math.max(added.bytes, this.#refusedSize.bytes),
      rowCount: Math.max(added.rowCount, this.#refusedSize.rowCount),
    };
    if (this.#reason === undefined) {
      this.#reason = this.#describe(this.#measure());
      process.emitWarning(`${this.#folder}: ${this.#reason}`);
      this.#onChange(this.#reason);
    }
  }

  #describe({ usableBytes, reserveBytes }: SpaceMeasurement): string {
    return (
      `the disk of the server's data folder is full (${toMebibytes(usableBytes)} MiB are free, and ${toMebibytes(reserveBytes)} MiB reserved for deletions): ` +
      "only deletions are accepted. Delete projects, datasets or old runs, or free space on that disk; writes are accepted again as soon as there is space"
    );
  }

  #measure(): SpaceMeasurement {
    const pageCount = readNumber(this.#statements.pages.all());
    const growthBytes = Math.max(0, pageCount * this.#pageBytes - statSync(this.#path).size);
    return {
      usableBytes: this.#readUse(this.#folder).freeBytes - growthBytes,
      growthBytes,
      spareBytes: readNumber(this.#statements.freePages.all()) * this.#pageBytes,
      reserveBytes: this.#reserve.bytes,
    };
  }

  /**
   * If other programs left almost no free space, shrinks the reserve file, because opening the files next to the
   * database needs a little space.
   */
  #freeSomeReserve(): void {
    const keptFreeBytes = this.#reserveMax / 8;
    const { reserveBytes } = this.#measure();
    if (this.#readUse(this.#folder).freeBytes < keptFreeBytes / 2 && reserveBytes > keptFreeBytes) {
      this.#reserve.shrink(reserveBytes - keptFreeBytes);
    }
  }

  /** Writes the write-ahead log back, as far as readers allow it. */
  #writeBack(): void {
    if (this.#db.inTransaction) {
      return;
    }
    try {
      eraseLog(this.#db);
    } catch {
      // There is not enough space for the checkpoint either. The data stays in the log, which is just as safe.
    }
  }

  /** Returns the target size of the reserve file: at most what a deletion can need. */
  #computeReserveTarget({ spareBytes, growthBytes }: SpaceMeasurement): number {
    const databaseBytes = statSync(this.#path).size + growthBytes;
    const fullTarget = Math.min(this.#reserveMax, Math.max(smallReserveBytes, databaseBytes));
    const isHalved = this.#reason !== undefined && spareBytes >= this.#reserveMax * 2;
    return isHalved ? Math.min(fullTarget, this.#reserveMax / 2) : fullTarget;
  }

  /** Enlarges the reserve file by one step, and schedules the next step. */
  #growReserve(stepBytes: number): void {
    clearTimeout(this.#growTimer);
    const measurement = this.#measure();
    // On a nearly full disk, leave some space for the files next to the database: the text index, and the shared
    // memory of the write-ahead log.
    const keptFreeBytes = this.#reason === undefined ? this.#reserveMax : this.#reserveMax / 8;
    const missingBytes = this.#computeReserveTarget(measurement) - measurement.reserveBytes;
    const bytes = Math.floor(
      Math.min(missingBytes, measurement.usableBytes - keptFreeBytes, stepBytes),
    );
    if (bytes > 0 && this.#reserve.grow(bytes) && bytes < missingBytes) {
      this.#growTimer = setTimeout(() => this.#growReserve(growStepBytes), growStepMs).unref();
    }
  }
}

const createRefusal = (reason: string): RequestError =>
  new RequestError(503, reason, retryAfterSeconds);

const toMebibytes = (bytes: number): string => (Math.max(0, bytes) / mebibyte).toFixed(1);

const readNumber = (rows: readonly unknown[]): number => Number(parseRows(rows)[0]?.[0]);
