import { open, readFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { ValidationError } from "../model/errors.ts";
import { Fields } from "../model/fields.ts";
import type { KeyValues } from "../model/run.ts";
import type { Checkpoint } from "../model/resources/upload.ts";

/** The format of the file; rows of another one are not compared. */
const format = 1;
/** Between two writes, at least. */
const pauseMs = 250;
/** Slots are whole blocks, so that writing one never touches the other. */
const blockBytes = 4_096;
/** Room for the members of a record beside target and source. */
const memberBytes = 512;

/** How far an upload got, from its checkpoint. */
export interface CheckpointPosition {
  /** Rows from the beginning of the source that are done with. */
  readonly rows: number;
  /** Two of them, by which the source is known again. */
  readonly first: RecordedRow;
  readonly last: RecordedRow;
}

/** What a row of the source holds, in short. */
export interface RecordedRow {
  readonly row: number;
  readonly digest: string;
}

export interface CheckpointOptions {
  /** What is uploaded, and to where. */
  readonly target: string;
  /** Called once where the file can't be written. */
  readonly onTrouble: (message: string) => void;
}

/**
 * A checkpoint's file. It has two slots, which are written in turn: whenever the process ends, one of them
 * holds a whole record, and nothing lies beside the file that someone would have to remove. What was
 * written last is left alone in the first slot at a clean end. It is written at most every quarter of a
 * second, and never twice at once.
 */
export class CheckpointFile {
  /** What an earlier upload reached. */
  readonly position: CheckpointPosition | undefined;
  readonly #place: Checkpoint;
  readonly #options: CheckpointOptions;
  #next: CheckpointPosition | undefined;
  /** What was written last, unless it is the only record of the file already. */
  #latest: CheckpointPosition | undefined;
  #writing: Promise<void> | undefined;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #isBroken = false;
  /** The slot that does not hold the latest record. */
  #slot: 0 | 1;

  private constructor(place: Checkpoint, options: CheckpointOptions, found: Found | undefined) {
    this.#place = place;
    this.#options = options;
    this.#slot = found?.slot === 0 ? 1 : 0;
    this.position = found?.reached;
  }

  /** @throws {@link ValidationError} the file is another upload's, or can't be read. */
  static async open(
    checkpoint: string | Checkpoint,
    options: CheckpointOptions,
  ): Promise<CheckpointFile> {
    const place = typeof checkpoint === "string" ? { path: checkpoint } : checkpoint;
    return new CheckpointFile(place, options, await readReached(place, options.target));
  }

  /** Notes how far the upload is; writes it when it is time. */
  note(reached: CheckpointPosition): void {
    this.#next = reached;
    if (this.#writing === undefined && performance.now() - this.#wroteAt >= pauseMs) {
      this.#writing = this.#write();
    }
  }

  /** Writes what was noted last, as the only record of the file. */
  async flush(): Promise<void> {
    await this.#writing;
    // Written before its end was known, the other slot still holds an older record.
    this.#next ??= this.#latest;
    if (this.#next !== undefined) {
      await this.#write({ isLast: true });
    }
  }

  async #write({ isLast } = { isLast: false }): Promise<void> {
    const reached = this.#next;
    this.#next = undefined;
    const { path, source } = this.#place;
    const { target } = this.#options;
    const record = Buffer.from(JSON.stringify({ format, target, source, ...reached }));
    const size = slotBytes(this.#place, target);
    const slot = Buffer.concat([record, Buffer.alloc(size - record.length - 1, " "), newline]);
    try {
      const file = await openToWrite(path);
      try {
        await writeSlot(file, slot, this.#slot);
        if (isLast && this.#slot === 1) {
          await writeSlot(file, slot, 0);
        }
        if (isLast) {
          await file.truncate(size);
        }
      } finally {
        await file.close();
      }
      this.#latest = isLast ? undefined : reached;
      this.#slot = isLast || this.#slot === 0 ? 1 : 0;
    } catch (error) {
      // The upload continues. Only the position for a later resume is lost, which is reported.
      if (!this.#isBroken) {
        this.#isBroken = true;
        this.#options.onTrouble(
          `The checkpoint ${path} can't be written: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
    this.#wroteAt = performance.now();
    this.#writing = undefined;
  }
}

const newline = Buffer.from("\n");

/** The same for every record of a file: what varies in length is in `memberBytes`. */
function slotBytes({ source = "" }: Checkpoint, target: string): number {
  const fixed = Buffer.byteLength(JSON.stringify({ target, source })) + memberBytes;
  return Math.ceil(fixed / blockBytes) * blockBytes;
}

/** Keeps what the file holds: the other slot is what counts while this one is written. */
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

async function writeSlot(file: FileHandle, slot: Buffer, place: 0 | 1): Promise<void> {
  await file.write(slot, 0, slot.length, place * slot.length);
  await file.datasync();
}

interface Found {
  readonly reached: CheckpointPosition;
  readonly slot: 0 | 1;
}

async function readReached(place: Checkpoint, target: string): Promise<Found | undefined> {
  const { path } = place;
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return undefined;
    }
    throw new ValidationError(
      `The checkpoint ${path} can't be read: ${String(cause)}. Let its owner read it, or name another file`,
      { cause },
    );
  }
  if (textOf(bytes) === "") {
    // The process ended between making the file and writing into it.
    return undefined;
  }
  const latest = latestOf(bytes);
  if (latest === undefined) {
    throw new ValidationError(`${path} is not a checkpoint: remove it, or name another file`);
  }
  const { record, slot } = latest;
  try {
    const fields = new Fields(record, "checkpoint");
    if (fields.optionalNumber("format") === format) {
      const [of, source] = [fields.text("target"), fields.optionalText("source")];
      const known = {
        first: knownRow(fields.object("first")),
        last: knownRow(fields.object("last")),
      };
      assertSame(path, { of, source }, { of: target, source: place.source });
      return { reached: { rows: fields.number("rows"), ...known }, slot };
    }
  } catch (cause) {
    throw cause instanceof ValidationError
      ? cause
      : new ValidationError(`${path} is not a checkpoint: remove it, or name another file`, {
          cause,
        });
  }
  throw new ValidationError(`${path} is a checkpoint of another version: remove it to begin anew`);
}

/** A slot that was never written is zeros. */
const textOf = (bytes: Buffer): string => bytes.toString().replaceAll("\u0000", "").trim();

/** Longest slot that is looked for, in blocks; a path is at most 4,096 bytes, of six as JSON each. */
const slotBlocks = 16;

/** The record that covers most rows: the only one of a file, or that of one of its two slots. */
function latestOf(bytes: Buffer): { readonly record: unknown; readonly slot: 0 | 1 } | undefined {
  const only = parseRecord(textOf(bytes));
  if (only !== undefined) {
    return { record: only, slot: textOf(bytes.subarray(0, blockBytes)) === "" ? 1 : 0 };
  }
  for (
    let size = blockBytes;
    size <= slotBlocks * blockBytes && size < bytes.length;
    size += blockBytes
  ) {
    const first = parseRecord(textOf(bytes.subarray(0, size)));
    const second = parseRecord(textOf(bytes.subarray(size)));
    if (first !== undefined || second !== undefined) {
      return rowsOf(second) > rowsOf(first)
        ? { record: second, slot: 1 }
        : { record: first ?? second, slot: first === undefined ? 1 : 0 };
    }
  }
  return undefined;
}

/** `undefined` for what is not JSON, such as a slot that a power cut tore. */
function parseRecord(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const rowsOf = (record: unknown): number =>
  typeof record === "object" && record !== null && "rows" in record ? Number(record.rows) : -1;

function knownRow(value: KeyValues): RecordedRow {
  const fields = new Fields(value, "checkpoint");
  return { row: fields.number("row"), digest: fields.text("digest") };
}

interface Identity {
  readonly of: string;
  readonly source: string | undefined;
}

function assertSame(path: string, found: Identity, wanted: Identity): void {
  if (found.of !== wanted.of) {
    throw new ValidationError(
      `The checkpoint ${path} is of an upload to ${found.of}, not to ${wanted.of}. Name another file, or remove it to begin anew`,
    );
  }
  if (found.source !== wanted.source) {
    throw new ValidationError(
      `The checkpoint ${path} belongs to another source: ${found.source ?? "one that has no name"}, not ${wanted.source ?? "one that has no name"}. Name another file, or remove it to begin anew`,
    );
  }
}
