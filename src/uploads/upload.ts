import { AbortError, SdkError, UploadError, ValidationError } from "../model/errors.ts";
import { retryPace, retryWaitMs } from "../model/records/retry-wait.ts";
import type { RejectedRow, UploadProgress, UploadResult } from "../model/resources/upload.ts";
import { CapacityExceeded } from "../tracing/tape/capacity-exceeded.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import type { CheckpointFile, RecordedRow } from "./checkpoint.ts";
import { Pace } from "./pace.ts";
import { RowWriter } from "./row-writer.ts";
import type { RowWriterOptions, WrittenTape } from "./row-writer.ts";
import type { CheckedSettings } from "./settings.ts";

/** What is uploaded, and how. */
export interface BulkKind {
  /** Such as `examples of dataset …`. */
  readonly target: string;
  /** What writes its rows. It throws a {@link ValidationError} where one is refused. */
  readonly encoderOn: RowWriterOptions["encoderOn"];
  /** Sends the rows of a tape; what was answered is marked on it, and is not sent again. */
  readonly ship: (tape: Tape) => Promise<ChunkReport>;
  /** Called with the number of rows, from the first, that are done. */
  readonly onDone?: (rows: number) => void;
}

/** What became of the rows of one tape. */
export interface ChunkReport {
  readonly created: number;
  readonly skipped: number;
  readonly rejected: readonly RejectedRow[];
  readonly bytes: number;
  /** Why the rest of them are still open. */
  readonly failure?: Error;
}

/** Rows of the source that are on one tape, or were rejected before they came onto it. */
interface Chunk {
  readonly lastRow: number;
  readonly last: RecordedRow;
  isDone: boolean;
}

const faultLimit = 100;
const ignore = (): void => undefined;

/**
 * Takes rows, and sends them in chunks. States: open; failed, after which every call throws; ended.
 * Whoever adds a row waits while as many chunks are under way as may be: so what is in memory is a few tapes.
 */
export class BulkUpload {
  readonly #kind: BulkKind;
  readonly #settings: CheckedSettings;
  readonly #checkpoint: CheckpointFile | undefined;
  readonly #writer: RowWriter;
  readonly #scratch: RowWriter;
  readonly #chunks: Chunk[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #faults: RejectedRow[] = [];
  readonly #warnings: string[];
  readonly #pace: Pace;
  readonly #beganAt = performance.now();
  readonly #counts = { read: 0, created: 0, skipped: 0, rejected: 0, bytes: 0 };
  #first: RecordedRow | undefined;
  #lastWritten: RecordedRow | undefined;
  #awaySince: number | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Called when the upload failed, to end the wait that is under way. */
  onFailure: (() => void) | undefined;

