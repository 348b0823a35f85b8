import { readDataset } from "../api/datasets/dataset-key.ts";
import type { Datasets } from "../api/datasets/datasets.ts";
import type { Call } from "../api/http/http.ts";
import type {
  UploadExamples,
  UploadFeedback,
  Uploader,
  UploadRuns,
  UploadStream,
} from "../api/uploads.ts";
import { ConflictError, NotFoundError } from "../model/errors.ts";
import type { UploadResult, UploadSettings, UploadSource } from "../model/resources/upload.ts";
import { unpackError } from "../api/sync/packed-error.ts";
import type { FilterOptions } from "../tracing/tape/payload-filters.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import { countOutcomes } from "../tracing/tape/tally.ts";
import type { OutcomeCounts } from "../tracing/tape/tally.ts";
import { CheckpointFile } from "./checkpoint.ts";
import type { ChunkShipper, ChunkTarget } from "./chunk-task.ts";
import { createExampleEncoder, createFeedbackEncoder, createRunEncoder } from "./kinds.ts";
import { iterateSource } from "./rows.ts";
import type { RowIterator } from "./rows.ts";
import { checkSettings } from "./settings.ts";
import type { CheckedSettings } from "./settings.ts";
import { createUploadStream } from "./upload-stream.ts";
import { BulkUpload } from "./upload.ts";
import type { BulkKind, ChunkReport } from "./upload.ts";

/** Constructor arguments of {@link Uploads}. */
export interface UploadsInit {
  readonly call: Call;
  readonly datasets: Pick<Datasets, "create">;
  /** Returns the object that sends rows. Called for each buffer of rows. */
  readonly getShipper: () => ChunkShipper;
  readonly filters: FilterOptions;
  /** Maximum size of one attachment of a run in bytes. */
  readonly attachmentBytes: number;
  /** The project of runs that name none. */
  readonly projectName: string;
}

/** Uploads the rows of sources of any size: reads and encodes the rows, and passes chunks of them to workers. */
export class Uploads implements Uploader {
  readonly #init: UploadsInit;

  constructor(init: UploadsInit) {
    this.#init = init;
  }

  async uploadExamples<Row>(
    source: UploadSource<Row>,
    request: UploadExamples<Row>,
  ): Promise<UploadResult> {
    const rows = iterateSource(source);
    return runUpload(rows, await this.#startExamples(request));
  }

  streamExamples<Row>(request: UploadExamples<Row>): UploadStream {
    const upload = this.#startExamples(request);
    // The stream awaits this promise with the first row. Until then a rejection must not count as unhandled.
    upload.catch(() => undefined);
    return createUploadStream(upload);
  }

  async uploadFeedback<Row>(
    source: UploadSource<Row>,
    request: UploadFeedback<Row>,
  ): Promise<UploadResult> {
    const rows = iterateSource(source);
    const settings = checkSettings(request);
    const kind = this.#createKind({ resource: "feedback" }, "feedback", settings);
    return runUpload(
      rows,
      await startUpload({ ...kind, createEncoder: createFeedbackEncoder(request) }, settings),
    );
  }

  async uploadRuns<Row>(
    source: UploadSource<Row>,
    request: UploadRuns<Row>,
  ): Promise<UploadResult> {
    const rows = iterateSource(source);
    const settings = checkSettings(request);
    const { filters, attachmentBytes } = this.#init;
    const rowNumbersById = new Map<string, number>();
    const { sendTape, target } = this.#createKind({ resource: "runs" }, "runs", settings);
    const kind: BulkKind = {
      target,
      createEncoder: createRunEncoder(
        { ...request, projectName: request.projectName ?? this.#init.projectName },
        { filters, attachmentBytes, rowNumbersById },
      ),
      // Only the rows in flight are kept in memory, however many rows the source has.
      onDone: (count) => deleteRowsUpTo(rowNumbersById, count),
      sendTape: async (tape) => {
        const report = await sendTape(tape);
        const rejected = report.rejected.map((rejectedRow) => ({
          ...rejectedRow,
          row: rowNumbersById.get(rejectedRow.id ?? "") ?? 0,
        }));
        return { ...report, rejected };
      },
    };
    return runUpload(rows, await startUpload(kind, settings));
  }

  async #startExamples<Row>(request: UploadExamples<Row>): Promise<BulkUpload> {
    const settings = checkSettings(request);
    const datasetId = await this.#findOrCreateDataset(request, settings);
    if (datasetId === undefined) {
      return startDryRun(request, settings);
    }
    const target = `examples of dataset ${datasetId}`;
    const kind = this.#createKind({ resource: "examples", datasetId }, target, settings);
    return startUpload(
      { ...kind, createEncoder: createExampleEncoder(request, datasetId) },
      settings,
    );
  }

  #createKind(
    target: ChunkTarget,
    name: string,
    { dryRun = false }: CheckedSettings,
  ): Pick<BulkKind, "target" | "sendTape"> {
    const sendTape = async (tape: Tape): Promise<ChunkReport> => {
      const countsBefore = countOutcomes(tape);
      const { memory, usedBytes } = tape;
      const { failure, ...report } = await this.#init
        .getShipper()
        .ship({ target, memory, usedBytes, dryRun });
      return failure === undefined
        ? report
        : {
            ...addUnreported(report, countsBefore, countOutcomes(tape)),
            failure: unpackError(failure),
          };
    };
    return { target: name, sendTape };
  }

