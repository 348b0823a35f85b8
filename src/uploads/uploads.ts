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
import { tallyOf } from "../tracing/tape/tally.ts";
import type { Tally } from "../tracing/tape/tally.ts";
import { CheckpointFile } from "./checkpoint.ts";
import type { ChunkShipper, ChunkTarget } from "./chunk-task.ts";
import { examplesOn, feedbackOn, runsOn } from "./kinds.ts";
import { rowsOf } from "./rows.ts";
import type { RowIterator } from "./rows.ts";
import { checkSettings } from "./settings.ts";
import type { CheckedSettings } from "./settings.ts";
import { uploadStreamTo } from "./upload-stream.ts";
import { BulkUpload } from "./upload.ts";
import type { BulkKind, ChunkReport } from "./upload.ts";

export interface UploadsInit {
  readonly call: Call;
  readonly datasets: Pick<Datasets, "create">;
  /** Started at the first upload. */
  readonly shipper: () => ChunkShipper;
  readonly filters: FilterOptions;
  /** Bytes of one attachment of a run, at most. */
  readonly attachmentBytes: number;
  /** Where runs are filed that name no project. */
  readonly projectName: string;
}

/** Uploads of any size: reads, encodes, and hands chunks to workers. */
export class Uploads implements Uploader {
  readonly #init: UploadsInit;

  constructor(init: UploadsInit) {
    this.#init = init;
  }

  async examples<Row>(
    source: UploadSource<Row>,
    request: UploadExamples<Row>,
  ): Promise<UploadResult> {
    const rows = rowsOf(source);
    return drive(rows, await this.#beginExamples(request));
  }

  examplesStream<Row>(request: UploadExamples<Row>): UploadStream {
    const beginning = this.#beginExamples(request);
    // It is awaited with the first row. Without rows it is not needed.
    beginning.catch(() => undefined);
    return uploadStreamTo(beginning);
  }

  async feedback<Row>(
    source: UploadSource<Row>,
    request: UploadFeedback<Row>,
  ): Promise<UploadResult> {
    const rows = rowsOf(source);
    const settings = checkSettings(request);
    const kind = this.#kind({ resource: "feedback" }, "feedback", settings);
    return drive(rows, await begin({ ...kind, encoderOn: feedbackOn(request) }, settings));
  }

  async runs<Row>(source: UploadSource<Row>, request: UploadRuns<Row>): Promise<UploadResult> {
    const rows = rowsOf(source);
    const settings = checkSettings(request);
    const { filters, attachmentBytes } = this.#init;
    const rowOf = new Map<string, number>();
    const { ship, target } = this.#kind({ resource: "runs" }, "runs", settings);
    const kind: BulkKind = {
      target,
      encoderOn: runsOn(
        { ...request, projectName: request.projectName ?? this.#init.projectName },
        { filters, attachmentBytes, rowOf },
      ),
      // However many rows there are, those under way alone are in memory.
      onDone: (count) => forgetUntil(rowOf, count),
      ship: async (tape) => {
        const report = await ship(tape);
        const rejected = report.rejected.map((one) => ({
          ...one,
          row: rowOf.get(one.id ?? "") ?? 0,
        }));
        return { ...report, rejected };
      },
    };
    return drive(rows, await begin(kind, settings));
  }

  async #beginExamples<Row>(request: UploadExamples<Row>): Promise<BulkUpload> {
    const settings = checkSettings(request);
    const datasetId = await this.#datasetOf(request, settings);
    if (datasetId === undefined) {
      return rejectStream(request, settings);
    }
    const target = `examples of dataset ${datasetId}`;
    const kind = this.#kind({ resource: "examples", datasetId }, target, settings);
    return begin({ ...kind, encoderOn: examplesOn(request, datasetId) }, settings);
  }

  #kind(
    target: ChunkTarget,
    name: string,
    { dryRun = false }: CheckedSettings,
  ): Pick<BulkKind, "target" | "ship"> {
    const ship = async (tape: Tape): Promise<ChunkReport> => {
      const before = tallyOf(tape);
      const { memory, used } = tape;
      const { failure, ...report } = await this.#init
        .shipper()
        .ship({ target, memory, used, dryRun });
      return failure === undefined
        ? report
        : { ...withUnsaid(report, before, tallyOf(tape)), failure: unpackError(failure) };
    };
    return { target: name, ship };
  }

