import type { Operation } from "millrace/model";
import type { SpanRecord } from "millrace/spans";
import type { FeedbackDraft } from "./run-feedback.ts";
import type { RunBilling } from "./usage/run-cost.ts";
import type { RunMeasures } from "./usage/measures.ts";
import type { ShareableText } from "./shared-texts/shareable-text.ts";

/**
 * Values of a run by which the store can filter and sort. `null` clears a value; `undefined` changes nothing. Members
 * without a value are set to `undefined` instead of being left out, because objects of one shape are much faster to
 * create.
 */
export interface RunColumns {
  readonly projectId?: string | null | undefined;
  readonly projectName?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly runType?: string | null | undefined;
  /** Microseconds since the Unix epoch. */
  readonly startMicros?: number | null | undefined;
  readonly endMicros?: number | null | undefined;
  /** `null` if the client cleared the error. */
  readonly hasError?: boolean | null | undefined;
  readonly parentRunId?: string | null | undefined;
  readonly referenceExampleId?: string | null | undefined;
}

/** A received operation: the creation of a run (`post`) or an update (`patch`). */
export interface RunRecord {
  readonly operation: Operation;
  readonly id: string;
  /** Absent if a request for a single run does not contain it; the store then derives it. */
  readonly traceId?: string | undefined;
  readonly dottedOrder?: string | undefined;
  /** Distinguishes a repeated patch from another patch of the same run. Empty for a post. */
  readonly digest: string;
  readonly columns: RunColumns;
  /** The facets by which filters find the run; see `facets.ts`. */
  readonly facets: readonly string[];
  /** Usage and first token of the run; absent if it has neither. */
  readonly measures?: RunMeasures | undefined;
  /** What the price of the usage depends on; absent if the run reports no tokens. */
  readonly billing?: RunBilling | undefined;
  /** Whether the record contains `extra`, which names the model of most runs. */
  readonly hasExtra?: boolean | undefined;
  /** Set for a run that was received as a span; the store determines its position in the trace. */
  readonly span?: SpanRecord | undefined;
  /**
   * The texts of the payload that may occur in other payloads, too, so that they can be stored once for all of them;
   * absent if the run was not sent in chunks.
   */
  readonly shareable?: readonly ShareableText[] | undefined;
  /** Range of the payload in the batch's `bodies`. The payload is a JSON object with the values as received. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** A file that was received with a run. */
export interface AttachmentRecord {
  readonly runId: string;
  readonly name: string;
  readonly contentType: string;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** The valid content of one request. */
export interface RunBatch {
  readonly records: readonly RunRecord[];
  readonly attachments: readonly AttachmentRecord[];
  /** Feedback that was sent with the runs. */
  readonly feedback: readonly FeedbackDraft[];
  /**
   * The bytes of all payloads; each record contains the range of its own. The store may transfer this memory to
   * another thread; the array is then empty.
   */
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** A batch that a worker thread has serialized for the writer thread, so that the main thread only passes it on. */
export interface PackedBatch {
  /** Everything except `bodies`, grouped by the store (`packPosts`) and serialized by `node:v8`. */
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** An operation that was not stored, and why. */
export interface Rejection {
  readonly id: string | null;
  readonly operation: Operation | null;
  readonly reason: string;
}

/**
 * The result of a batch. The numbers of accepted, duplicate and rejected operations add up to the number of operations
 * in the batch, where each feedback counts as one operation.
 */
export interface IngestResult {
  readonly accepted: number;
  /** Operations that had been received before, so nothing was changed. */
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
}

/** The project of the runs for which the client names no project. */
export const defaultProjectName = "default";
