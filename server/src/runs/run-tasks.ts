import type { Rejection } from "./run-record.ts";
import type { WorkTask } from "../storage/work-threads.ts";

/** Task for a worker thread: parses the body of `POST /runs/batch`, given as chunks. */
export interface BatchTask extends WorkTask<DecodedRuns> {
  readonly kind: "batch";
  readonly chunks: readonly Uint8Array[];
}

/** Task for a worker thread: parses the body of a request for a single run, given as chunks. */
export interface RunTask extends WorkTask<DecodedRuns> {
  readonly kind: "run";
  readonly chunks: readonly Uint8Array[];
  readonly operation: "post" | "patch";
  readonly pathId?: string;
}

/**
 * The runs of a request body, parsed and serialized by a worker thread. The main thread passes them to the writer
 * thread as they are.
 */
export interface DecodedRuns {
  /** A `RunBatch` without its bodies, serialized by `node:v8`; absent if nothing in the body can be stored. */
  readonly packed: Uint8Array<ArrayBuffer> | undefined;
  readonly bodies: Uint8Array<ArrayBuffer>;
  readonly rejected: readonly Rejection[];
  /** Errors of spans that could not be converted to runs. */
  readonly spanErrorMessages: readonly string[];
}
