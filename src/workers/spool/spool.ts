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
import type { FrameFacts, Segment, SpoolDisk } from "./spool-segment.ts";
import { QuarantineFolder } from "./quarantine-folder.ts";

/** A tape that was read from the spool. */
export interface SpooledTape extends StoredTape {
  /** Whether this process wrote the records and counts them as spooled. */
  readonly own: boolean;
}

/** The segment that is being read, with its tapes that were not sent yet. */
interface Reading extends SegmentContent {
  readonly segment: Segment;
}

/** A frame of records. They are masked before they are written. */
interface Frame extends FrameFacts {
  /** Whether a worker has the same records and counts what is masked. */
  readonly isCopy?: boolean;
}

/** A segment is closed when it reaches this size, or this fraction of the quota. */
const maxSegmentBytes = 4_194_304;
const segmentsInQuota = 8;
/** Folder for segments that could not be read completely. */
export const quarantineFolderName = "aside";

/**
 * Stores tapes on disk. They are appended to segments in the writer directory of this process, and
 * read back in order of age, tapes of ended processes first. A write blocks while the operating
 * system copies the bytes. Only the group commit waits for the disk, and it is asynchronous.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #disk: SpoolDisk;
  readonly #directories: WriterDirectories;
  readonly #quarantine: QuarantineFolder;
  /** In order of age. The last one may be the one that is being written. */
  readonly #segments: Segment[] = [];
  readonly #commit: GroupCommit;
  #current: OpenSegment | undefined;
  /** The segment that is being read. The quota never evicts it. */
  #reading: Reading | undefined;
  readonly #segmentBytes: number;
  #bytes = 0;
  #sequence = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#disk = options.disk ?? fileSystem;
    this.#segmentBytes = Math.min(maxSegmentBytes, options.quotaBytes / segmentsInQuota);
    this.#quarantine = new QuarantineFolder(
      options.folder,
      quarantineFolderName,
      options.quotaBytes,
    );
    this.#directories = new WriterDirectories(options.folder, options.onTrouble);
    this.#commit = new GroupCommit({
      intervalMs: options.syncMs,
      directories: this.#directories,
      onError: (error) => options.onTrouble("spoolUnsynced", messageOf(error)),
    });
  }

  /** Bytes on disk, of our own segments and of those taken over from ended processes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes over the segments of processes that have ended. */
  async claim(): Promise<void> {
    const claimed = await this.#directories.claim();
    this.#segments.unshift(...claimed);
    this.#bytes += claimed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Appends records. If the quota would be exceeded, the oldest segments are deleted.
   *
   * @throws {@link SpoolFull} if the records alone exceed the quota.
   * @throws the file system's error, such as a full disk.
   */
  append(body: Uint8Array, records: number): void {
    if (this.#current?.isGone === true) {
      // The folder was deleted by another process, and the segment's records with it.
      this.#forget(this.#current);
    }
    const segment = this.#segmentToWrite();
    this.#write(segment, body, { records, kind: frameKind.records });
    if (segment.bytes >= this.#segmentBytes) {
      this.#seal();
    }
  }

  /**
   * Creates a journal for one tape, which keeps its records on disk until their outcome is known.
   */
  journal(): SpoolJournal {
    return new SpoolJournal({
      open: () => this.#newSegment(),
      write: (segment, record) =>
        this.#write(segment, record, { records: 1, kind: frameKind.journal }),
      store: (segment, { body, count, isCopy }) =>
        this.#write(segment, body, { records: count, kind: frameKind.records, isCopy }),
      keep: (segment) => {
        segment.seal();
        this.#segments.push(segment);
      },
      discard: (segment) => {
        segment.discard();
        this.#bytes -= segment.bytes;
      },
      onError: (error) => this.#options.onTrouble("spoolUnwritable", messageOf(error)),
    });
  }

  /** Returns the next tape in order of age; `undefined` if the spool is empty. */
  async next(): Promise<SpooledTape | undefined> {
    for (;;) {
      this.#reading ??= await this.#readOldest();
      if (this.#reading === undefined) {
        return undefined;
      }
      const { segment, tapes } = this.#reading;
      const [tape] = tapes;
      if (tape !== undefined) {
        return { ...tape, own: segment instanceof OpenSegment };
      }
      this.#finish(this.#reading);
    }
  }

  /**
   * Call it when the outcome of the tape from {@link next} is known. After the last tape of a
   * segment its file is deleted.
   */
  done(): void {
    this.#reading?.tapes.shift();
    if (this.#reading?.tapes.length === 0) {
      this.#finish(this.#reading);
    }
  }

  /**
   * Flushes everything to disk and releases the writer directories for the next client. Blocks;
   * never throws.
   */
  close(): void {
    this.#commit.close();
    this.#seal();
    this.#directories.release();
  }

  #segmentToWrite(): OpenSegment {
    if (this.#current === undefined) {
      this.#current = this.#newSegment();
      this.#segments.push(this.#current);
    }
    return this.#current;
  }

  #newSegment(): OpenSegment {
    const id = { sequence: this.#sequence++, salt: randomInt(2 ** 32) };
    return this.#directories.withOwnDirectory(
      (directory) => new OpenSegment(directory, id, this.#disk),
    );
  }

  #write(segment: OpenSegment, body: Uint8Array, { isCopy = false, ...frame }: Frame): void {
    const size = frameHeadBytes + body.length;
    if (this.#bytes + size > this.#options.quotaBytes) {
      this.#evictUntilFits(size, segment);
    }
    this.#options.protect?.(body, isCopy);
    segment.append(body, frame);
    this.#bytes += size;
    this.#commit.add(segment);
  }

  #seal(): void {
    this.#current?.seal();
    this.#current = undefined;
  }

  #evictUntilFits(bytes: number, writing: OpenSegment): void {
    const { quotaBytes, onLost } = this.#options;
    if (bytes > quotaBytes) {
      throw new SpoolFull(bytes, quotaBytes);
    }
    while (this.#bytes + bytes > quotaBytes) {
      const oldest = this.#segments.find(
        (segment) => segment !== this.#reading?.segment && segment !== writing,
      );
      if (oldest === undefined) {
        throw new SpoolFull(bytes, quotaBytes);
      }
      const own = oldest.records;
      const inherited = oldest instanceof OpenSegment ? 0 : this.#directories.countRecords(oldest);
      this.#release(oldest);
      onLost({ why: "evicted", own, inherited });
    }
  }

  async #readOldest(): Promise<Reading | undefined> {
    for (;;) {
      const [segment] = this.#segments;
      if (segment === undefined) {
        return undefined;
      }
      if (segment === this.#current) {
        this.#seal();
      }
      const reading = await this.#read(segment);
      if (reading !== undefined) {
        return reading;
      }
    }
  }

  async #read(segment: Segment): Promise<Reading | undefined> {
    const { onLost, onTrouble } = this.#options;
    let content: SegmentContent;
    try {
      content = await readTapes(segment, onTrouble);
    } catch (error) {
      onTrouble("spoolUnreadable", `${segment.name}: ${messageOf(error)}`);
      this.#forget(segment);
      return undefined;
    }
    if (!this.#segments.includes(segment)) {
      // The segment was evicted, and counted as lost, while it was read.
      return undefined;
    }
    if (segment instanceof OpenSegment) {
      const lost = segment.records - content.tapes.reduce((sum, { records }) => sum + records, 0);
      segment.records -= lost;
      onLost({ why: "gone", own: lost, inherited: 0 });
    }
    return { ...content, segment };
  }

  #finish({ segment, mustKeep }: Reading): void {
    this.#reading = undefined;
    if (mustKeep) {
      try {
        this.#quarantine.take(segment);
      } catch (error) {
        this.#options.onTrouble("spoolUnreadable", `${segment.name}: ${messageOf(error)}`);
      }
    }
    this.#release(segment);
  }

  /** Removes a segment from the list, and its file from the disk. */
  #release(segment: Segment): void {
    if (!this.#removeFromList(segment)) {
      return;
    }
    if (segment instanceof OpenSegment) {
      segment.discard();
    } else {
      this.#directories.remove(segment);
    }
  }

  /** Removes a segment whose file is gone or can't be read, and reports its records as lost. */
  #forget(segment: Segment): void {
    if (!this.#removeFromList(segment)) {
      return;
    }
    if (segment instanceof OpenSegment) {
      segment.seal();
    }
    this.#options.onLost({ why: "gone", own: segment.records, inherited: 0 });
  }

  #removeFromList(segment: Segment): boolean {
    const index = this.#segments.indexOf(segment);
    if (index === -1) {
      return false;
    }
    this.#segments.splice(index, 1);
    this.#bytes -= segment.bytes;
    if (segment === this.#current) {
      this.#current = undefined;
    }
    return true;
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
