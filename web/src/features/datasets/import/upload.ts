import { endpointPath } from "../../../api/endpoint-path.ts";
import { ApiError, postJson } from "../../../api/http.ts";
import { toItems, toNumber, toRecord, toText } from "../../../api/parse.ts";
import { RowReader } from "./import-file.ts";
import type { FileRow } from "./import-file.ts";
import type { FileShape } from "./import-rows.ts";

/** A row that was not taken. */
export interface RejectedRow {
  readonly line: number;
  readonly reason: string;
}

export interface ImportState {
  /** Of the file, 0 to 1. */
  readonly share: number;
  /** Examples made so far. */
  readonly count: number;
  readonly rejectedCount: number;
  /** The first of them. */
  readonly rejected: readonly RejectedRow[];
}

/** Rows of one request, and characters of its body; each request is one version. */
const batchRows = 5_000;
const batchChars = 4 * 1_048_576;
const rejectedKept = 500;
const busyWaits = 20;
const busyWaitMs = 500;

/**
 * Reads a file piece by piece and sends its rows. What was sent before an error or a cancel stays.
 *
 * @throws {@link ApiError} the server refused or does not answer. TypeError: the file is not UTF-8.
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
  const rows = new RowReader(shape);
  const sender = new Sender(datasetId, signal);
  const reader = file.stream().getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let readBytes = 0;
  for (;;) {
    signal.throwIfAborted();
    // One after the other: the file is read only as fast as the server takes it.
    const { value } = await reader.read();
    readBytes += value?.byteLength ?? 0;
    const text = decoder.decode(value, { stream: value !== undefined });
    await sender.add(rows.read(text));
    if (value === undefined) {
      break;
    }
    onState(sender.state(readBytes / file.size));
  }
  await sender.add(rows.end());
  await sender.flush();
  return sender.state(1);
}

class Sender {
  readonly #datasetId: string;
  readonly #signal: AbortSignal;
  #lines: number[] = [];
  #bodies: unknown[] = [];
  #chars = 0;
  #count = 0;
  #rejectedCount = 0;
  readonly #rejected: RejectedRow[] = [];

  constructor(datasetId: string, signal: AbortSignal) {
    this.#datasetId = datasetId;
    this.#signal = signal;
  }

  state(share: number): ImportState {
    return {
      share: Math.min(1, share),
      count: this.#count,
      rejectedCount: this.#rejectedCount,
      rejected: [...this.#rejected],
    };
  }

  async add(rows: readonly FileRow[]): Promise<void> {
    for (const row of rows) {
      if (row.kind === "fault") {
        this.#reject(row);
      } else {
        this.#lines.push(row.line);
        this.#bodies.push(row.row);
        this.#chars += JSON.stringify(row.row).length;
        if (this.#lines.length >= batchRows || this.#chars >= batchChars) {
          await this.flush();
        }
      }
    }
  }

  async flush(): Promise<void> {
    if (this.#bodies.length === 0) {
      return;
    }
    const lines = this.#lines;
    const answer = toRecord(await this.#post(this.#bodies));
    this.#lines = [];
    this.#bodies = [];
    this.#chars = 0;
    this.#count += toNumber(answer["count"]) ?? 0;
    for (const item of toItems(answer["rejected"])) {
      const { index, reason } = toRecord(item);
      this.#reject({ line: lines[toNumber(index) ?? 0] ?? 0, reason: toText(reason) ?? "" });
    }
  }

  /** A busy server answers 429, and accepts the request a little later. */
  async #post(body: readonly unknown[]): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await postJson(
          endpointPath("/ui/datasets/:id/import", { id: this.#datasetId }),
          body,
          this.#signal,
        );
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 429 || attempt >= busyWaits) {
          throw cause;
        }
        await new Promise((resolve) => {
          setTimeout(resolve, busyWaitMs);
        });
      }
    }
  }

  #reject(row: RejectedRow): void {
    this.#rejectedCount += 1;
    if (this.#rejected.length < rejectedKept) {
      this.#rejected.push({ line: row.line, reason: row.reason });
    }
  }
}