  /** `undefined`: it is to be made, and this is a dry run. */
  async #datasetOf<Row>(
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
        // Somebody made it meanwhile.
        return (await readDataset(this.#init.call, { datasetName }, { signal })).id;
      }
      throw error;
    }
  }
}

/** Of rows in their order. */
export function forgetUntil(rowOf: Map<string, number>, rows: number): void {
  for (const [id, row] of rowOf) {
    if (row > rows) {
      return;
    }
    rowOf.delete(id);
  }
}

/** What became of rows by a worker that died before it could say so stands on the tape. */
function withUnsaid(report: ChunkReport, before: Tally, after: Tally): ChunkReport {
  const made = after.delivered - before.delivered - report.created - report.skipped;
  const refused = after.rejected - before.rejected - report.rejected.length;
  const reason = "refused by the server; the worker that knew the row and the reason died";
  return {
    ...report,
    created: report.created + Math.max(0, made),
    rejected: [
      ...report.rejected,
      ...Array.from({ length: Math.max(0, refused) }, () => ({ row: 0, reason })),
    ],
  };
}

/** A dry run into a dataset that the upload would make: rows are checked as such, there is no server to ask. */
function rejectStream<Row>(request: UploadExamples<Row>, settings: CheckedSettings): BulkUpload {
  const name = JSON.stringify(request.datasetName);
  const { inputsSchema, outputsSchema } = {
    ...(typeof request.createDataset === "object" ? request.createDataset : {}),
  };
  const hasSchema = inputsSchema !== undefined || outputsSchema !== undefined;
  const schema = hasSchema ? "; its schemas are checked when it is there" : "";
  const kind: BulkKind = {
    target: `examples of dataset ${name}`,
    encoderOn: examplesOn(request, nilId),
    ship: async ({ records, used }) => ({
      created: records,
      skipped: 0,
      rejected: [],
      bytes: used,
    }),
  };
  const warnings = [`There is no dataset ${name} yet: the upload would make it${schema}`];
  return new BulkUpload(kind, settings, { checkpoint: undefined, warnings });
}

/** Of nothing: RFC 9562, section 5.9. */
const nilId = "00000000-0000-0000-0000-000000000000";

async function begin(kind: BulkKind, settings: CheckedSettings): Promise<BulkUpload> {
  const warnings: string[] = [];
  const onTrouble = (message: string): void => void warnings.push(message);
  const checkpoint =
    settings.checkpoint === undefined || settings.dryRun === true
      ? undefined
      : await CheckpointFile.open(settings.checkpoint, { target: kind.target, onTrouble });
  return new BulkUpload(kind, settings, { checkpoint, warnings });
}

async function drive(iterator: RowIterator, upload: BulkUpload): Promise<UploadResult> {
  for (;;) {
    let step: IteratorResult<unknown> | undefined;
    try {
      step = await nextOf(iterator, upload);
    } catch (error) {
      return upload.fail(error);
    }
    if (step === undefined || step.done === true) {
      break;
    }
    try {
      await upload.add(step.value);
    } catch {
      // The reason is thrown once the chunks under way have ended.
      break;
    }
  }
  if (upload.hasFailed) {
    // Ends the source; what that throws comes after the failure that matters.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
  return upload.finish();
}

/** The next row; `undefined` where the upload fails while a source takes its time. */
function nextOf(
  iterator: RowIterator,
  upload: BulkUpload,
): Promise<IteratorResult<unknown> | undefined> {
  return new Promise((resolve, reject) => {
    upload.onFailure = () => resolve(undefined);
    Promise.resolve(iterator.next()).then(resolve, reject);
  });
}
