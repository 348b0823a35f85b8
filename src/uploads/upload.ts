import { AbortError, SdkError, UploadError, ValidationError } from "../model/errors.ts";
import { defaultRetryWaits, withRetries } from "../transport/retry.ts";
import type { RejectedRow, UploadProgress, UploadResult } from "../model/resources/upload.ts";
import { CapacityExceeded } from "../tracing/tape/capacity-exceeded.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import type { CheckpointFile, RecordedRow } from "./checkpoint.ts";
import { ProgressReporter } from "./progress-reporter.ts";
import { RowWriter } from "./row-writer.ts";
import type { RowWriterOptions, WrittenTape } from "./row-writer.ts";
import type { CheckedSettings } from "./settings.ts";

/** The kind of an upload: its target, and how its rows are encoded and sent. */
export interface BulkKind {
  /** What is uploaded and where to, such as `examples of dataset …`. */
  readonly target: string;
  /** Creates the function that encodes rows. It throws a {@link ValidationError} for an invalid row. */
  readonly createEncoder: RowWriterOptions["createEncoder"];
  /**
   * Sends the rows of a tape, which is a buffer. Rows whose outcome is known are marked on the tape, and are not sent
   * again.
   */
  readonly sendTape: (tape: Tape) => Promise<ChunkReport>;
  /** Called with the number of completed rows from the beginning of the source. */
  readonly onDone?: (rows: number) => void;
}

/** The outcomes of the rows that were sent together. */
export interface ChunkReport {
  readonly created: number;
  readonly skipped: number;
  readonly rejected: readonly RejectedRow[];
  readonly bytes: number;
  /** The error that left some rows without an outcome. */
  readonly failure?: Error;
}

/**
 * Consecutive rows of the source: the rows that are sent together, and rejected rows between them, which were not
 * encoded.
 */
interface Chunk {
  readonly lastRowNumber: number;
  readonly lastEncodedRow: RecordedRow;
  isDone: boolean;
}

/** Maximum number of rejected rows in a result. */
const maxReportedRows = 100;
const doNothing = (): void => undefined;

/**
 * Uploads rows in chunks. After the upload has failed, every call throws. `add` waits while the maximum number of
 * chunks is in flight, so that memory use is limited to a few chunks.
 */
