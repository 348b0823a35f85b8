import { createMarker } from "../json/attachments.ts";
import type { Attachment } from "../json/attachments.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import { writeBody } from "./request-body.ts";
import type { BodyFormat } from "./request-body.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft } from "../json/content-deduplication.ts";
import { measureRun, separateStartAndEnd } from "../json/operations.ts";
import type { RunOperation } from "../json/operations.ts";
import type { RunJson } from "../json/run-json.ts";
import type { Batch } from "./sink.ts";
import type { TapeReader } from "../json/tape-reader.ts";

/**
 * Approximate bytes that JSON keys, multipart headers, and the names and versions of the SDK and the runtime add to a
 * run's contents.
 */
const overheadBytes = 1_200;

/**
 * Runs are small if their contents are at most this large on average. For small runs multipart
 * costs more than it saves: at 1 KB per run it adds a third of the bytes and a quarter of the
 * server's parsing time, at 5 KB nothing, and at 40 KB it halves the parsing time.
 */
const smallRunBytes = 8_192;

/**
 * A batch of runs from one tape, which is a buffer of recorded runs. The request body is written anew from the tape
 * each time the batch is sent.
 */
export class TapeBatch implements Batch {
  readonly runs: readonly RunOperation[];
  readonly #reader: TapeReader;
  readonly #json: RunJson;
  /** Bytes of the contents of all runs, and of the largest run, without attachments. */
  readonly #contentBytes: number;
  readonly #largestBytes: number;

  constructor(reader: TapeReader, json: RunJson, runs: readonly RunOperation[]) {
    this.#reader = reader;
    this.#json = json;
    this.runs = runs;
    let contentBytes = 0;
    let largestBytes = 0;
    for (const run of runs) {
      const size = measureRun(reader, run);
      contentBytes += size;
      largestBytes = Math.max(largestBytes, size);
    }
    this.#contentBytes = contentBytes;
    this.#largestBytes = largestBytes;
  }

  get sizeBytes(): number {
    return this.#contentBytes + this.runs.length * overheadBytes;
  }

  get isSmall(): boolean {
    const mayExtractAttachments = this.#largestBytes >= this.#json.attachBytesFrom;
    const isLarge = this.#contentBytes > this.runs.length * smallRunBytes;
    return !isLarge && !mayExtractAttachments && !this.runs.some(hasAttachments);
  }

