import { createMarker } from "../json/attachments.ts";
import type { Attachment } from "../json/attachments.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import { frameRuns } from "./frame.ts";
import type { FrameFormat } from "./frame.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft } from "../json/content-deduplication.ts";
import { sizeOf, separateStartAndEnd } from "../json/operations.ts";
import type { RunOperation } from "../json/operations.ts";
import type { RunJson } from "../json/run-json.ts";
import type { Batch } from "./sink.ts";
import type { TapeReader } from "../json/tape-reader.ts";

/** Bytes that a run's keys, parts and runtime facts add to its contents, roughly. */
const overheadBytes = 1_200;

/**
 * Up to this mean of their contents runs are small. There parts cost more than they save: at a
 * kilobyte a third of the bytes and a quarter of a server's parsing, at five nothing, at forty they save half.
 */
const smallRunBytes = 8_192;

/** Runs of one tape, framed from the tape each time they are sent. */
export class TapeBatch implements Batch {
  readonly runs: readonly RunOperation[];
  readonly #reader: TapeReader;
  readonly #json: RunJson;
  /** Of their contents: all together, and the largest; attachments excepted. */
  readonly #contentBytes: number;
  readonly #largestBytes: number;

  constructor(reader: TapeReader, json: RunJson, runs: readonly RunOperation[]) {
    this.#reader = reader;
    this.#json = json;
    this.runs = runs;
    let all = 0;
    let largest = 0;
    for (const run of runs) {
      const size = sizeOf(reader, run);
      all += size;
      largest = Math.max(largest, size);
    }
    this.#contentBytes = all;
    this.#largestBytes = largest;
  }

  get sizeBytes(): number {
    return this.#contentBytes + this.runs.length * overheadBytes;
  }

  get isSmall(): boolean {
    const mayBeApart = this.#largestBytes >= this.#json.attachBytesFrom;
    const isLarge = this.#contentBytes > this.runs.length * smallRunBytes;
    return !isLarge && !mayBeApart && !this.runs.some(hasAttachments);
  }

