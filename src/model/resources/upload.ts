/** One row that was not uploaded, and why. */
export interface RejectedRow {
  /** Its number in the source, from 1. */
  readonly row: number;
  /** The id that it would have had; absent where it came to none. */
  readonly id?: string;
  readonly reason: string;
  /** JSON of what was to be sent; absent where the row could not be turned into it. */
  readonly content?: string;
}

/** How far an upload is. `read = created + skipped + rejected` at its end. */
export interface UploadProgress {
  /** Rows taken from the source. */
  readonly read: number;
  readonly created: number;
  /** Rows that were there already, or done by an earlier upload as its checkpoint says. */
  readonly skipped: number;
  readonly rejected: number;
  /** Bytes of request bodies that were answered, before compression. */
  readonly bytes: number;
  readonly seconds: number;
  /** The row from which this upload went on: one more than a checkpoint said were done; 1 without one. */
  readonly firstRow: number;
}

/** What became of an upload. */
export interface UploadResult extends UploadProgress {
  /** The first hundred of the rows that were rejected. */
  readonly faults: readonly RejectedRow[];
  /** What went wrong without costing a row, such as a checkpoint that could not be written. */
  readonly warnings: readonly string[];
}

/** Where an upload writes down how far it is, and finds it at the next start. */
export interface Checkpoint {
  /** Path of the file; its folder must be there. */
  readonly path: string;
  /** Says which source it is of, such as a path, a size and a time. @defaultValue the first row says it */
  readonly source?: string | undefined;
}

/** What every upload takes. */
export interface UploadSettings {
  /** Bytes of one request, from 1,024; a larger row goes alone. @defaultValue 1,048,576 */
  readonly chunkBytes?: number | undefined;
  /** Rows of one request, from 1. @defaultValue 1,000 */
  readonly chunkCount?: number | undefined;
  /** Requests under way, from 1. @defaultValue 4 */
  readonly inFlight?: number | undefined;
  /** Whether a request waits for the one before, so that rows are made in their order. @defaultValue false */
  readonly ordered?: boolean | undefined;
  /** A path, or a path and what the source is. @defaultValue none: a new upload begins at the first row */
  readonly checkpoint?: string | Checkpoint | undefined;
  /** Whether rows are only checked: nothing is sent that changes anything. @defaultValue false */
  readonly dryRun?: boolean | undefined;
  /** How long a server may be away before the upload gives up. @defaultValue 120,000 */
  readonly patienceMs?: number | undefined;
  /** Called for each rejected row; the upload waits for it. */
  readonly onRejected?: ((row: RejectedRow) => void | Promise<void>) | undefined;
  /** Called with the progress of the upload, at most four times a second, and at its end. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Called when the server stops answering, with the reason; the upload waits for `patienceMs` at most. */
  readonly onWait?: ((reason: Error) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Rows: whatever can be iterated, Node's streams and the web's included. It is read as it is sent. */
export type UploadSource<Row> = Iterable<Row> | AsyncIterable<Row> | ReadableStream<Row>;
