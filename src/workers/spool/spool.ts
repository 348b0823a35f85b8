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

/** One spooled tape, out of its segment. */
export interface SpooledTape extends StoredTape {
  /** Whether this process counts its records as spooled. */
  readonly own: boolean;
}

/** A segment that is read, with what is left of it to be sent. */
interface Reading extends SegmentContent {
  readonly segment: Segment;
}

/** A frame of records that are masked before they are written. */
interface Frame extends FrameFacts {
  /** Whether the records are with a worker too, which counts what is masked. */
  readonly isCopy?: boolean;
}

/** A segment is closed, and another begun, when it holds this much, or this part of the quota. */
const segmentBytes = 4_194_304;
const segmentsInQuota = 8;
/** Where segments stay in which something can't be read. */
export const quarantineFolderName = "aside";

/**
 * Tapes on disk: appended to segments in the writer directory of this process, and read back the oldest first, those of
 * ended processes before our own. A write blocks while the operating system copies the bytes; only the group commit waits
 * for the disk, and that is asynchronous.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #disk: SpoolDisk;
  readonly #directories: WriterDirectories;
  readonly #quarantine: QuarantineFolder;
  /** The oldest first. The last may be the one that is written to. */
  readonly #segments: Segment[] = [];
  readonly #commit: GroupCommit;
  #current: OpenSegment | undefined;
  /** The one that is read; quota leaves it alone. */
  #reading: Reading | undefined;
  readonly #segmentBytes: number;
  #bytes = 0;
  #sequence = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#disk = options.disk ?? fileSystem;
    this.#segmentBytes = Math.min(segmentBytes, options.quotaBytes / segmentsInQuota);
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

  /** Bytes on disk, ours and what was taken over. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes over what processes left behind that are gone. */
  async claim(): Promise<void> {
    const claimed = await this.#directories.claim();
    this.#segments.unshift(...claimed);
    this.#bytes += claimed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Appends records; the oldest segments go where the quota would not hold.
   *
   * @throws {@link SpoolFull} they alone are more than the quota allows.
   * @throws the file system's error, such as a full disk.
   */
  append(body: Uint8Array, records: number): void {
    if (this.#current?.isGone === true) {
      // The folder was removed under us: what is written there is lost with the file.
      this.#forget(this.#current);
    }
    const segment = this.#segmentToWrite();
    this.#write(segment, body, { records, kind: frameKind.records });
    if (segment.bytes >= this.#segmentBytes) {
      this.#seal();
    }
  }

  /** For one tape, whose records are on disk until their outcome is known. */
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

  /** The next tape, the oldest first; `undefined` when the spool is empty. */
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

  /** What became of the tape that {@link next} gave is known; with the last of its segment the file goes. */
  done(): void {
    this.#reading?.tapes.shift();
    if (this.#reading?.tapes.length === 0) {
      this.#finish(this.#reading);
    }
  }

  /** Forces all onto the disk and releases the writer directories for the next client. Blocks; never throws. */
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
    return this.#directories.inOwn((directory) => new OpenSegment(directory, id, this.#disk));
  }

  #write(segment: OpenSegment, body: Uint8Array, { isCopy = false, ...frame }: Frame): void {
    const size = frameHeadBytes + body.length;
    if (this.#bytes + size > this.#options.quotaBytes) {
      this.#evictFor(size, segment);
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

  #evictFor(bytes: number, writing: OpenSegment): void {
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
      const inherited = oldest instanceof OpenSegment ? 0 : this.#directories.recordsOf(oldest);
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
      // Evicted, and counted, while it was read.
      return undefined;
    }
    if (segment instanceof OpenSegment) {
      const lost = segment.records - content.tapes.reduce((sum, { records }) => sum + records, 0);
      segment.records -= lost;
      onLost({ why: "gone", own: lost, inherited: 0 });
    }
    return { ...content, segment };
  }

  #finish({ segment, isKept }: Reading): void {
    this.#reading = undefined;
    if (isKept) {
      try {
        this.#quarantine.take(segment);
      } catch (error) {
        this.#options.onTrouble("spoolUnreadable", `${segment.name}: ${messageOf(error)}`);
      }
    }
    this.#release(segment);
  }

  /** Takes a segment off the list, and its file off the disk. */
  #release(segment: Segment): void {
    if (!this.#takeOff(segment)) {
      return;
    }
    if (segment instanceof OpenSegment) {
      segment.discard();
    } else {
      this.#directories.remove(segment);
    }
  }

  /** The segment's file is gone, or can't be read. */
  #forget(segment: Segment): void {
    if (!this.#takeOff(segment)) {
      return;
    }
    if (segment instanceof OpenSegment) {
      segment.seal();
    }
    this.#options.onLost({ why: "gone", own: segment.records, inherited: 0 });
  }

  #takeOff(segment: Segment): boolean {
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
