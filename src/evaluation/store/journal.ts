import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { createInterface } from "node:readline";
import { ValidationError } from "../../main/index.ts";
import { IdCounter } from "../ids.ts";
import type { UntypedRow } from "../result.ts";

/** Version of the file format. */
const format = 1;

/** The first line of a journal. It identifies the experiment. */
export interface JournalHeader {
  readonly format: number;
  readonly experimentId: string;
  readonly experimentName: string;
  /** Identifies the data and the number of repetitions. */
  readonly data: string;
  /** Identifies the code of target and evaluators. */
  readonly code: string;
  /** The version of the dataset that the evaluation uses. */
  readonly datasetVersion?: string | undefined;
}

export type StoredRow = Omit<UntypedRow, "isResumed">;

/**
 * The other lines of a journal. `start`: a row's run has started. `row`: the row has finished. `acknowledged`: the
 * server has the rows with these numbers, from `from` up to, but not including, `to`. `end`: the experiment is
 * complete.
 */
type JournalLine =
  | { readonly start: string; readonly at: number }
  | { readonly row: StoredRow }
  | { readonly acknowledged: readonly [from: number, to: number] }
  | { readonly end: string };

/**
 * The file in which an evaluation stores its rows as they finish. When the promise of a write resolves, the operating
 * system has the complete line, so it is not lost if the process ends. Lines of one turn of the event loop are written
 * together.
 */
export class Journal {
  readonly path: string;
  readonly header: JournalHeader;
  /** Number of rows that earlier processes stored. */
  readonly resumedRows: number;
  readonly #file: FileHandle;
  readonly #waitingReaders = new Set<() => void>();
  #lines: string[] = [];
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;
  #rows: number;
  #writtenBytes: number;
  #isClosed = false;

  private constructor(file: FileHandle, path: string, state: JournalState) {
    this.path = path;
    this.header = state.header;
    this.resumedRows = state.rows;
    this.#file = file;
    this.#rows = state.rows;
    this.#writtenBytes = state.bytes;
  }

  /** Creates the journal of a new experiment. */
  static async create(path: string, header: Omit<JournalHeader, "format">): Promise<Journal> {
    const file = await open(path, "wx", 0o600);
    const state = { header: { format, ...header }, rows: 0, bytes: 0 };
    const journal = new Journal(file, path, state);
    await journal.#write(JSON.stringify(state.header));
    await file.datasync();
    return journal;
  }

  /** Continues a journal that {@link readJournal} has read. An incomplete last line is removed. */
  static async resume(path: string, state: JournalState): Promise<Journal> {
    const file = await open(path, "r+");
    await file.truncate(state.bytes);
    return new Journal(file, path, state);
  }

  /** Records that the run of a row starts. A later process that repeats the row uses the same start time. */
  writeStart(runId: string, startMs: number): Promise<void> {
    return this.#write(JSON.stringify({ start: runId, at: startMs } satisfies JournalLine));
  }

  /** Stores a finished row, and returns its number. */
  async writeRow(row: StoredRow): Promise<number> {
    const number = this.#rows;
    this.#rows += 1;
    await this.#write(JSON.stringify({ row } satisfies JournalLine));
    return number;
  }

  /**
   * Records that the server has the rows from `from` up to, but not including, `to`. Flushes the file to disk, so that
   * these rows survive a power failure.
   */
  async writeAcknowledged(from: number, to: number): Promise<void> {
    await this.#write(JSON.stringify({ acknowledged: [from, to] } satisfies JournalLine));
    await this.#file.datasync();
  }

  /** Records that the experiment is complete. */
  async writeEnd(time: string): Promise<void> {
    await this.#write(JSON.stringify({ end: time } satisfies JournalLine));
    await this.#file.datasync();
  }

