import type { ErrorCode } from "../../model/errors.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import type { BodyFormat } from "./request-body.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { ContentDraft } from "../json/content-deduplication.ts";
import type { RunOperation } from "../json/operations.ts";

/** Runs that are sent and retried together and share an outcome. */
export interface Batch {
  readonly runs: readonly RunOperation[];
  /** Approximate bytes of the request body without attachments. */
  readonly sizeBytes: number;
  /**
   * Whether the runs are small and have no attachments. One JSON object is then cheaper to write, send and parse than
   * multipart.
   */
  readonly isSmall: boolean;
  /**
   * Writes the request body and returns the attachments to insert into it. With `content`, payloads
   * are written as chunks if the format supports it.
   */
  writeBody(
    out: JsonWriter,
    format: BodyFormat,
    content?: ContentDraft,
  ): readonly AttachmentInsert[];
  /** Creates a batch of the same kind from some of its runs. */
  withRuns(runs: readonly RunOperation[]): Batch;
  /**
   * The batches that replace a single run which is larger than the server accepts: its start and
   * its end separately, else the run with a marker in place of its largest payload. Empty if
   * neither is possible.
   */
  splitSingleRun(): readonly Batch[];
  /**
   * Divides a single run into several requests: the run itself first, then its attachments. The
   * requests share one outcome. Empty if there are no attachments to divide.
   */
  separateAttachments(): readonly Batch[];
  /**
   * Combines the batches of {@link Batch.separateAttachments} into one again. If markers replaced attachments in them,
   * the markers are kept.
   */
  combineBatches(batches: readonly Batch[]): Batch;
  /** Replaces all attachments by markers, for a server that does not accept attachments. */
  replaceAttachments(): Batch;
}

/** Why a server rejected a batch. Never contains data that was sent. */
export interface Rejection {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status?: number;
}

/** Sending failed for a reason that may be temporary, so the batch may be sent again. */
export interface RetryOutcome {
  readonly kind: "retry";
  readonly reason: string;
  readonly code?: ErrorCode;
  /** HTTP status of the response, if there was one. */
  readonly status?: number;
  /** The wait that the server requested with `Retry-After`. */
  readonly retryAfterMs?: number;
  /** Whether the server is unavailable or overloaded, so that the batch itself is not at fault. */
  readonly isServerUnavailable: boolean;
}

/**
 * The batch could not be written as JSON: a run in it can't be serialized, or it does not fit into
 * memory.
 */
export interface UnwritableOutcome {
  readonly kind: "unwritable";
  readonly reason: string;
}

/** The server has the batch. */
export interface DeliveredOutcome {
  readonly kind: "delivered";
  /** Number of records that the server already had, so that it did not store them again; absent if zero. */
  readonly existing?: number;
}

/** The outcome of one batch. A failed delivery is a value; only bugs throw. */
export type Outcome =
  | DeliveredOutcome
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

/** The number of requests, and the bytes of their bodies. */
export interface RequestCounts {
  readonly requests: number;
  readonly bytes: number;
}

/** A sink that sends requests and counts them. */
export interface TrafficSink extends Sink {
  /** Returns the counts of the requests that were sent since the last call. */
  takeRequestCounts(): RequestCounts;
  /** Returns the receiver's last warning about batches that it accepted, if there was one since the last call. */
  takeWarning(): string | undefined;
}

/** A batch could not be written. The server is not at fault. */
export class UnwritableBatchError extends Error {}

/** Divides a result into parts that have one outcome each. */
export const flattenResult = (result: BatchResult): readonly BatchResult[] =>
  result.outcome.kind === "mixed" ? result.outcome.parts.flatMap(flattenResult) : [result];
