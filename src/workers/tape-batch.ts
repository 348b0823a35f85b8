import { frameRuns } from "./frame.ts";
import type { FrameFormat } from "./frame.ts";
import type { JsonWriter } from "./json-writer.ts";
import { sizeOf, startAndEnd } from "./operations.ts";
import type { RunOperation } from "./operations.ts";
import type { RunJson } from "./run-json.ts";
import type { Batch } from "./sink.ts";
import type { TapeReader } from "./tape-reader.ts";

/** Bytes that a run's keys, parts and runtime facts add to its contents, roughly. */
const overheadBytes = 1_200;

/** Runs of one tape, framed from the tape each time they are sent. */
export class TapeBatch implements Batch {
  readonly runs: readonly RunOperation[];
  readonly #reader: TapeReader;
  readonly #json: RunJson;

  constructor(reader: TapeReader, json: RunJson, runs: readonly RunOperation[]) {
    this.#reader = reader;
    this.#json = json;
    this.runs = runs;
  }

  get sizeBytes(): number {
    let size = 0;
    for (const run of this.runs) {
      size += sizeOf(this.#reader, run) + overheadBytes;
    }
    return size;
  }

  part(runs: readonly RunOperation[]): TapeBatch {
    return new TapeBatch(this.#reader, this.#json, runs);
  }

  lighter(): readonly TapeBatch[] {
    const [run] = this.runs;
    if (run === undefined || this.runs.length > 1) {
      return [];
    }
    const apart = startAndEnd(this.#reader, run);
    if (apart.length > 0) {
      return apart.map((half) => this.part([half]));
    }
    const largest = this.#json.largestPayload(run);
    const withheld = run.withheld ?? [];
    return largest === undefined ? [] : [this.part([{ ...run, withheld: [...withheld, largest] }])];
  }

  frame(out: JsonWriter, format: FrameFormat): void {
    frameRuns(out, this.#json, this.runs, format);
  }
}

export interface BatchLimits {
  readonly runs: number;
  readonly bytes: number;
  /** Where records begin that a worker died with. */
  readonly suspects: readonly number[];
}

export interface CutBatches {
  readonly batches: readonly TapeBatch[];
  /** Each alone, to be sent when the others are judged: it may take the worker with it. */
  readonly suspects: readonly TapeBatch[];
}

/** Cuts the runs of a tape into batches within the limits; a run that can't go into a batch is alone. */
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
  const suspects: TapeBatch[] = [];
  const isSuspect = suspicionOf(reader, limits.suspects);
  const cut = (): void => {
    if (current.length > 0) {
      batches.push(new TapeBatch(reader, json, current));
      current = [];
      bytes = 0;
    }
  };
  for (const run of runs) {
    if (isSuspect(run)) {
      suspects.push(new TapeBatch(reader, json, [run]));
      continue;
    }
    if (!run.batchable) {
      batches.push(new TapeBatch(reader, json, [run]));
      continue;
    }
    const size = sizeOf(reader, run) + overheadBytes;
    if (current.length >= limits.runs || bytes + size > limits.bytes) {
      cut();
    }
    current.push(run);
    bytes += size;
  }
  cut();
  return { batches, suspects };
}

/** Whether a worker died as it wrote one of the run's records. */
function suspicionOf(
  reader: TapeReader,
  suspects: readonly number[],
): (run: RunOperation) => boolean {
  const heads = new Set(suspects);
  return heads.size === 0
    ? () => false
    : ({ records }) => records.some((record) => heads.has(reader.head(record)));
}
