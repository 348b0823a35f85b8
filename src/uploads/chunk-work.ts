import type { Call } from "../api/http/http.ts";
import { createFormBody } from "../api/http/form.ts";
import { jsonType } from "../api/http/request.ts";
import { ServerInfoReader } from "../api/http/server-info.ts";
import { ConflictError, HttpError, NetworkError, ValidationError } from "../model/errors.ts";
import { Fields } from "../model/fields.ts";
import { parseFeedback } from "../model/resources/feedback.ts";
import type { ShipReport, ShipTask } from "../model/records/shipping.ts";
import type { RejectedRow } from "../model/resources/upload.ts";
import { packError } from "../api/sync/packed-error.ts";
import { JsonWriter } from "../workers/json/json-writer.ts";
import { TapeReader } from "../workers/json/tape-reader.ts";
import { formatPartName } from "../workers/wire.ts";
import type { ChunkReply, ChunkShipper, ChunkTask } from "./chunk-task.ts";
import { ExampleChunks } from "./example-chunks.ts";
import { rowField } from "./row-format.ts";
import { readRows } from "./tape-rows.ts";
import type { TapeRow } from "./tape-rows.ts";
import { Http } from "../api/http/http.ts";
import { createDispatcher } from "../transport/dispatcher.ts";
import { Shipper } from "../workers/host/shipper.ts";
import type { UploadWorkerData } from "./upload-pool.ts";

/** Constructor arguments of {@link ChunkWork}. */
export interface ChunkWorkInit {
  readonly call: Call;
  /** Sends a tape, the buffer of encoded runs. */
  readonly shipRuns: (task: ShipTask) => Promise<ShipReport>;
}

/** Maximum number of requests in flight while one task uploads feedback with one request for each entry. */
const feedbackInFlight = 16;

/**
 * Sends chunks of rows as requests, and marks the outcome of each row in the chunk's buffer, its tape. It runs in a
 * worker thread, or on the main thread if there are no workers.
 */
export class ChunkWork implements ChunkShipper {
  readonly #init: ChunkWorkInit;
  readonly #examples: ExampleChunks;
  readonly #info: ServerInfoReader;

  constructor(init: ChunkWorkInit) {
    this.#init = init;
    this.#examples = new ExampleChunks(init.call);
    this.#info = new ServerInfoReader(init.call);
  }

  async ship(task: ChunkTask): Promise<ChunkReply> {
    const reader = new TapeReader(task.memory, task.usedBytes);
    switch (task.target.resource) {
      case "examples":
        return this.#shipExamples(reader, task.target.datasetId, task.dryRun);
      case "feedback":
        return this.#shipFeedback(reader, task.dryRun);
      case "runs":
        return this.#shipRuns(reader, task);
    }
  }

  async #shipExamples(reader: TapeReader, datasetId: string, dryRun: boolean): Promise<ChunkReply> {
    const counts = { created: 0, skipped: 0, bytes: 0 };
    const rejected: RejectedRow[] = [];
    const rows = readRows(reader, datasetId);
    const outcomes = {
      onDone: (
        doneRows: readonly TapeRow[],
        { created, bytes }: { created: number; bytes: number },
      ) => {
        counts.created += created;
        counts.skipped += doneRows.length - created;
        counts.bytes += bytes;
        doneRows.forEach(({ record }) => reader.writeOutcome(record, "delivered"));
      },
      onRejected: ({ record }: TapeRow, rejection: RejectedRow) => {
        rejected.push(rejection);
        reader.writeOutcome(record, "rejected");
      },
    };
    try {
      await (dryRun
        ? this.#examples.check(rows, datasetId, outcomes)
        : this.#examples.send(rows, datasetId, outcomes));
      return { ...counts, rejected };
    } catch (error) {
      return { ...counts, rejected, failure: packError(error) };
    }
  }

