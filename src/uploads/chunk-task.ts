import type { PackedError } from "../api/sync/packed-error.ts";
import type { ChunkReport } from "./upload.ts";

/** What the rows of a chunk are, and where they go. */
export type ChunkTarget =
  | { readonly resource: "examples"; readonly datasetId: string }
  | { readonly resource: "feedback" }
  | { readonly resource: "runs" };

/** One tape of rows, handed over by reference. */
export interface ChunkTask {
  readonly target: ChunkTarget;
  readonly memory: SharedArrayBuffer;
  readonly used: number;
  /** Whether rows are only checked. */
  readonly dryRun: boolean;
}

/** A report as it crosses from a worker. */
export interface ChunkReply extends Omit<ChunkReport, "failure"> {
  readonly failure?: PackedError;
}

/** Sends tapes of rows: in worker threads, or inline where there can be none. */
export interface ChunkShipper {
  /** Rejects only where the worker died with the tape, or the tape can't be read. */
  ship(task: ChunkTask): Promise<ChunkReply>;
}
