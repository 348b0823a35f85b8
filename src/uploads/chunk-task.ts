import type { PackedError } from "../api/sync/packed-error.ts";
import type { ChunkReport } from "./upload.ts";

/** The kind of a chunk's rows and where they are uploaded to. */
export type ChunkTarget =
  | { readonly resource: "examples"; readonly datasetId: string }
  | { readonly resource: "feedback" }
  | { readonly resource: "runs" };

/** A tape, which is a shared buffer of encoded rows, to upload. Its memory is passed to the worker by reference. */
export interface ChunkTask {
  readonly target: ChunkTarget;
  readonly memory: SharedArrayBuffer;
  readonly usedBytes: number;
  /** Whether rows are only checked and not created. */
  readonly dryRun: boolean;
}

/** A report in the form in which a worker sends it: the error is packed for structured cloning. */
export interface ChunkReply extends Omit<ChunkReport, "failure"> {
  readonly failure?: PackedError;
}

/** Sends chunks of rows, each encoded in a buffer (its tape), in worker threads or on the current thread. */
export interface ChunkShipper {
  /** Sends a tape. The promise is rejected only if the worker crashed or the tape can't be read. */
  ship(task: ChunkTask): Promise<ChunkReply>;
}
