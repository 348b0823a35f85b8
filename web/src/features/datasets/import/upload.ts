import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { ApiError, postJson } from "../../../api/http.ts";
import { toItems, toNumber, toRecord, toText } from "../../../api/parse.ts";
import { RowReader } from "./import-file.ts";
import type { FileRow } from "./import-file.ts";
import type { FileShape } from "./import-rows.ts";

/** A row that was not imported. */
export interface RejectedRow {
  readonly line: number;
  readonly reason: string;
}

export interface ImportState {
  /** Fraction of the file that has been read, 0 to 1. */
  readonly fractionRead: number;
  /** Examples created so far. */
  readonly createdCount: number;
  readonly rejectedCount: number;
  /** The first rejected rows, at most 500. */
  readonly firstRejectedRows: readonly RejectedRow[];
}

/** A request is sent when this many rows have been collected. Each request creates one version of the dataset. */
const batchRows = 5_000;
/** A request is also sent when the JSON of the collected rows has this many characters or more. */
const batchChars = 4 * 1_048_576;
const maxListedRejections = 500;
const maxBusyRetries = 20;
const busyDelayMs = 500;

/**
 * Reads a file chunk by chunk and sends its rows. Examples that were created before an error or a cancellation stay in
 * the dataset.
 *
 * @throws {@link ApiError} the server rejected a request or did not respond.
 * @throws TypeError the file is not UTF-8.
 */
export async function importFile({
  file,
  shape,
  datasetId,
  signal,
  onState,
}: {
  readonly file: File;
  readonly shape: FileShape;
  readonly datasetId: string;
  readonly signal: AbortSignal;
  readonly onState: (state: ImportState) => void;
}): Promise<ImportState> {
  const rowReader = new RowReader(shape);
  const rowSender = new RowSender(datasetId, signal);
  const chunkReader = file.stream().getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytesRead = 0;
  for (;;) {
    signal.throwIfAborted();
    const { value } = await chunkReader.read();
    bytesRead += value?.byteLength ?? 0;
    const text = decoder.decode(value, { stream: value !== undefined });
    // Wait for the server before reading the next chunk, because the rows of a large file would otherwise fill the
    // memory.
    await rowSender.add(rowReader.read(text));
    if (value === undefined) {
      break;
    }
    onState(rowSender.getState(bytesRead / file.size));
  }
  await rowSender.add(rowReader.finish());
  await rowSender.flush();
  return rowSender.getState(1);
}

/** Collects rows and sends them in requests of a limited size. */
class RowSender {
  readonly #datasetId: string;
  readonly #signal: AbortSignal;
  #lineNumbers: number[] = [];
  #rows: unknown[] = [];
  #chars = 0;
  #createdCount = 0;
  #rejectedCount = 0;
  readonly #firstRejectedRows: RejectedRow[] = [];

  constructor(datasetId: string, signal: AbortSignal) {
    this.#datasetId = datasetId;
    this.#signal = signal;
  }

  getState(fractionRead: number): ImportState {
    return {
      fractionRead: Math.min(1, fractionRead),
      createdCount: this.#createdCount,
      rejectedCount: this.#rejectedCount,
      firstRejectedRows: [...this.#firstRejectedRows],
    };
  }

  async add(rows: readonly FileRow[]): Promise<void> {
    for (const row of rows) {
      if (row.kind === "fault") {
        this.#reject(row);
      } else {
        this.#lineNumbers.push(row.line);
        this.#rows.push(row.row);
        this.#chars += JSON.stringify(row.row).length;
        if (this.#lineNumbers.length >= batchRows || this.#chars >= batchChars) {
          await this.flush();
        }
      }
    }
  }

  async flush(): Promise<void> {
    if (this.#rows.length === 0) {
      return;
    }
    const lineNumbers = this.#lineNumbers;
    const response = toRecord(await this.#post(this.#rows));
    this.#lineNumbers = [];
    this.#rows = [];
    this.#chars = 0;
    this.#createdCount += toNumber(response["count"]) ?? 0;
    for (const item of toItems(response["rejected"])) {
      const { index, reason } = toRecord(item);
      this.#reject({ line: lineNumbers[toNumber(index) ?? 0] ?? 0, reason: toText(reason) ?? "" });
    }
  }

  /** Sends a request. Retries while the server responds with 429, which means that it is busy. */
  async #post(rows: readonly unknown[]): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await postJson(
          toEndpointPath("/ui/datasets/:id/import", { id: this.#datasetId }),
          rows,
          this.#signal,
        );
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 429 || attempt >= maxBusyRetries) {
          throw cause;
        }
        await new Promise((resolve) => {
          setTimeout(resolve, busyDelayMs);
        });
      }
    }
  }

  #reject(row: RejectedRow): void {
    this.#rejectedCount += 1;
    if (this.#firstRejectedRows.length < maxListedRejections) {
      this.#firstRejectedRows.push({ line: row.line, reason: row.reason });
    }
  }
}
