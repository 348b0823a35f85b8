import { open, readFile, rename, rm } from "node:fs/promises";
import { ValidationError } from "../model/errors.ts";
import { Fields } from "../model/fields.ts";
import type { KeyValues } from "../model/run.ts";
import type { Checkpoint } from "../model/upload.ts";

/** The format of the file; rows of another one are not compared. */
const format = 1;
/** Between two writes, at least. */
const pauseMs = 250;

/** How far an upload is, as its checkpoint says. */
export interface Reached {
  /** Rows from the beginning of the source that are done with. */
  readonly rows: number;
  /** Two of them, by which the source is known again. */
  readonly first: KnownRow;
  readonly last: KnownRow;
}

/** What a row of the source holds, in short. */
export interface KnownRow {
  readonly row: number;
  readonly digest: string;
}

export interface CheckpointOptions {
  /** What is uploaded, and to where. */
  readonly target: string;
  /** Hears, once, that the file can't be written. */
  readonly onTrouble: (message: string) => void;
}

/**
 * A checkpoint's file: written beside it and renamed over it, so that it is whole whenever the process
 * ends. It is written at most every quarter of a second, and never twice at once.
 */
export class CheckpointFile {
  /** What an earlier upload reached. */
  readonly reached: Reached | undefined;
  readonly #place: Checkpoint;
  readonly #options: CheckpointOptions;
  #next: Reached | undefined;
  #writing: Promise<void> | undefined;
  #wroteAt = Number.NEGATIVE_INFINITY;
  #isBroken = false;

  private constructor(place: Checkpoint, options: CheckpointOptions, reached: Reached | undefined) {
    this.#place = place;
    this.#options = options;
    this.reached = reached;
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
  note(reached: Reached): void {
    this.#next = reached;
    if (this.#writing === undefined && performance.now() - this.#wroteAt >= pauseMs) {
      this.#writing = this.#write();
    }
  }

  /** Writes what was noted last. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#next !== undefined) {
      await this.#write();
    }
  }

  async #write(): Promise<void> {
    const reached = this.#next;
    this.#next = undefined;
    const { path, source } = this.#place;
    const besides = `${path}.${process.pid}.tmp`;
    const { target } = this.#options;
    try {
      const file = await open(besides, "w", 0o600);
      try {
        await file.writeFile(`${JSON.stringify({ format, target, source, ...reached })}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(besides, path);
    } catch (error) {
      // The upload goes on: what is lost is where to begin the next time, and that is told.
      if (!this.#isBroken) {
        this.#isBroken = true;
        this.#options.onTrouble(
          `The checkpoint ${path} can't be written: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
      await rm(besides, { force: true }).catch(() => undefined);
    }
    this.#wroteAt = performance.now();
    this.#writing = undefined;
  }
}

async function readReached(place: Checkpoint, target: string): Promise<Reached | undefined> {
  const { path } = place;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return undefined;
    }
    throw new ValidationError(`The checkpoint ${path} can't be read: ${String(cause)}`, { cause });
  }
  let fields: Fields;
  try {
    fields = new Fields(JSON.parse(text), "checkpoint");
    if (fields.optionalNumber("format") === format) {
      const [of, source] = [fields.text("target"), fields.optionalText("source")];
      const [first, last] = [knownRow(fields.object("first")), knownRow(fields.object("last"))];
      const reached = { rows: fields.number("rows"), first, last };
      assertSame(path, { of, source }, { of: target, source: place.source });
      return reached;
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

function knownRow(value: KeyValues): KnownRow {
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
      `The checkpoint ${path} is of an upload to ${found.of}, not to ${wanted.of}`,
    );
  }
  if (found.source !== wanted.source) {
    throw new ValidationError(
      `The checkpoint ${path} belongs to another source: ${found.source ?? "one that has no name"}, not ${wanted.source ?? "one that has no name"}`,
    );
  }
}