  constructor(
    kind: BulkKind,
    settings: CheckedSettings,
    { checkpoint, warnings }: { checkpoint: CheckpointFile | undefined; warnings: string[] },
  ) {
    const { chunkBytes, inFlight, signal } = settings;
    this.#kind = kind;
    this.#settings = settings;
    this.#checkpoint = checkpoint;
    this.#warnings = warnings;
    this.#first = checkpoint?.position?.first;
    this.#pace = new Pace(() => settings.onProgress?.(this.#progress()));
    const { encoderOn } = kind;
    // A row may end beyond the limit at which its chunk is cut.
    const tapeBytes = chunkBytes + 65_536;
    this.#writer = new RowWriter({
      tapeBytes,
      tapes: inFlight + 2,
      encoderOn,
      onFull: (written) => this.#begin(written, this.#counts.read - 1),
    });
    this.#scratch = new RowWriter({ tapeBytes: 16_384, tapes: 1, encoderOn, onFull: ignore });
    const abort = (): void => this.#fail(abortErrorOf(kind, signal));
    // It may outlive many uploads.
    signal?.addEventListener("abort", abort, { once: true, signal: this.#pace.ended });
    if (signal?.aborted === true) {
      this.#fail(abortErrorOf(kind, signal));
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Takes one row; resolves when the next one may come. @throws {@link UploadError} */
  async add(item: unknown): Promise<void> {
    this.#throwIfFailed();
    const counts = this.#counts;
    const row = ++counts.read;
    if (row <= (this.#checkpoint?.position?.rows ?? 0)) {
      this.#passOver(item, row);
      return;
    }
    try {
      this.#writer.add(item, row);
    } catch (error) {
      if (!(error instanceof ValidationError) && !(error instanceof CapacityExceeded)) {
        this.#fail(error);
        this.#throwIfFailed();
      }
      await this.#reject({ row, reason: error instanceof Error ? error.message : String(error) });
    }
    const { chunkBytes, chunkCount, inFlight } = this.#settings;
    if (this.#writer.rows >= chunkCount || this.#writer.bytes >= chunkBytes) {
      this.#cut(row);
    }
    while (this.#underWay.size >= inFlight) {
      await Promise.race(this.#underWay);
    }
    this.#pace.tick();
    this.#throwIfFailed();
  }

  /** Sends what is left. @throws {@link UploadError} */
  async finish(): Promise<UploadResult> {
    if (this.#failure === undefined && this.#writer.rows > 0) {
      this.#cut(this.#counts.read);
    }
    await Promise.all(this.#underWay);
    if (this.#failure === undefined && this.#first !== undefined) {
      const { rows = 0, last = this.#first } = this.#checkpoint?.position ?? {};
      const reached = { rows: Math.max(rows, this.#counts.read), first: this.#first };
      this.#checkpoint?.note({ ...reached, last: this.#lastWritten ?? last });
    }
    await this.#checkpoint?.flush();
    this.#throwIfFailed();
    this.#pace.end();
    return this.#result();
  }

  /** The source failed. What was taken from it before is sent, and noted. @throws {@link UploadError} always. */
  async fail(reason: unknown): Promise<never> {
    if (this.#failure === undefined && this.#writer.rows > 0) {
      this.#cut(this.#counts.read);
    }
    await Promise.all(this.#underWay);
    await this.#checkpoint?.flush();
    this.#fail(reason);
    throw this.#error();
  }

  /** A row that a checkpoint lists as done. It must be the same row as then. */
  #passOver(item: unknown, row: number): void {
    this.#counts.skipped += 1;
    const reached = this.#checkpoint?.position;
    for (const known of [reached?.first, reached?.last]) {
      if (known?.row === row && this.#digest(item, row) !== known.digest) {
        this.#fail(
          new ValidationError(
            `The checkpoint belongs to another source: its row ${row} is not the row ${row} of this one. Name another file as checkpoint, or remove it to begin anew`,
          ),
        );
        this.#throwIfFailed();
      }
    }
    this.#pace.tick();
  }

  #digest(item: unknown, row: number): string {
    try {
      this.#scratch.add(item, row);
    } catch {
      // A row that is refused now was not when the checkpoint was written.
      return "";
    }
    const { tape, last } = this.#scratch.cut();
    this.#scratch.give(tape);
    return last.digest;
  }

  #cut(lastRow: number): void {
    this.#begin(this.#writer.cut(), lastRow);
  }

  #begin({ tape, last }: WrittenTape, lastRow: number): void {
    this.#lastWritten = last;
    this.#first ??= last;
    const chunk: Chunk = { lastRow, last, isDone: false };
    this.#chunks.push(chunk);
    const work = this.#send(tape, chunk)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#underWay.delete(work);
        this.#writer.give(tape);
      });
    this.#underWay.add(work);
  }

  async #send(tape: Tape, chunk: Chunk): Promise<void> {
    for (let attempt = 1; this.#failure === undefined; attempt++) {
      const report = await this.#kind.ship(tape);
      await this.#count(report);
      if (report.failure === undefined) {
        this.#awaySince = undefined;
        chunk.isDone = true;
        this.#advance();
        return;
      }
      const isPassing = report.failure instanceof SdkError && report.failure.retryable;
      if (this.#awaySince === undefined && isPassing) {
        this.#settings.onWait?.(report.failure);
      }
      this.#awaySince ??= performance.now();
      if (!isPassing || performance.now() - this.#awaySince >= this.#settings.patienceMs) {
        this.#fail(report.failure);
        return;
      }
      const { maxWaitMs } = retryPace;
      const waits = { ...retryPace, retryAfterLimitMs: maxWaitMs };
      await this.#pace.wait(retryWaitMs({ attempt, random: Math.random() }, waits));
    }
  }

  async #count({ created, skipped, bytes, rejected }: ChunkReport): Promise<void> {
    this.#counts.created += created;
    this.#counts.skipped += skipped;
    this.#counts.bytes += bytes;
    for (const row of rejected) {
      await this.#reject(row);
    }
  }

  async #reject(row: RejectedRow): Promise<void> {
    this.#counts.rejected += 1;
    if (this.#faults.length < faultLimit) {
      this.#faults.push(row);
    }
    try {
      await this.#settings.onRejected?.(row);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Notes the rows from the beginning that are done with. */
  #advance(): void {
    let reached: Chunk | undefined;
    while (this.#chunks[0]?.isDone === true) {
      reached = this.#chunks.shift();
    }
    if (reached !== undefined && this.#first !== undefined) {
      const { lastRow, last } = reached;
      this.#checkpoint?.note({ rows: lastRow, first: this.#first, last });
      this.#kind.onDone?.(lastRow);
    }
    this.#pace.tick();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#pace.end();
    this.onFailure?.();
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) {
      throw this.#error();
    }
  }

  #error(): unknown {
    const cause = this.#failure?.error;
    const { message } = cause instanceof Error ? cause : { message: String(cause) };
    const result = this.#result();
    const done = `${result.created} created, ${result.skipped} skipped, ${result.rejected} rejected`;
    return new UploadError(`Failed to upload ${this.#kind.target} (${done}): ${message}`, {
      cause,
      result,
    });
  }

  #progress(): UploadProgress {
    const firstRow = (this.#checkpoint?.position?.rows ?? 0) + 1;
    return { ...this.#counts, seconds: (performance.now() - this.#beganAt) / 1_000, firstRow };
  }

  #result(): UploadResult {
    const lists = { faults: [...this.#faults], warnings: [...this.#warnings] };
    return { ...this.#progress(), ...lists };
  }
}

const abortErrorOf = ({ target }: BulkKind, signal: AbortSignal | undefined): AbortError =>
  new AbortError(`Failed to upload ${target}: it was ended by its signal`, {
    cause: signal?.reason as unknown,
  });