  part(runs: readonly RunOperation[]): TapeBatch {
    return new TapeBatch(this.#reader, this.#json, runs);
  }

  lighter(): readonly TapeBatch[] {
    const [run] = this.runs;
    if (run === undefined || this.runs.length > 1) {
      return [];
    }
    const apart = separateStartAndEnd(this.#reader, run);
    if (apart.length > 0) {
      return apart.map((half) => this.part([half]));
    }
    const [attachment] = run.attachments ?? [];
    if (attachment !== undefined && attachment.omittedReason === undefined) {
      const why = `${attachment.sizeBytes} bytes exceed the server's size limit`;
      return [this.part([{ ...run, attachments: [createMarker(attachment, why)] }])];
    }
    const largest = run.attachmentsOnly === true ? undefined : this.#json.findLargestPayload(run);
    const withheld = run.withheld ?? [];
    return largest === undefined ? [] : [this.part([{ ...run, withheld: [...withheld, largest] }])];
  }

  shares(): readonly TapeBatch[] {
    const [run] = this.runs;
    const { attachments = [] } = run ?? {};
    const isOne = run !== undefined && separateStartAndEnd(this.#reader, run).length === 0;
    const least = run?.attachmentsOnly === true ? 2 : 1;
    if (this.runs.length > 1 || !isOne || attachments.length < least) {
      return [];
    }
    const { attachments: _dealtOut, ...bare } = run;
    const middle = Math.ceil(attachments.length / 2);
    const apart = { ...run, attachmentsOnly: true } as const;
    return least === 1
      ? [this.part([bare]), this.part([apart])]
      : [attachments.slice(0, middle), attachments.slice(middle)].map((half) =>
          this.part([{ ...apart, attachments: half }]),
        );
  }

  rejoin(shares: readonly Batch[]): TapeBatch {
    const parts = shares.flatMap(({ runs }) => runs);
    const [run = this.runs[0]] = parts.filter(({ attachmentsOnly }) => attachmentsOnly !== true);
    const attachments = parts.flatMap((part) => part.attachments ?? []);
    return run === undefined ? this : this.part([{ ...run, attachments }]);
  }

  withoutAttachments(): TapeBatch {
    if (this.runs.every(({ attachments }) => attachments?.every(isLeftOut) !== false)) {
      return this;
    }
    return this.part(
      this.runs.map((run) =>
        run.attachments === undefined ? run : { ...run, attachments: run.attachments.map(unsent) },
      ),
    );
  }

  frame(out: JsonWriter, format: FrameFormat, content?: ContentDraft): readonly AttachmentInsert[] {
    return frameRuns(out, this.#json, this.runs, format, content);
  }
}

const noMultipart = "the server accepts runs only as JSON, without attachments";

const isLeftOut = (attachment: Attachment): boolean => attachment.omittedReason !== undefined;

const unsent = (attachment: Attachment): Attachment =>
  isLeftOut(attachment) ? attachment : createMarker(attachment, noMultipart);

const hasAttachments = ({ attachments }: RunOperation): boolean => attachments !== undefined;

/** Bytes of a run with its attachments. */
function fullSizeOf(reader: TapeReader, run: RunOperation): number {
  const size = sizeOf(reader, run);
  return run.attachments === undefined
    ? size
    : run.attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, size);
}

export interface BatchLimits {
  readonly runs: number;
  readonly bytes: number;
  /** Where records begin that a worker died with. */
  readonly suspectRecords: readonly number[];
}

export interface CutBatches {
  readonly batches: readonly TapeBatch[];
  /** Each alone, to be sent when the others are judged: it may take the worker with it. */
  readonly suspectRuns: readonly TapeBatch[];
}

/**
 * Cuts the runs of a tape into batches within the limits; a run that can't go into a batch is alone. Runs
 * with attachments are sent apart from the others, which are compressed and need not wait for a file.
 */
// oxlint-disable-next-line max-params -- one call for each tape, and no two of them belong together elsewhere
export function cutBatches(
  reader: TapeReader,
  json: RunJson,
  runs: readonly RunOperation[],
  limits: BatchLimits,
): CutBatches {
  const batches: TapeBatch[] = [];
  let current: RunOperation[] = [];
  let bytes = 0;
  const suspectRuns: TapeBatch[] = [];
  const isSuspect = createSuspectCheck(reader, limits.suspectRecords);
  const cut = (): void => {
    if (current.length > 0) {
      batches.push(new TapeBatch(reader, json, current));
      current = [];
      bytes = 0;
    }
  };
  for (const run of reader.hasAttachments ? attachedLast(runs) : runs) {
    if (run === undefined) {
      cut();
      continue;
    }
    if (isSuspect(run)) {
      suspectRuns.push(new TapeBatch(reader, json, [run]));
      continue;
    }
    if (!run.batchable) {
      batches.push(new TapeBatch(reader, json, [run]));
      continue;
    }
    const size = fullSizeOf(reader, run) + overheadBytes;
    if (current.length >= limits.runs || bytes + size > limits.bytes) {
      cut();
    }
    current.push(run);
    bytes += size;
  }
  cut();
  return { batches, suspectRuns };
}

/** The runs without attachments, a gap, and those with some. */
const attachedLast = (runs: readonly RunOperation[]): readonly (RunOperation | undefined)[] => [
  ...runs.filter((run) => !hasAttachments(run)),
  undefined,
  ...runs.filter(hasAttachments),
];

/** Whether a worker died as it wrote one of the run's records. */
function createSuspectCheck(
  reader: TapeReader,
  suspectRecords: readonly number[],
): (run: RunOperation) => boolean {
  const heads = new Set(suspectRecords);
  return heads.size === 0
    ? () => false
    : ({ records }) => records.some((record) => heads.has(reader.head(record)));
}
