/** A row that was not uploaded, with the reason. */
export interface RejectedRow {
  /** Number of the row in the source, starting at 1. */
  readonly row: number;
  /** The id that the row would have got; absent if none was determined. */
  readonly id?: string;
  readonly reason: string;
  /** The JSON that would have been sent; absent if the row could not be converted to JSON. */
  readonly content?: string;
}

/** Progress of an upload. At its end `read = created + skipped + rejected`. */
export interface UploadProgress {
  /** Number of rows that were read from the source. */
  readonly read: number;
  readonly created: number;
  /**
   * Number of rows that existed already, or that an earlier upload completed according to its
   * checkpoint.
   */
  readonly skipped: number;
  readonly rejected: number;
  /** Bytes, before compression, of the bodies of requests whose responses arrived. */
  readonly bytes: number;
  /** Seconds since the upload began. */
  readonly seconds: number;
  /**
   * The first row of this upload: the row after those that a checkpoint lists as done, or 1 without
   * a checkpoint.
   */
  readonly firstRow: number;
}

/** The totals of an upload that has ended, and the rows that were rejected. */
export interface UploadResult extends UploadProgress {
  /** The first hundred rejected rows. */
  readonly faults: readonly RejectedRow[];
  /** Problems that did not affect a row, such as a checkpoint that could not be written. */
  readonly warnings: readonly string[];
}

/** A file in which an upload stores its progress, so that a later upload can continue. */
export interface Checkpoint {
  /** Path of the file. Its folder must exist. */
  readonly path: string;
  /**
   * Identifies the source, for example by path, size and time.
   * @defaultValue derived from the first row
   */
  readonly source?: string | undefined;
}

/** The smallest and the largest allowed value of each number in the settings of an upload. */
export const uploadLimits = {
  chunkBytes: [1_024, 67_108_864],
  chunkCount: [1, 100_000],
  inFlight: [1, 256],
  patienceMs: [0, 86_400_000],
} as const;

/** Options of every upload. */
export interface UploadSettings {
  /**
   * Maximum bytes of one request, at least 1,024. A larger row is sent alone.
   * @defaultValue 1,048,576
   */
  readonly chunkBytes?: number | undefined;
  /**
   * Maximum number of rows in one request, at least 1.
   * @defaultValue 1,000
   */
  readonly chunkCount?: number | undefined;
  /**
   * Maximum number of requests in flight, at least 1.
   * @defaultValue 4
   */
  readonly inFlight?: number | undefined;
  /**
   * Whether each request waits for the previous one, so that rows are created in order.
   * @defaultValue false
   */
  readonly ordered?: boolean | undefined;
  /**
   * A checkpoint file: its path, or its path and an identifier of the source.
   * @defaultValue none: a new upload begins at the first row
   */
  readonly checkpoint?: string | Checkpoint | undefined;
  /**
   * Whether rows are only checked, and no data is changed.
   * @defaultValue false
   */
  readonly dryRun?: boolean | undefined;
  /**
   * Milliseconds for which the server may be unavailable before the upload fails.
   * @defaultValue 120,000
   */
  readonly patienceMs?: number | undefined;
  /** Called for each rejected row. The upload waits until the returned promise resolves. */
  readonly onRejected?: ((row: RejectedRow) => void | Promise<void>) | undefined;
  /** Called with the progress at most four times a second, and at the end. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /**
   * Called with the reason when the server becomes unavailable. The upload then waits for the server
   * for at most `patienceMs`.
   */
  readonly onWait?: ((reason: Error) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Source of rows: any iterable, including Node and web streams. It is read while the rows are sent.
 */
export type UploadSource<Row> = Iterable<Row> | AsyncIterable<Row> | ReadableStream<Row>;