  async #shipFeedback(reader: TapeReader, dryRun: boolean): Promise<ChunkReply> {
    const sentCounts = dryRun ? undefined : await this.#sendFeedbackParts(reader);
    if (sentCounts !== undefined) {
      return { ...sentCounts, rejected: [] };
    }
    const counts = { created: 0, skipped: 0, bytes: 0 };
    const rejected: RejectedRow[] = [];
    const failures: unknown[] = [];
    let nextRecord = 0;
    const sendNext = async (): Promise<void> => {
      while (nextRecord < reader.count && failures.length === 0) {
        const record = nextRecord++;
        const body = readBody(reader, record);
        try {
          const isNew = dryRun || (await this.#createFeedback(body));
          counts[isNew ? "created" : "skipped"] += 1;
          counts.bytes += body.length;
          reader.writeOutcome(record, "delivered");
        } catch (error) {
          if (isRowRefusal(error)) {
            rejected.push(createRejection(reader, record, error));
            reader.writeOutcome(record, "rejected");
          } else {
            failures.push(error);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: feedbackInFlight }, sendNext));
    return failures.length === 0
      ? { ...counts, rejected }
      : { ...counts, rejected, failure: packError(failures[0]) };
  }

  /**
   * Creates all feedback of a chunk with one request. Returns `undefined` if that is not possible: the server does not
   * support it, the request would be too large, an entry is not about a run, or an entry was refused. The caller then
   * sends one request for each entry. The entries have ids, so none is created twice.
   */
  async #sendFeedbackParts(reader: TapeReader): Promise<Omit<ChunkReply, "rejected"> | undefined> {
    const { feedbackParts, batchBytes } = await this.#info.readOrDefaults({});
    const bodies = Array.from({ length: reader.count }, (_, record) => readBody(reader, record));
    const bytes = bodies.reduce((sum, { length }) => sum + length + feedbackPartBytes, 0);
    const runIds = bodies.map(
      (body) => (JSON.parse(body.toString()) as { readonly run_id?: unknown }).run_id,
    );
    if (!feedbackParts || bytes > batchBytes || !runIds.every((id) => typeof id === "string")) {
      return undefined;
    }
    const parts = bodies.map((content, index) => ({
      name: formatPartName({ kind: "feedback", runId: runIds[index] ?? "" }),
      type: jsonType,
      content,
    }));
    let response: unknown;
    try {
      response = await this.#init.call("sendMultipart", {
        body: createFormBody(parts),
        repeatable: true,
      });
    } catch (error) {
      // If the server refused the request, one request for each entry then shows which entries it refuses.
      return error instanceof HttpError && !error.retryable
        ? undefined
        : { created: 0, skipped: 0, bytes: 0, failure: packError(error) };
    }
    const fields = new Fields(response, "outcome of feedback");
    const created = fields.readOptionalNumber("accepted") ?? 0;
    const skipped = fields.readOptionalNumber("duplicates") ?? 0;
    if (created + skipped !== reader.count) {
      return undefined;
    }
    for (let record = 0; record < reader.count; record += 1) {
      reader.writeOutcome(record, "delivered");
    }
    return { created, skipped, bytes };
  }

  /** Creates a feedback entry. Returns false if an entry with the same id already exists. */
  async #createFeedback(body: Buffer): Promise<boolean> {
    try {
      await this.#init.call("createFeedback", {
        body: { contentType: jsonType, content: body },
        repeatable: true,
      });
      return true;
    } catch (error) {
      const { id } = JSON.parse(body.toString()) as { readonly id: string };
      if (error instanceof ConflictError && (await this.#hasFeedback(id))) {
        return false;
      }
      throw error;
    }
  }

  async #hasFeedback(id: string): Promise<boolean> {
    return parseFeedback(await this.#init.call("readFeedback", { path: { id } })).id === id;
  }

  async #shipRuns(
    reader: TapeReader,
    { memory, usedBytes, dryRun }: ChunkTask,
  ): Promise<ChunkReply> {
    if (dryRun) {
      return { created: reader.count, skipped: 0, rejected: [], bytes: 0 };
    }
    const report = await this.#init.shipRuns({ memory, usedBytes });
    // The row numbers are not on the tape. `Uploads.uploadRuns` finds them by the run ids.
    const rejected = report.refused.map(({ runId, message }) => ({
      row: 0,
      id: runId,
      reason: message,
    }));
    const { delivered, existing = 0, bytes, undelivered, reason } = report;
    return {
      created: delivered - existing,
      skipped: existing,
      rejected,
      bytes,
      ...(undelivered === 0
        ? {}
        : { failure: packError(new NetworkError(reason ?? "the server did not respond")) }),
    };
  }
}

/** Upper bound of the bytes that a part has in addition to its content: its headers and the boundary. */
const feedbackPartBytes = 300;

const rowRefusalStatuses = new Set([400, 404, 409, 413, 422]);

const isRowRefusal = (error: unknown): error is Error =>
  error instanceof ValidationError ||
  (error instanceof HttpError && rowRefusalStatuses.has(error.status));

function readBody(reader: TapeReader, record: number): Buffer {
  const out = new JsonWriter(Buffer.allocUnsafe(4_096));
  out.writeValue(reader.bytes, reader.view, reader.findFieldStart(record, rowField.body));
  return out.bytes.subarray(0, out.length);
}

function createRejection(reader: TapeReader, record: number, { message }: Error): RejectedRow {
  const offset = reader.findFieldStart(record, rowField.row);
  const row = offset === 0 ? 0 : reader.view.getFloat64(offset, true);
  return { row, reason: message };
}

/** Creates the object that sends chunks, for a worker thread or for the main thread. */
export function createChunkWork({ shipping }: UploadWorkerData): ChunkWork {
  const http = new Http(shipping);
  let runShipper: Shipper | undefined;
  const shipRuns: Shipper["ship"] = (task) => {
    runShipper ??= new Shipper(shipping, { createTransport: createDispatcher });
    return runShipper.ship(task);
  };
  return new ChunkWork({ call: http.call, shipRuns });
}
