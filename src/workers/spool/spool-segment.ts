import { closeSync, fstatSync, ftruncateSync, rmSync } from "node:fs";
import type * as fileSystem from "node:fs";
import { join } from "node:path";
import { frameHead, frameHeadBytes, segmentName } from "./spool-format.ts";

/** What a spool writes with; tests put one in its place whose disk is full. */
export type SpoolDisk = Pick<typeof fileSystem, "openSync" | "writevSync" | "fsync" | "fsyncSync">;

/** Only the owner may read: a spooled run is as private as the run. */
const fileMode = 0o600;

/** A segment of this process or of an earlier one. */
export interface Segment {
  readonly folder: string;
  readonly name: string;
  /** Bytes of the file. */
  bytes: number;
  /** Records in it that this process counts as spooled; of an earlier process none are. */
  records: number;
}

/** A segment that is being written. */
export class OpenSegment implements Segment {
  readonly folder: string;
  readonly name: string;
  readonly #salt: number;
  readonly #disk: SpoolDisk;
  readonly #fd: number;
  bytes = 0;
  records = 0;
  #isDirty = false;
  #isSealed = false;
  #isClosed = false;
  #syncing = false;

  /** @throws the file system's error. */
  constructor(folder: string, { sequence, salt }: SegmentId, disk: SpoolDisk) {
    this.folder = folder;
    this.name = segmentName(sequence, salt);
    this.#salt = salt;
    this.#disk = disk;
    this.#fd = disk.openSync(join(folder, this.name), "wx", fileMode);
  }

  /** Whether the file was removed by somebody else: what is written to it is lost. */
  get isGone(): boolean {
    return !this.#isClosed && fstatSync(this.#fd).nlink === 0;
  }

  /**
   * Appends a frame, whole or not at all.
   *
   * @throws the file system's error, such as a full disk.
   * @throws Error it was sealed: its file may be closed, and the descriptor's number be that of another file.
   */
  append(body: Uint8Array, { records, kind }: FrameFacts): void {
    if (this.#isSealed) {
      throw new Error(`${this.name} is sealed, and takes nothing more`);
    }
    const head = frameHead(body, { kind, records, salt: this.#salt });
    const size = frameHeadBytes + body.length;
    let written = 0;
    try {
      // At its place: what was taken back moved no pointer of the file.
      written = this.#disk.writevSync(this.#fd, [head, body], this.bytes);
      if (written < size) {
        // On a full disk a part is written. The second try throws the reason.
        const rest = Buffer.concat([head, body]).subarray(written);
        written += this.#disk.writevSync(this.#fd, [rest], this.bytes + written);
      }
      if (written < size) {
        throw new RangeError("The disk takes no more");
      }
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#isDirty = true;
    this.bytes += size;
    this.records += records;
  }

  /** A group commit: one for all that was appended since the last. */
  sync(onError: (error: Error) => void): void {
    if (!this.#isDirty || this.#syncing || this.#isClosed) {
      return;
    }
    this.#isDirty = false;
    this.#syncing = true;
    this.#disk.fsync(this.#fd, (error) => {
      this.#syncing = false;
      if (error !== null) {
        onError(error);
      }
      this.#closeIfDone();
    });
  }

  /** The same, now. @throws the file system's error. */
  syncNow(): void {
    if (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false;
      this.#disk.fsyncSync(this.#fd);
      this.#closeIfDone();
    }
  }

  /** Nothing is appended any more; the file is closed when it is on the disk. */
  seal(): void {
    this.#isSealed = true;
    this.#closeIfDone();
  }

  /** Removes the file; what it held is known to have arrived, or counted. */
  discard(): void {
    this.#isDirty = false;
    this.seal();
    rmSync(join(this.folder, this.name), { force: true });
  }

  #closeIfDone(): void {
    if (this.#isSealed && !this.#isDirty && !this.#syncing && !this.#isClosed) {
      this.#isClosed = true;
      closeSync(this.#fd);
    }
  }

  /** Half a frame must not stand before a whole one. */
  #takeBack(): void {
    try {
      ftruncateSync(this.#fd, this.bytes);
    } catch {
      // A reader skips what is no frame; the failure that led here is thrown and counted.
    }
  }
}

/** The description of a body in the head of its frame. */
export interface FrameFacts {
  readonly records: number;
  readonly kind: number;
}

export interface SegmentId {
  readonly sequence: number;
  readonly salt: number;
}
