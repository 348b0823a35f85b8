import { randomInt } from "node:crypto";
import * as fileSystem from "node:fs";
import { GroupCommit } from "./group-commit.ts";
import { SpoolFull } from "./spool-options.ts";
import { frameHeadBytes, frameKind } from "./spool-format.ts";
import { SpoolJournal } from "./spool-journal.ts";
import { WriterDirectories } from "./writer-directories.ts";
import type { SpoolOptions } from "./spool-options.ts";
import { readTapes } from "./spool-reading.ts";
import type { SegmentContent, StoredTape } from "./spool-reading.ts";
import { OpenSegment } from "./spool-segment.ts";
import type { FrameDescription, Segment, SpoolFileSystem } from "./spool-segment.ts";
import { QuarantineFolder } from "./quarantine-folder.ts";

/** A tape, which is a buffer of recorded runs, that was read from the spool. */
export interface SpooledTape extends StoredTape {
  /** Whether this process wrote the records and counts them as spooled. */
  readonly isOwn: boolean;
}

/** The segment that is being read, and those of its tapes that were not sent yet. */
interface SegmentBeingRead extends SegmentContent {
  readonly segment: Segment;
}

/** A frame of records. They are masked before they are written. */
interface FrameOfRecords extends FrameDescription {
  /**
   * Whether these records are copies of records that a worker is sending. Their masked matches are not counted here,
   * because the worker counts them.
   */
  readonly isCopy?: boolean;
}

/** A segment is closed when it reaches this size, or a smaller one that follows from {@link segmentsInQuota}. */
const maxSegmentBytes = 4_194_304;
/** Minimum number of full segments that fit into the quota. */
const segmentsInQuota = 8;
/** Folder for segments that could not be read completely. */
export const quarantineFolderName = "aside";

