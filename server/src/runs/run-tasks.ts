import type { Rejection } from "./run-record.ts";
import type { WorkTask } from "../storage/work-threads.ts";

/** The body of `POST /runs/batch`. */
export interface BatchTask extends WorkTask<TakenRuns> {
  readonly kind: "batch";
  readonly pieces: readonly Uint8Array[];
}

/** The body of a call of one run. */
export interface RunTask extends WorkTask<TakenRuns> {
  readonly kind: "run";
  readonly pieces: readonly Uint8Array[];
  readonly operation: "post" | "patch";
  readonly pathId?: string;
}

/** A body of runs, taken apart. What is stored stays packed: who passes it on to the writer has no work with it. */
export interface TakenRuns {
  /** A `RunBatch` without its bodies, serialized; absent where nothing of the body can be stored. */
  readonly packed: Uint8Array<ArrayBuffer> | undefined;
  readonly bodies: Uint8Array<ArrayBuffer>;
  readonly rejected: readonly Rejection[];
  /** What is wrong with spans that became no run. */
  readonly faults: readonly string[];
}