  /**
   * Returns the dataset's id. Creates the dataset if requested; returns `undefined` if a dry run would have to create
   * it.
   */
  async #findOrCreateDataset<Row>(
    request: UploadExamples<Row>,
    { signal, dryRun }: UploadSettings,
  ): Promise<string | undefined> {
    const { datasetName, createDataset = false } = request;
    try {
      return (await readDataset(this.#init.call, request, { signal })).id;
    } catch (error) {
      const isMissing = error instanceof NotFoundError && datasetName !== undefined;
      if (!isMissing || createDataset === false) {
        throw error;
      }
      if (dryRun === true) {
        return undefined;
      }
    }
    try {
      const init = createDataset === true ? {} : createDataset;
      return (await this.#init.datasets.create({ ...init, name: datasetName, signal })).id;
    } catch (error) {
      if (error instanceof ConflictError) {
        // Another client created the dataset in the meantime.
        return (await readDataset(this.#init.call, { datasetName }, { signal })).id;
      }
      throw error;
    }
  }
}

/** Deletes the entries for the first `rows` rows of the source. The map must be ordered by row number. */
export function deleteRowsUpTo(rowNumbersById: Map<string, number>, rows: number): void {
  for (const [id, row] of rowNumbersById) {
    if (row > rows) {
      return;
    }
    rowNumbersById.delete(id);
  }
}

/** Adds the outcomes that a crashed worker marked in the buffer of rows but could not report. */
function addUnreported(
  report: ChunkReport,
  countsBefore: OutcomeCounts,
  countsAfter: OutcomeCounts,
): ChunkReport {
  const unreportedCount =
    countsAfter.delivered - countsBefore.delivered - report.created - report.skipped;
  const refusedCount = countsAfter.rejected - countsBefore.rejected - report.rejected.length;
  const reason = "refused by the server; row and reason are unknown because the worker crashed";
  return {
    ...report,
    created: report.created + Math.max(0, unreportedCount),
    rejected: [
      ...report.rejected,
      ...Array.from({ length: Math.max(0, refusedCount) }, () => ({ row: 0, reason })),
    ],
  };
}

/** Starts a dry run for a dataset that does not exist yet. Rows are only checked locally, without the server. */
function startDryRun<Row>(request: UploadExamples<Row>, settings: CheckedSettings): BulkUpload {
  const name = JSON.stringify(request.datasetName);
  const { inputsSchema, outputsSchema } = {
    ...(typeof request.createDataset === "object" ? request.createDataset : {}),
  };
  const hasSchema = inputsSchema !== undefined || outputsSchema !== undefined;
  const schemaNote = hasSchema ? "; rows are checked against its schemas once it exists" : "";
  const kind: BulkKind = {
    target: `examples of dataset ${name}`,
    createEncoder: createExampleEncoder(request, nilId),
    sendTape: async ({ records, usedBytes }) => ({
      created: records,
      skipped: 0,
      rejected: [],
      bytes: usedBytes,
    }),
  };
  const warnings = [`Dataset ${name} does not exist yet: the upload would create it${schemaNote}`];
  return new BulkUpload(kind, settings, { checkpoint: undefined, warnings });
}

/** The nil UUID (RFC 9562, section 5.9). It stands for the id of a dataset that does not exist yet. */
const nilId = "00000000-0000-0000-0000-000000000000";

/** Opens the checkpoint, if there is one, and starts the upload. */
async function startUpload(kind: BulkKind, settings: CheckedSettings): Promise<BulkUpload> {
  const warnings: string[] = [];
  const onFault = (message: string): void => void warnings.push(message);
  const checkpoint =
    settings.checkpoint === undefined || settings.dryRun === true
      ? undefined
      : await CheckpointFile.open(settings.checkpoint, { target: kind.target, onFault });
  return new BulkUpload(kind, settings, { checkpoint, warnings });
}

/** Reads the source to its end and uploads its rows. */
async function runUpload(iterator: RowIterator, upload: BulkUpload): Promise<UploadResult> {
  for (;;) {
    let nextRow: IteratorResult<unknown> | undefined;
    try {
      nextRow = await readNext(iterator, upload);
    } catch (error) {
      return upload.fail(error);
    }
    if (nextRow === undefined || nextRow.done === true) {
      break;
    }
    try {
      await upload.add(nextRow.value);
    } catch {
      // `finish` throws the reason after the chunks in flight have ended.
      break;
    }
  }
  if (upload.hasFailed) {
    // Close the source. Its errors are ignored, because the upload's own failure is reported.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
  return upload.finish();
}

/** Reads the next row. Resolves to `undefined` if the upload fails before the source returns a row. */
function readNext(
  iterator: RowIterator,
  upload: BulkUpload,
): Promise<IteratorResult<unknown> | undefined> {
  return new Promise((resolve, reject) => {
    upload.onFailure = () => resolve(undefined);
    Promise.resolve(iterator.next()).then(resolve, reject);
  });
}