export class BulkUpload {
  readonly #kind: BulkKind;
  readonly #settings: CheckedSettings;
  readonly #checkpoint: CheckpointFile | undefined;
  readonly #writer: RowWriter;
  readonly #digestWriter: RowWriter;
  readonly #chunks: Chunk[] = [];
  readonly #inFlight = new Set<Promise<void>>();
  readonly #faults: RejectedRow[] = [];
  readonly #warnings: string[];
  readonly #progressReporter: ProgressReporter;
  readonly #startedAt = performance.now();
  readonly #counts = { read: 0, created: 0, skipped: 0, rejected: 0, bytes: 0 };
  #firstRow: RecordedRow | undefined;
  #lastWritten: RecordedRow | undefined;
  #failingSince: number | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Called when the upload fails, so that a caller that waits for the source can stop waiting. */
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
    this.#firstRow = checkpoint?.position?.first;
    this.#progressReporter = new ProgressReporter(() =>
      settings.onProgress?.(this.#readProgress()),
    );
    const { createEncoder } = kind;
    // A tape, the buffer of a chunk, is slightly larger than the limit of a chunk, because the row that reaches or
    // exceeds the limit is still written to it.
    const tapeBytes = chunkBytes + 65_536;
    this.#writer = new RowWriter({
      tapeBytes,
      tapes: inFlight + 2,
      createEncoder,
      onFull: (written) => this.#startChunk(written, this.#counts.read - 1),
    });
    this.#digestWriter = new RowWriter({
      tapeBytes: 16_384,
      tapes: 1,
      createEncoder,
      onFull: doNothing,
    });
    const abort = (): void => this.#fail(createAbortError(signal));
    // Remove the listener when the upload ends, because the caller may use the signal for many uploads.
    signal?.addEventListener("abort", abort, {
      once: true,
      signal: this.#progressReporter.endSignal,
    });
    if (signal?.aborted === true) {
      this.#fail(createAbortError(signal));
    }
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Adds a row. Resolves when there is capacity for the next one.
   *
   * @throws {@link UploadError} if the upload failed.
   */
  async add(item: unknown): Promise<void> {
    this.#throwIfFailed();
    const counts = this.#counts;
    const row = ++counts.read;
    if (row <= (this.#checkpoint?.position?.rows ?? 0)) {
      this.#skipRow(item, row);
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
      this.#cutChunk(row);
    }
    while (this.#inFlight.size >= inFlight) {
      await Promise.race(this.#inFlight);
    }
    this.#progressReporter.reportIfDue();
    this.#throwIfFailed();
  }

  /**
   * Sends the remaining rows and waits for all outcomes.
   *
   * @throws {@link UploadError} if the upload failed.
   */
  async finish(): Promise<UploadResult> {
    if (this.#failure === undefined && this.#writer.rows > 0) {
      this.#cutChunk(this.#counts.read);
    }
    await Promise.all(this.#inFlight);
    if (this.#failure === undefined && this.#firstRow !== undefined) {
      const { rows = 0, last = this.#firstRow } = this.#checkpoint?.position ?? {};
      const position = { rows: Math.max(rows, this.#counts.read), first: this.#firstRow };
      this.#checkpoint?.recordPosition({ ...position, last: this.#lastWritten ?? last });
    }
    await this.#checkpoint?.flush();
    this.#throwIfFailed();
    this.#progressReporter.end();
    return this.#createResult();
  }

  /**
   * Ends the upload after its source failed. Sends the rows read so far and writes the checkpoint.
   *
   * @throws {@link UploadError} always.
   */
  async fail(reason: unknown): Promise<never> {
    if (this.#failure === undefined && this.#writer.rows > 0) {
      this.#cutChunk(this.#counts.read);
    }
    await Promise.all(this.#inFlight);
    await this.#checkpoint?.flush();
    this.#fail(reason);
    throw this.#createError();
  }

  /**
   * Skips a row that is completed according to the checkpoint. The checkpoint contains the digests of two rows. If one
   * of these rows now has different content, the upload fails.
   */
  #skipRow(item: unknown, row: number): void {
    this.#counts.skipped += 1;
    const position = this.#checkpoint?.position;
    for (const recordedRow of [position?.first, position?.last]) {
      if (recordedRow?.row === row && this.#computeDigest(item, row) !== recordedRow.digest) {
        this.#fail(
          new ValidationError(
            `The checkpoint belongs to another source: its row ${row} differs from row ${row} of this source. Name another file as checkpoint, or remove it to start from the first row`,
          ),
        );
        this.#throwIfFailed();
      }
    }
    this.#progressReporter.reportIfDue();
  }

  #computeDigest(item: unknown, rowNumber: number): string {
    try {
      this.#digestWriter.add(item, rowNumber);
    } catch {
      // The row is invalid now but was valid when the checkpoint was written, so it is not the same row.
      return "";
    }
    const { tape, last } = this.#digestWriter.cut();
    this.#digestWriter.release(tape);
    return last.digest;
  }

  #cutChunk(lastRow: number): void {
    this.#startChunk(this.#writer.cut(), lastRow);
  }

  #startChunk({ tape, last: lastRow }: WrittenTape, lastRowNumber: number): void {
    this.#lastWritten = lastRow;
    this.#firstRow ??= lastRow;
    const chunk: Chunk = { lastRowNumber, lastEncodedRow: lastRow, isDone: false };
    this.#chunks.push(chunk);
    const sending = this.#send(tape, chunk)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#inFlight.delete(sending);
        this.#writer.release(tape);
      });
    this.#inFlight.add(sending);
  }

  /**
   * Sends a chunk, whose rows are the records of the tape. If that fails, sends the rest again until the server has
   * been failing for `patienceMs`.
   */
  async #send(tape: Tape, chunk: Chunk): Promise<void> {
    const { patienceMs, onWait } = this.#settings;
    const sendOnce = async (): Promise<void> => {
      const report = await this.#kind.sendTape(tape);
      await this.#countReport(report);
      const { failure } = report;
      if (failure === undefined) {
        return;
      }
      if (this.#failingSince === undefined && isRetryable(failure)) {
        onWait?.(failure);
      }
      this.#failingSince ??= performance.now();
      throw failure;
    };
    const canRetry = (error: Error): boolean =>
      isRetryable(error) && performance.now() - (this.#failingSince ?? 0) < patienceMs;
    const policy = {
      ...defaultRetryWaits,
      attempts: Infinity,
      retryAfterLimitMs: defaultRetryWaits.maxWaitMs,
    };
    await withRetries(sendOnce, policy, { signal: this.#progressReporter.endSignal, canRetry });
    this.#failingSince = undefined;
    chunk.isDone = true;
    this.#updateCheckpoint();
  }

  async #countReport({ created, skipped, bytes, rejected }: ChunkReport): Promise<void> {
    this.#counts.created += created;
    this.#counts.skipped += skipped;
    this.#counts.bytes += bytes;
    for (const row of rejected) {
      await this.#reject(row);
    }
  }

  async #reject(row: RejectedRow): Promise<void> {
    this.#counts.rejected += 1;
    if (this.#faults.length < maxReportedRows) {
      this.#faults.push(row);
    }
    try {
      await this.#settings.onRejected?.(row);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Records in the checkpoint how many rows from the beginning of the source are completed. */
  #updateCheckpoint(): void {
    let lastDone: Chunk | undefined;
    while (this.#chunks[0]?.isDone === true) {
      lastDone = this.#chunks.shift();
    }
    if (lastDone !== undefined && this.#firstRow !== undefined) {
      const { lastRowNumber, lastEncodedRow } = lastDone;
      this.#checkpoint?.recordPosition({
        rows: lastRowNumber,
        first: this.#firstRow,
        last: lastEncodedRow,
      });
      this.#kind.onDone?.(lastRowNumber);
    }
    this.#progressReporter.reportIfDue();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#progressReporter.end();
    this.onFailure?.();
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) {
      throw this.#createError();
    }
  }

  #createError(): unknown {
    const cause = this.#failure?.error;
    const { message } = cause instanceof Error ? cause : { message: String(cause) };
    const result = this.#createResult();
    const outcomeText = `${result.created} created, ${result.skipped} skipped, ${result.rejected} rejected`;
    return new UploadError(`Failed to upload ${this.#kind.target} (${outcomeText}): ${message}`, {
      cause,
      result,
    });
  }

  #readProgress(): UploadProgress {
    const firstRow = (this.#checkpoint?.position?.rows ?? 0) + 1;
    return { ...this.#counts, seconds: (performance.now() - this.#startedAt) / 1_000, firstRow };
  }

  #createResult(): UploadResult {
    const reports = { faults: [...this.#faults], warnings: [...this.#warnings] };
    return { ...this.#readProgress(), ...reports };
  }
}

const createAbortError = (signal: AbortSignal | undefined): AbortError =>
  new AbortError("the upload was aborted by its signal", {
    cause: signal?.reason as unknown,
  });

const isRetryable = (error: Error): error is SdkError =>
  error instanceof SdkError && error.retryable;
