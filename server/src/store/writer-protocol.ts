import type { Activity } from "../runs/activity.ts";
import type { PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { SchemaProof } from "../datasets/examples/sqlite/schema-proofs.ts";
import type { ThreadAnswer } from "../storage/thread-reply.ts";

/** What the writer's thread is asked to do. */
export type WriterRequest =
  | { readonly kind: "ingest"; readonly tenantId: string; readonly batch: RunBatch | PackedBatch }
  /** A method of `Writers`; arguments and answer are plain data. */
  | {
      readonly kind: "write";
      readonly resource: string;
      readonly method: string;
      readonly args: readonly unknown[];
      /** What was checked for it; see `schema-proofs.ts`. */
      readonly proofs: readonly SchemaProof[];
    }
  | { readonly kind: "close" };

/** A request under way. */
export interface WriterCall {
  readonly sequence: number;
  readonly request: WriterRequest;
}

/** Messages of the writer thread. */
export type WriterMessage =
  | { readonly kind: "ready"; readonly readOnlyReason: string | undefined }
  /** From now on only deletions are taken, or everything again. */
  | { readonly kind: "room"; readonly readOnlyReason: string | undefined }
  | { readonly kind: "failedToStart"; readonly reason: string }
  /** What became of requests that shared a transaction. */
  | {
      readonly kind: "done";
      /** What they have stored. */
      readonly activity: readonly Activity[];
      readonly answers: readonly ThreadAnswer[];
      /** The memory of their payloads, to be used again. */
      readonly memory: readonly ArrayBuffer[];
    };
