import type { Activity } from "../activity.ts";
import type { RunBatch } from "../run-record.ts";

/** What the writer's thread is asked to do. */
export type WriterRequest =
  | { readonly kind: "ingest"; readonly tenantId: string; readonly batch: RunBatch }
  /** A method of `Writers`; arguments and answer are plain data. */
  | {
      readonly kind: "write";
      readonly noun: string;
      readonly method: string;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "close" };

/** A request under way. */
export interface WriterCall {
  readonly sequence: number;
  readonly request: WriterRequest;
}

/** What became of one request. */
export type WriterAnswer =
  | { readonly kind: "answer"; readonly sequence: number; readonly value: unknown }
  /** It can't be served, and changed nothing: a `RequestError` of the writer. */
  | {
      readonly kind: "refused";
      readonly sequence: number;
      readonly status: number;
      readonly detail: string;
    }
  | { readonly kind: "failed"; readonly sequence: number; readonly reason: string };

/** What the writer's thread says. */
export type WriterMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failedToStart"; readonly reason: string }
  /** What a commit has stored; comes before the answers to it. */
  | { readonly kind: "activity"; readonly activity: readonly Activity[] }
  | WriterAnswer;
