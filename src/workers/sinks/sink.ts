import type { ErrorCode } from "../../model/errors.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import type { FrameFormat } from "./frame.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft } from "../json/content-deduplication.ts";
import type { RunOperation } from "../json/operations.ts";

/** Runs that are sent, retried and judged together. */
export interface Batch {
  readonly runs: readonly RunOperation[];
  /** About the bytes of its body, attachments excepted. */
  readonly sizeBytes: number;
  /** Whether its runs are small and have no attachments: one JSON object is then less to write, send and read. */
  readonly isSmall: boolean;
  /**
   * Writes the body of its request; answers the attachments that belong into it. With `content`, payloads
   * are in pieces where the format has such.
   */
  frame(out: JsonWriter, format: FrameFormat, content?: ContentDraft): readonly AttachmentInsert[];
  /** The same kind of batch of some of its runs. */
  part(runs: readonly RunOperation[]): Batch;
  /**
   * What a single run is sent as that is more than the server takes: its start and its end apart, else
   * itself with a marker in place of its largest payload. Empty where neither can be.
   */
  lighter(): readonly Batch[];
  /**
   * A single run in several requests: its attachments dealt out, the run itself in the first. They have
   * one outcome. Empty where there is nothing to deal out.
   */
  shares(): readonly Batch[];
  /** The shares as one again, with the markers that each of them came to have. */
  rejoin(shares: readonly Batch[]): Batch;
  /** The batch with markers in place of all attachments, for a server that takes none. */
  withoutAttachments(): Batch;
}

/** Why a server does not want a batch, in facts; never holds what was sent. */
export interface Rejection {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status?: number;
}

/** Every try failed, for a reason that may pass. */
export interface RetryOutcome {
  readonly kind: "retry";
  readonly reason: string;
  readonly code?: ErrorCode;
  /** Of the response, where there was one. */
  readonly status?: number;
  /** The wait that the server requested with `Retry-After`. */
  readonly afterMs?: number;
  /** Whether the server is unavailable or overloaded, so that the batch itself is not at fault. */
  readonly away: boolean;
}

/** It could not be written as JSON: a batch that has such a run in it, or is larger than memory. */
export interface UnwritableOutcome {
  readonly kind: "unwritable";
  readonly reason: string;
}

/** What became of one batch. Delivery failure is a value: only bugs throw. */
export type Outcome =
  | { readonly kind: "delivered" }
  | UnwritableOutcome
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | RetryOutcome
  | { readonly kind: "mixed"; readonly parts: readonly BatchResult[] };

export interface BatchResult {
  readonly batch: Batch;
  readonly outcome: Outcome;
}

/** Delivers a batch and returns its outcome. */
export interface Sink {
  send(batch: Batch, signal: AbortSignal): Promise<Outcome>;
}

/** The parts of a judged batch that have one outcome each. */
export const resultParts = (judged: BatchResult): readonly BatchResult[] =>
  judged.outcome.kind === "mixed" ? judged.outcome.parts.flatMap(resultParts) : [judged];
