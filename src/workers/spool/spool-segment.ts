import { closeSync, fstatSync, ftruncateSync, rmSync } from "node:fs";
import type * as fileSystem from "node:fs";
import { join } from "node:path";
import { createFrameHead, frameHeadBytes, formatSegmentName } from "./spool-format.ts";

/** The file system functions that a spool uses. Tests replace them to simulate a full disk. */
export type SpoolFileSystem = Pick<
  typeof fileSystem,
  "openSync" | "writevSync" | "fsync" | "fsyncSync"
>;

/** The mode of the spool's files. Only the owner has access, because recorded runs can contain private data. */
const fileMode = 0o600;

/** A file of the spool with records, written by this process or an earlier one. */
export interface Segment {
  readonly folder: string;
  readonly name: string;
  /** Size of the file in bytes. */
  sizeBytes: number;
  /** Number of records in the file that this process counts as spooled; 0 for a segment of an earlier process. */
  recordCount: number;
}

/** A segment that this process is writing. */
export class OpenSegment implements Segment {
  readonly folder: string;
  readonly name: string;
  readonly #salt: number;
  readonly #fileSystem: SpoolFileSystem;
  readonly #fileDescriptor: number;
  sizeBytes = 0;
  recordCount = 0;
  #isDirty = false;
  #isSealed = false;
  #isClosed = false;
  #isSyncing = false;

  /** @throws the file system's error. */
  constructor(folder: string, { sequence, salt }: SegmentId, disk: SpoolFileSystem) {
    this.folder = folder;
    this.name = formatSegmentName(sequence, salt);
    this.#salt = salt;
    this.#fileSystem = disk;
    this.#fileDescriptor = disk.openSync(join(folder, this.name), "wx", fileMode);
  }

  /** Whether another process deleted the file. Data that is written to it is lost. */
  get isGone(): boolean {
    return !this.#isClosed && fstatSync(this.#fileDescriptor).nlink === 0;
  }

  /**
   * Appends a frame, which is a head and `body`, completely or not at all.
   *
   * @throws the file system's error, such as a full disk.
   * @throws Error if the segment is sealed: its file may be closed, and its descriptor may belong
   * to another file by now.
   */
  append(body: Uint8Array, { recordCount, kind }: FrameDescription): void {
    if (this.#isSealed) {
      throw new Error(`${this.name} is sealed and can't be written to`);
    }
    const head = createFrameHead(body, { kind, recordCount, salt: this.#salt });
    const frameBytes = frameHeadBytes + body.length;
    let writtenBytes = 0;
    try {
      // Write at an explicit position: truncating after a failed write does not move the file position.
      writtenBytes = this.#fileSystem.writevSync(
        this.#fileDescriptor,
        [head, body],
        this.sizeBytes,
      );
      if (writtenBytes < frameBytes) {
        // On a full disk only a part is written. The second attempt throws the reason.
        const unwritten = Buffer.concat([head, body]).subarray(writtenBytes);
        writtenBytes += this.#fileSystem.writevSync(
          this.#fileDescriptor,
          [unwritten],
          this.sizeBytes + writtenBytes,
        );
      }
      if (writtenBytes < frameBytes) {
        throw new RangeError("The disk accepted only a part of the frame: it may be full");
      }
    } catch (error) {
      this.#truncateFailedWrite();
      throw error;
    }
    this.#isDirty = true;
    this.sizeBytes += frameBytes;
    this.recordCount += recordCount;
  }

  /**
   * Flushes to disk everything that was appended since the last call, without blocking. Returns `false` if it could not
   * start, because the disk is still busy with the previous call: call it again later.
   */
  flush(onError: (error: Error) => void): boolean {
    if (!this.#isDirty || this.#isClosed) {
      return true;
    }
    if (this.#isSyncing) {
      return false;
    }
    this.#isDirty = false;
    this.#isSyncing = true;
    this.#fileSystem.fsync(this.#fileDescriptor, (error) => {
      this.#isSyncing = false;
      if (error !== null) {
        onError(error);
      }
      this.#closeIfDone();
    });
    return true;
  }

  /**
   * Flushes to disk everything that was appended since the last call, and blocks until the disk is done.
   *
   * @throws the file system's error.
   */
  flushNow(): void {
    if (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false;
      this.#fileSystem.fsyncSync(this.#fileDescriptor);
      this.#closeIfDone();
    }
  }

  /** Marks the segment as complete. Its file is closed after it was flushed to disk. */
  seal(): void {
    this.#isSealed = true;
    this.#closeIfDone();
  }

  /** Deletes the file. Call it only if its records were delivered or counted as lost. */
  discard(): void {
    this.#isDirty = false;
    this.seal();
    rmSync(join(this.folder, this.name), { force: true });
  }

  #closeIfDone(): void {
    if (this.#isSealed && !this.#isDirty && !this.#isSyncing && !this.#isClosed) {
      this.#isClosed = true;
      closeSync(this.#fileDescriptor);
    }
  }

  /** Removes an incomplete frame, so that a complete one can follow. */
  #truncateFailedWrite(): void {
    try {
      ftruncateSync(this.#fileDescriptor, this.sizeBytes);
    } catch {
      // A reader skips invalid frames. The error of the failed write is still thrown by `append`.
    }
  }
}

/** The part of a frame's head that describes its body. */
export interface FrameDescription {
  readonly recordCount: number;
  readonly kind: number;
}

/** The numbers in the file name of a segment. */
export interface SegmentId {
  readonly sequence: number;
  readonly salt: number;
}
