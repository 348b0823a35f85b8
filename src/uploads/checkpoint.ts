import { open, readFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { ValidationError } from "../model/errors.ts";
import { Fields } from "../model/fields.ts";
import type { KeyValues } from "../model/run.ts";
import type { Checkpoint } from "../model/resources/upload.ts";

/** Version of the file format. A file of another version is refused. */
const format = 1;
/** Shortest time between two writes, in milliseconds. */
const minWriteIntervalMs = 250;
/**
 * Size of a disk block in bytes. The file has two slots, each for one record of the upload's position. The size of a
 * slot is a multiple of a block, so that writing one slot never touches a block of the other slot.
 */
const blockBytes = 4_096;
/** Bytes reserved in a slot for all members of its record other than `target` and `source`. */
const variableBytes = 512;

/** How far an upload has progressed, and digests of two rows, which identify its source. */
export interface CheckpointPosition {
  /** Number of completed rows from the beginning of the source. */
  readonly rows: number;
  /** The first and the last recorded row. A later upload compares them to detect that the source is a different one. */
  readonly first: RecordedRow;
  readonly last: RecordedRow;
}

/** A digest of the content of a row. */
export interface RecordedRow {
  readonly row: number;
  readonly digest: string;
}

/** Options of {@link CheckpointFile.open}. */
export interface CheckpointOptions {
  /** What is uploaded and where to, such as `examples of dataset …`. */
  readonly target: string;
  /** Called once if the file can't be written. */
  readonly onFault: (message: string) => void;
}

/**
 * The file of a checkpoint. It has two slots that are written alternately, so that one slot holds a complete record
 * whenever the process ends, and no temporary file is left behind. At a clean end the last record is the only content
 * of the file, in the first slot. The file is written at most every {@link minWriteIntervalMs}, and never by two writes
 * at the same time.
 */
export class CheckpointFile {
  /** The position that an earlier upload reached; `undefined` if there was no earlier upload. */
  readonly position: CheckpointPosition | undefined;
  readonly #checkpoint: Checkpoint;
  readonly #options: CheckpointOptions;
  #pendingPosition: CheckpointPosition | undefined;
  /** The position that was written last, if the other slot may still hold an older record; otherwise `undefined`. */
  #writtenPosition: CheckpointPosition | undefined;
  #writing: Promise<void> | undefined;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #hasReportedFault = false;
  /** The slot that does not hold the latest record. */
  #freeSlot: 0 | 1;

  private constructor(
    checkpoint: Checkpoint,
    options: CheckpointOptions,
    stored: StoredPosition | undefined,
  ) {
    this.#checkpoint = checkpoint;
    this.#options = options;
    this.#freeSlot = stored?.slot === 0 ? 1 : 0;
    this.position = stored?.position;
  }

  /**
   * Opens a checkpoint.
   *
   * @throws {@link ValidationError} if the file can't be read, or belongs to another upload.
   */
  static async open(
    checkpoint: string | Checkpoint,
    options: CheckpointOptions,
  ): Promise<CheckpointFile> {
    const location = typeof checkpoint === "string" ? { path: checkpoint } : checkpoint;
    return new CheckpointFile(location, options, await readPosition(location, options.target));
  }

  /** Records the position of the upload. Writes it to the file unless the last write was too recent. */
  recordPosition(position: CheckpointPosition): void {
    this.#pendingPosition = position;
    if (this.#writing === undefined && performance.now() - this.#wroteAt >= minWriteIntervalMs) {
      this.#writing = this.#write();
    }
  }

  /** Writes the latest position as the only record of the file. */
  async flush(): Promise<void> {
    await this.#writing;
    // If the latest position is already written, the other slot still holds an older record. Write the position once
    // more, as the only record.
    this.#pendingPosition ??= this.#writtenPosition;
    if (this.#pendingPosition !== undefined) {
      await this.#write({ isLast: true });
    }
  }

  async #write({ isLast } = { isLast: false }): Promise<void> {
    const position = this.#pendingPosition;
    this.#pendingPosition = undefined;
    const { path, source } = this.#checkpoint;
    const { target } = this.#options;
    const record = Buffer.from(JSON.stringify({ format, target, source, ...position }));
    const slotBytes = measureSlot(this.#checkpoint, target);
    const slot = Buffer.concat([record, Buffer.alloc(slotBytes - record.length - 1, " "), newline]);
    try {
      const file = await openToWrite(path);
      try {
        await writeSlot(file, slot, this.#freeSlot);
        if (isLast && this.#freeSlot === 1) {
          await writeSlot(file, slot, 0);
        }
        if (isLast) {
          await file.truncate(slotBytes);
        }
      } finally {
        await file.close();
      }
      this.#writtenPosition = isLast ? undefined : position;
      this.#freeSlot = isLast || this.#freeSlot === 0 ? 1 : 0;
    } catch (error) {
      // The upload continues. Report that a later upload can't resume from this position.
      if (!this.#hasReportedFault) {
        this.#hasReportedFault = true;
        this.#options.onFault(
          `The checkpoint ${path} can't be written: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
    this.#wroteAt = performance.now();
    this.#writing = undefined;
  }
}

const newline = Buffer.from("\n");

/**
 * Size in bytes of one of the two slots of a checkpoint file. It must not change from record to record, so members
 * whose length varies are not measured: `variableBytes` is reserved for them.
 */
function measureSlot({ source = "" }: Checkpoint, target: string): number {
  const fixedBytes = Buffer.byteLength(JSON.stringify({ target, source })) + variableBytes;
  return Math.ceil(fixedBytes / blockBytes) * blockBytes;
}

/** Opens the file without truncating it, because the other slot holds the valid record during a write. */
async function openToWrite(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return open(path, "wx+", 0o600);
    }
    throw cause;
  }
}

async function writeSlot(file: FileHandle, slot: Buffer, index: 0 | 1): Promise<void> {
  await file.write(slot, 0, slot.length, index * slot.length);
  await file.datasync();
}

/** The latest position in a checkpoint file, and the slot that contains it. */
interface StoredPosition {
  readonly position: CheckpointPosition;
  readonly slot: 0 | 1;
}

async function readPosition(
  checkpoint: Checkpoint,
  target: string,
): Promise<StoredPosition | undefined> {
  const { path } = checkpoint;
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return undefined;
    }
    throw new ValidationError(
      `The checkpoint ${path} can't be read: ${String(cause)}. Check the file's permissions, or name another file`,
      { cause },
    );
  }
  if (decodeSlot(bytes) === "") {
    // The process ended after it created the file and before it wrote to it.
    return undefined;
  }
  const latest = findLatestRecord(bytes);
  if (latest === undefined) {
    throw new ValidationError(`${path} is not a checkpoint: remove it, or name another file`);
  }
  const { record, slot } = latest;
  try {
    const fields = new Fields(record, "checkpoint");
    if (fields.readOptionalNumber("format") === format) {
      const [storedTarget, source] = [fields.readText("target"), fields.readOptionalText("source")];
      const knownRows = {
        first: parseRow(fields.readObject("first")),
        last: parseRow(fields.readObject("last")),
      };
      assertSameUpload(
        path,
        { target: storedTarget, source },
        { target, source: checkpoint.source },
      );
      return { position: { rows: fields.readNumber("rows"), ...knownRows }, slot };
    }
  } catch (cause) {
    throw cause instanceof ValidationError
      ? cause
      : new ValidationError(`${path} is not a checkpoint: remove it, or name another file`, {
          cause,
        });
  }
  throw new ValidationError(
    `${path} is a checkpoint in the format of another version: remove it to start from the first row`,
  );
}

/** Returns the text of a slot; empty for a slot that was never written, which contains zeros. */
const decodeSlot = (bytes: Buffer): string => bytes.toString().replaceAll("\u0000", "").trim();

/**
 * Largest size of a slot that is tried, in blocks. The record contains a path of at most 4,096 bytes, and each byte of
 * the path takes up to six bytes as JSON.
 */
const maxSlotBlocks = 16;

/**
 * Returns the record that counts the most completed rows. A file is either one record without slots, or has two slots,
 * each of which holds a record or is empty.
 */
function findLatestRecord(
  bytes: Buffer,
): { readonly record: unknown; readonly slot: 0 | 1 } | undefined {
  const singleRecord = parseRecord(decodeSlot(bytes));
  if (singleRecord !== undefined) {
    return { record: singleRecord, slot: decodeSlot(bytes.subarray(0, blockBytes)) === "" ? 1 : 0 };
  }
  for (
    let slotBytes = blockBytes;
    slotBytes <= maxSlotBlocks * blockBytes && slotBytes < bytes.length;
    slotBytes += blockBytes
  ) {
    const firstRecord = parseRecord(decodeSlot(bytes.subarray(0, slotBytes)));
    const second = parseRecord(decodeSlot(bytes.subarray(slotBytes)));
    if (firstRecord !== undefined || second !== undefined) {
      return readRowCount(second) > readRowCount(firstRecord)
        ? { record: second, slot: 1 }
        : { record: firstRecord ?? second, slot: firstRecord === undefined ? 1 : 0 };
    }
  }
  return undefined;
}

/** Parses a record. Returns `undefined` if the text is not JSON, such as a slot half written at a power failure. */
function parseRecord(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const readRowCount = (record: unknown): number =>
  typeof record === "object" && record !== null && "rows" in record ? Number(record.rows) : -1;

function parseRow(value: KeyValues): RecordedRow {
  const fields = new Fields(value, "checkpoint");
  return { row: fields.readNumber("row"), digest: fields.readText("digest") };
}

/** What a checkpoint must have in common with the upload that continues it. */
interface UploadIdentity {
  readonly target: string;
  readonly source: string | undefined;
}

function assertSameUpload(path: string, stored: UploadIdentity, expected: UploadIdentity): void {
  if (stored.target !== expected.target) {
    throw new ValidationError(
      `The checkpoint ${path} belongs to an upload of ${stored.target}, not of ${expected.target}. Name another file, or remove it to start from the first row`,
    );
  }
  if (stored.source !== expected.source) {
    throw new ValidationError(
      `The checkpoint ${path} belongs to another source: ${stored.source ?? "an unnamed source"}, not ${expected.source ?? "an unnamed source"}. Name another file, or remove it to start from the first row`,
    );
  }
}