/**
 * Stores tapes, the buffers of recorded runs, on disk. They are appended to files, called segments, in the writer
 * directory of this process, and read back in order of age, tapes of ended processes first. A write blocks while the
 * operating system copies the bytes. Only the group commit waits for the disk, and it is asynchronous.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #fileSystem: SpoolFileSystem;
  readonly #directories: WriterDirectories;
  readonly #quarantine: QuarantineFolder;
  /** All segments of this spool, the oldest first. The last one may still be written to. */
  readonly #segments: Segment[] = [];
  readonly #groupCommit: GroupCommit;
  #openSegment: OpenSegment | undefined;
  /** The segment that is being read. It is never deleted to stay within the quota. */
  #segmentBeingRead: SegmentBeingRead | undefined;
  readonly #maxSegmentBytes: number;
  #bytesOnDisk = 0;
  #sequence = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#fileSystem = options.fileSystem ?? fileSystem;
    this.#maxSegmentBytes = Math.min(maxSegmentBytes, options.quotaBytes / segmentsInQuota);
    this.#quarantine = new QuarantineFolder(
      options.folder,
      quarantineFolderName,
      options.quotaBytes,
    );
    this.#directories = new WriterDirectories(options.folder, {
      fileSystem: this.#fileSystem,
      onFault: options.onFault,
    });
    this.#groupCommit = new GroupCommit({
      intervalMs: options.syncMs,
      directories: this.#directories,
      onError: (error) => options.onFault("spoolUnsynced", readMessage(error)),
    });
  }

  /** Bytes on disk of this process's segments and of the segments that were taken over from ended processes. */
  get bytes(): number {
    return this.#bytesOnDisk;
  }

  /** Takes over the segments of processes that have ended. */
  async claim(): Promise<void> {
    const claimedSegments = await this.#directories.claim();
    this.#segments.unshift(...claimedSegments);
    this.#bytesOnDisk += claimedSegments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /**
   * Appends records. If the quota would be exceeded, the oldest segments are deleted.
   *
   * @throws {@link SpoolFull} if the records alone exceed the quota.
   * @throws the file system's error, such as a full disk.
   */
  append(body: Uint8Array, recordCount: number): void {
    if (this.#openSegment?.isGone === true) {
      // The folder was deleted by another process, and the segment's records with it.
      this.#abandonSegment(this.#openSegment);
    }
    const segment = this.#getOpenSegment();
    this.#write(segment, body, { recordCount, kind: frameKind.records });
    if (segment.sizeBytes >= this.#maxSegmentBytes) {
      this.#seal();
    }
  }

  /**
   * Creates a journal, which keeps the records of one tape on disk while it is not known whether they are delivered.
   */
  createJournal(): SpoolJournal {
    return new SpoolJournal({
      createSegment: () => this.#createSegment(),
      writeRecord: (segment, record) =>
        this.#write(segment, record, { recordCount: 1, kind: frameKind.journal }),
      writeRecords: (segment, { body, count, isCopy }) =>
        this.#write(segment, body, { recordCount: count, kind: frameKind.records, isCopy }),
      keepSegment: (segment) => {
        segment.seal();
        this.#segments.push(segment);
      },
      deleteSegment: (segment) => {
        segment.discard();
        this.#bytesOnDisk -= segment.sizeBytes;
      },
      onError: (error) => this.#options.onFault("spoolUnwritable", readMessage(error)),
    });
  }

  /** Returns the next tape in order of age; `undefined` if the spool is empty. */
  async readNextTape(): Promise<SpooledTape | undefined> {
    for (;;) {
      this.#segmentBeingRead ??= await this.#readOldest();
      if (this.#segmentBeingRead === undefined) {
        return undefined;
      }
      const { segment, tapes } = this.#segmentBeingRead;
      const [tape] = tapes;
      if (tape !== undefined) {
        return { ...tape, isOwn: segment instanceof OpenSegment };
      }
      this.#finishReading(this.#segmentBeingRead);
    }
  }

  /**
   * Call it when the tape from {@link readNextTape} need not be sent again. After the last tape of a segment, the
   * segment's file is deleted.
   */
  completeTape(): void {
    this.#segmentBeingRead?.tapes.shift();
    if (this.#segmentBeingRead?.tapes.length === 0) {
      this.#finishReading(this.#segmentBeingRead);
    }
  }

  /**
   * Flushes everything to disk and releases the writer directories for the next client. Blocks;
   * never throws.
   */
  close(): void {
    this.#groupCommit.close();
    this.#seal();
    this.#directories.release();
  }

  #getOpenSegment(): OpenSegment {
    if (this.#openSegment === undefined) {
      this.#openSegment = this.#createSegment();
      this.#segments.push(this.#openSegment);
    }
    return this.#openSegment;
  }

  #createSegment(): OpenSegment {
    const id = { sequence: this.#sequence++, salt: randomInt(2 ** 32) };
    return this.#directories.withOwnDirectory(
      (directory) => new OpenSegment(directory, id, this.#fileSystem),
    );
  }

  #write(
    segment: OpenSegment,
    body: Uint8Array,
    { isCopy = false, ...frame }: FrameOfRecords,
  ): void {
    const frameBytes = frameHeadBytes + body.length;
    if (this.#bytesOnDisk + frameBytes > this.#options.quotaBytes) {
      this.#evictUntilFits(frameBytes, segment);
    }
    this.#options.maskRecords?.(body, isCopy);
    segment.append(body, frame);
    this.#bytesOnDisk += frameBytes;
    this.#groupCommit.add(segment);
  }

  #seal(): void {
    this.#openSegment?.seal();
    this.#openSegment = undefined;
  }

  #evictUntilFits(bytes: number, writtenSegment: OpenSegment): void {
    const { quotaBytes, onLost } = this.#options;
    if (bytes > quotaBytes) {
      throw new SpoolFull(bytes, quotaBytes);
    }
    while (this.#bytesOnDisk + bytes > quotaBytes) {
      const oldest = this.#segments.find(
        (segment) => segment !== this.#segmentBeingRead?.segment && segment !== writtenSegment,
      );
      if (oldest === undefined) {
        throw new SpoolFull(bytes, quotaBytes);
      }
      const ownRecordCount = oldest.recordCount;
      const inheritedRecordCount =
        oldest instanceof OpenSegment ? 0 : this.#directories.countRecords(oldest);
      this.#deleteSegment(oldest);
      onLost({
        cause: "evicted",
        ownRecordCount,
        inheritedRecordCount,
      });
    }
  }

  async #readOldest(): Promise<SegmentBeingRead | undefined> {
    for (;;) {
      const [segment] = this.#segments;
      if (segment === undefined) {
        return undefined;
      }
      if (segment === this.#openSegment) {
        this.#seal();
      }
      const segmentBeingRead = await this.#tryRead(segment);
      if (segmentBeingRead !== undefined) {
        return segmentBeingRead;
      }
    }
  }

  async #tryRead(segment: Segment): Promise<SegmentBeingRead | undefined> {
    const { onLost, onFault } = this.#options;
    let content: SegmentContent;
    try {
      content = await readTapes(segment, onFault);
    } catch (error) {
      onFault("spoolUnreadable", `${segment.name}: ${readMessage(error)}`);
      this.#abandonSegment(segment);
      return undefined;
    }
    if (!this.#segments.includes(segment)) {
      // The segment was evicted, and counted as lost, while it was read.
      return undefined;
    }
    if (segment instanceof OpenSegment) {
      const lost =
        segment.recordCount - content.tapes.reduce((sum, { recordCount }) => sum + recordCount, 0);
      segment.recordCount -= lost;
      onLost({ cause: "gone", ownRecordCount: lost, inheritedRecordCount: 0 });
    }
    return { ...content, segment };
  }

  #finishReading({ segment, mustKeep }: SegmentBeingRead): void {
    this.#segmentBeingRead = undefined;
    if (mustKeep) {
      try {
        this.#quarantine.moveSegment(segment);
      } catch (error) {
        this.#options.onFault("spoolUnreadable", `${segment.name}: ${readMessage(error)}`);
        // The file stays where it is, because a later version may be able to read what this version can't.
        this.#forgetSegment(segment);
        return;
      }
    }
    this.#deleteSegment(segment);
  }

  /** Removes a segment from the list, and its file from the disk. */
  #deleteSegment(segment: Segment): void {
    if (!this.#removeFromList(segment)) {
      return;
    }
    if (segment instanceof OpenSegment) {
      segment.discard();
    } else {
      this.#directories.deleteSegment(segment);
    }
  }

  /** Removes a segment whose file is gone or can't be read, and reports its records as lost. */
  #abandonSegment(segment: Segment): void {
    if (this.#forgetSegment(segment)) {
      this.#options.onLost({
        cause: "gone",
        ownRecordCount: segment.recordCount,
        inheritedRecordCount: 0,
      });
    }
  }

  /** Removes a segment from the list and leaves its file. Returns `false` if it was no longer in the list. */
  #forgetSegment(segment: Segment): boolean {
    const wasListed = this.#removeFromList(segment);
    if (wasListed && segment instanceof OpenSegment) {
      segment.seal();
    }
    return wasListed;
  }

  #removeFromList(segment: Segment): boolean {
    const index = this.#segments.indexOf(segment);
    if (index === -1) {
      return false;
    }
    this.#segments.splice(index, 1);
    this.#bytesOnDisk -= segment.sizeBytes;
    if (segment === this.#openSegment) {
      this.#openSegment = undefined;
    }
    return true;
  }
}

const readMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