  get rowCount(): number {
    return this.#rows;
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => {
      // The caller that wrote the line has already received this error.
    });
    this.#isClosed = true;
    this.#wakeReaders();
    await this.#file.close();
  }

  /** Reads the rows from the first one on, and waits for further rows until the journal is closed. */
  async *followRows(): AsyncGenerator<UntypedRow, void> {
    let [offset, number] = [0, 0];
    while (true) {
      const end = this.#writtenBytes;
      const isLast = this.#isClosed;
      if (offset < end) {
        for await (const line of readLines(this.path, offset, end)) {
          if (line.startsWith(rowPrefix)) {
            yield parseRow(line, number < this.resumedRows);
            number += 1;
          }
        }
        offset = end;
      } else if (isLast) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#waitingReaders.add(resolve);
        });
      }
    }
  }

  /** Reads all rows that are stored now. */
  async *readRows(): AsyncGenerator<UntypedRow, void> {
    let number = 0;
    for await (const line of readLines(this.path, 0, this.#writtenBytes)) {
      if (line.startsWith(rowPrefix)) {
        yield parseRow(line, number < this.resumedRows);
        number += 1;
      }
    }
  }

  async #write(line: string): Promise<void> {
    this.#lines.push(line);
    // The write begins in a later turn, so that it includes all lines of this turn.
    this.#writing ??= this.#writeLines();
    await this.#writing;
  }

  async #writeLines(): Promise<void> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    const bytes = Buffer.from(`${this.#lines.join("\n")}\n`);
    this.#lines = [];
    this.#writing = undefined;
    await this.#append(bytes);
  }

  /**
   * Settles when the last write has ended. Writes run one after another, because each begins at the offset where the
   * previous one ended.
   */
  #lastAppend: Promise<void> = Promise.resolve();

  #append(bytes: Buffer): Promise<void> {
    const append = async (): Promise<void> => {
      if (this.#failure !== undefined) {
        throw this.#failure;
      }
      let written = 0;
      try {
        while (written < bytes.length) {
          const position = this.#writtenBytes + written;
          written += (await this.#file.write(bytes, written, bytes.length - written, position))
            .bytesWritten;
        }
      } catch (cause) {
        this.#failure = new ValidationError(
          `The journal ${this.path} can't be written: ${cause instanceof Error ? cause.message : String(cause)}. Rows that finished earlier are stored; run the same command again to continue from there`,
          { cause },
        );
        throw this.#failure;
      }
      this.#writtenBytes += bytes.length;
      this.#wakeReaders();
    };
    const result = this.#lastAppend.then(append, append);
    this.#lastAppend = result;
    return result;
  }

  #wakeReaders(): void {
    for (const wake of this.#waitingReaders) {
      wake();
    }
    this.#waitingReaders.clear();
  }
}

const rowPrefix = '{"row":';

const parseRow = (line: string, isResumed: boolean): UntypedRow => ({
  ...(JSON.parse(line) as { readonly row: StoredRow }).row,
  isResumed,
});

/** Header and size of a journal. */
export interface JournalState {
  readonly header: JournalHeader;
  readonly rows: number;
  /** Length in bytes up to the end of the last complete line. */
  readonly bytes: number;
}

/** The content of a journal that an earlier evaluation wrote. */
export interface StoredEvaluation extends JournalState {
  /** Ids of the runs whose rows have finished. */
  readonly finishedRuns: IdCounter;
  /** Start times in milliseconds of runs whose rows have not finished, by run id. */
  readonly openRuns: ReadonlyMap<string, number>;
  /** Ranges of row numbers: the rows that the server has acknowledged. A range does not include `to`. */
  readonly acknowledged: readonly (readonly [from: number, to: number])[];
  readonly isComplete: boolean;
}

/**
 * Reads a journal. A last line that is incomplete, because the process or the machine ended, is ignored. Returns
 * `undefined` if the file has no complete header.
 *
 * @param onRow - called for each row.
 * @throws {@link ValidationError} if the file is not a journal of this version.
 */
export async function readJournal(
  path: string,
  onRow: (row: UntypedRow) => void,
): Promise<StoredEvaluation | undefined> {
  const finishedRuns = new IdCounter();
  const openRuns = new Map<string, number>();
  const acknowledgedRanges: (readonly [from: number, to: number])[] = [];
  let header: JournalHeader | undefined;
  let [rows, bytes, isComplete] = [0, 0, false];
  for await (const line of readLines(path, 0, Number.POSITIVE_INFINITY)) {
    const lineBytes = Buffer.byteLength(line) + 1;
    const content = parseLine(line);
    if (content === undefined) {
      // Usually only the last line is incomplete. If an earlier line is damaged, the rows after it are evaluated again.
      break;
    }
    if (header === undefined) {
      header = content as JournalHeader;
      if (header.format !== format) {
        throw new ValidationError(
          `${path} is not a journal of this version of Millrace. Remove it, or pass another name as \`experiment\``,
        );
      }
    } else if ("row" in content) {
      const row = (content as { readonly row: StoredRow }).row;
      rows += 1;
      isComplete = false;
      finishedRuns.add(row.runId);
      openRuns.delete(row.runId);
      onRow({ ...row, isResumed: true });
    } else if ("start" in content) {
      const { start, at } = content as { readonly start: string; readonly at: number };
      openRuns.set(start, openRuns.get(start) ?? at);
    } else if ("acknowledged" in content) {
      acknowledgedRanges.push(content.acknowledged as [number, number]);
    } else if ("end" in content) {
      isComplete = true;
    }
    bytes += lineBytes;
  }
  return (
    header && {
      header,
      rows,
      bytes,
      finishedRuns,
      openRuns,
      acknowledged: acknowledgedRanges,
      isComplete,
    }
  );
}

function parseLine(line: string): object | undefined {
  try {
    const content: unknown = JSON.parse(line);
    return typeof content === "object" && content !== null ? content : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the lines of a part of a file. */
async function* readLines(path: string, start: number, end: number): AsyncGenerator<string, void> {
  // `end` of a stream is inclusive.
  const input = createReadStream(path, { encoding: "utf8", start, end: end - 1 });
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