  withRuns(runs: readonly RunOperation[]): TapeBatch {
    return new TapeBatch(this.#reader, this.#json, runs);
  }

  splitSingleRun(): readonly TapeBatch[] {
    const [run] = this.runs;
    if (run === undefined || this.runs.length > 1) {
      return [];
    }
    const startAndEnd = separateStartAndEnd(this.#reader, run);
    if (startAndEnd.length > 0) {
      return startAndEnd.map((part) => this.withRuns([part]));
    }
    const [attachment] = run.attachments ?? [];
    if (attachment !== undefined && attachment.omittedReason === undefined) {
      const reason = `${attachment.sizeBytes} bytes exceed the server's size limit`;
      return [this.withRuns([{ ...run, attachments: [createMarker(attachment, reason)] }])];
    }
    const largestPayload =
      run.hasOnlyAttachments === true ? undefined : this.#json.findLargestPayload(run);
    const withheld = run.withheldFields ?? [];
    return largestPayload === undefined
      ? []
      : [this.withRuns([{ ...run, withheldFields: [...withheld, largestPayload] }])];
  }

  separateAttachments(): readonly TapeBatch[] {
    const [run] = this.runs;
    const { attachments = [] } = run ?? {};
    const isOnlyStartOrEnd =
      run !== undefined && separateStartAndEnd(this.#reader, run).length === 0;
    const minAttachments = run?.hasOnlyAttachments === true ? 2 : 1;
    if (this.runs.length > 1 || !isOnlyStartOrEnd || attachments.length < minAttachments) {
      return [];
    }
    const { attachments: _attachments, ...runWithoutAttachments } = run;
    const middle = Math.ceil(attachments.length / 2);
    const attachmentsRun = { ...run, hasOnlyAttachments: true } as const;
    return minAttachments === 1
      ? [this.withRuns([runWithoutAttachments]), this.withRuns([attachmentsRun])]
      : [attachments.slice(0, middle), attachments.slice(middle)].map((half) =>
          this.withRuns([{ ...attachmentsRun, attachments: half }]),
        );
  }

  combineBatches(batches: readonly Batch[]): TapeBatch {
    const partialRuns = batches.flatMap(({ runs }) => runs);
    const [run = this.runs[0]] = partialRuns.filter(
      ({ hasOnlyAttachments }) => hasOnlyAttachments !== true,
    );
    const attachments = partialRuns.flatMap((partialRun) => partialRun.attachments ?? []);
    return run === undefined ? this : this.withRuns([{ ...run, attachments }]);
  }

  /** Replaces each attachment by a marker, a text which states that the attachment was left out. */
  replaceAttachments(): TapeBatch {
    if (this.runs.every(({ attachments }) => attachments?.every(isLeftOut) !== false)) {
      return this;
    }
    return this.withRuns(this.runs.map((run) => replaceAttachments(run, noMultipartReason)));
  }

  writeBody(
    out: JsonWriter,
    format: BodyFormat,
    content?: ContentDraft,
  ): readonly AttachmentInsert[] {
    return writeBody(out, this.#json, this.runs, format, content);
  }
}

const noMultipartReason = "the server accepts runs only as JSON, without attachments";

const isLeftOut = (attachment: Attachment): boolean => attachment.omittedReason !== undefined;

/** Replaces the attachments of a run by markers with this reason. Existing markers are kept. */
export const replaceAttachments = (run: RunOperation, reason: string): RunOperation =>
  run.attachments === undefined
    ? run
    : {
        ...run,
        attachments: run.attachments.map((attachment) =>
          isLeftOut(attachment) ? attachment : createMarker(attachment, reason),
        ),
      };

const hasAttachments = ({ attachments }: RunOperation): boolean => attachments !== undefined;

/** Returns the number of bytes of a run including its attachments. */
function measureWithAttachments(reader: TapeReader, run: RunOperation): number {
  const size = measureRun(reader, run);
  return run.attachments === undefined
    ? size
    : run.attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, size);
}

/** Limits of one batch, and the records that may crash a worker. */
export interface BatchLimits {
  readonly maxRuns: number;
  readonly maxBytes: number;
  /** Offsets, on the tape (the buffer of recorded runs), of the records that a worker was writing when it crashed. */
  readonly suspectRecords: readonly number[];
}

/** The batches into which the recorded runs are divided. */
export interface BatchPlan {
  readonly batches: readonly Batch[];
  /**
   * Batches of one run each, to be sent after all others have an outcome, because they may crash
   * the worker.
   */
  readonly suspectRuns: readonly Batch[];
}

/**
 * Divides the runs of a tape (a buffer of recorded runs) into batches within the limits. A run that can't be sent
 * together with others gets a batch of its own. Runs with attachments are sent separately, so that the others can be
 * compressed and need not wait for files.
 */
// oxlint-disable-next-line max-params -- called once per tape, and no two parameters belong together elsewhere
export function cutBatches(
  reader: TapeReader,
  createBatch: (runs: readonly RunOperation[]) => Batch,
  runs: readonly RunOperation[],
  limits: BatchLimits,
): BatchPlan {
  const batches: Batch[] = [];
  let currentRuns: RunOperation[] = [];
  let currentBytes = 0;
  const suspectRuns: Batch[] = [];
  const isSuspect = createSuspectCheck(reader, limits.suspectRecords);
  const cut = (): void => {
    if (currentRuns.length > 0) {
      batches.push(createBatch(currentRuns));
      currentRuns = [];
      currentBytes = 0;
    }
  };
  for (const run of reader.hasAttachments ? orderByAttachments(runs) : runs) {
    if (run === undefined) {
      cut();
      continue;
    }
    if (isSuspect(run)) {
      suspectRuns.push(createBatch([run]));
      continue;
    }
    if (!run.isBatchable) {
      batches.push(createBatch([run]));
      continue;
    }
    const size = measureWithAttachments(reader, run) + overheadBytes;
    if (currentRuns.length >= limits.maxRuns || currentBytes + size > limits.maxBytes) {
      cut();
    }
    currentRuns.push(run);
    currentBytes += size;
  }
  cut();
  return { batches, suspectRuns };
}

/** Returns the runs without attachments, then `undefined` as a separator, then the runs with attachments. */
const orderByAttachments = (
  runs: readonly RunOperation[],
): readonly (RunOperation | undefined)[] => [
  ...runs.filter((run) => !hasAttachments(run)),
  undefined,
  ...runs.filter(hasAttachments),
];

/**
 * Creates a function that returns whether a worker crashed while it wrote one of the run's records.
 */
function createSuspectCheck(
  reader: TapeReader,
  suspectRecords: readonly number[],
): (run: RunOperation) => boolean {
  const suspectHeads = new Set(suspectRecords);
  return suspectHeads.size === 0
    ? () => false
    : ({ records }) => records.some((record) => suspectHeads.has(reader.findOriginalHead(record)));
}
