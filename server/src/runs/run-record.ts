import type { Operation } from "millrace/model";
import type { FeedbackDraft } from "./run-feedback.ts";
import type { RunMeasures } from "./run-measures.ts";

/**
 * Values of a run that the store can filter and sort by. `null` clears, absent changes nothing. One that
 * is there as `undefined` is absent: objects of one shape are made in a fraction of the time.
 */
export interface RunColumns {
  readonly projectId?: string | null | undefined;
  readonly projectName?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly runType?: string | null | undefined;
  /** Microseconds since the Unix epoch. */
  readonly startMicros?: number | null | undefined;
  readonly endMicros?: number | null | undefined;
  /** `null` where the error was cleared. */
  readonly hasError?: boolean | null | undefined;
  readonly parentRunId?: string | null | undefined;
  readonly referenceExampleId?: string | null | undefined;
}

/** A span of OpenTelemetry, which names its trace and its parent only. Ids are UUIDs. */
export interface SpanRecord {
  readonly traceId: string;
  readonly id: string;
  /** `null` where it has none, and where its place was given in the words of runs. */
  readonly parentId: string | null;
  /** An entry's parent is in another process. */
  readonly kind: "root" | "entry" | "inner" | "placed";
}

/** One received operation: a post, or a patch. */
export interface RunRecord {
  readonly operation: Operation;
  readonly id: string;
  /** Absent in one-run calls that leave it out; the store then finds it. */
  readonly traceId?: string | undefined;
  readonly dottedOrder?: string | undefined;
  /** Distinguishes a repeated patch from another patch of the same run. Empty for a post. */
  readonly digest: string;
  readonly columns: RunColumns;
  /** Where filters look for the run; see `facets.ts`. */
  readonly facets: readonly string[];
  /** What is counted of it; absent where it has nothing of it. */
  readonly measures?: RunMeasures | undefined;
  /** Of a run that came as a span; the store finds its place. */
  readonly span?: SpanRecord | undefined;
  /** Where the payload lies in the batch's `bodies`: a JSON object, its values as received. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** Bytes that came with a run, under a name. */
export interface AttachmentRecord {
  readonly runId: string;
  readonly name: string;
  readonly contentType: string;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/**
 * Posts that say where they stand, as rows: what most batches are made of. They go to the writer's
 * thread as one list of plain values, and into the table many at once; objects of each would cost more
 * than the rows do.
 */
export interface PostRows {
  /** For each post one value a column of `postColumns`; its project by name, `null` where it names none. */
  readonly values: (string | number | null)[];
  /** For each post where its payload begins and ends. */
  readonly bounds: readonly number[];
  /** For each post which of `facetLists` is its. */
  readonly facetsAt: readonly number[];
  readonly facetLists: readonly (readonly string[])[];
}

/** The valid content of one request. */
export interface RunBatch {
  /** Stored before `records`. */
  readonly posts?: PostRows;
  readonly records: readonly RunRecord[];
  readonly attachments: readonly AttachmentRecord[];
  /** Judgements that came with the runs. */
  readonly feedback: readonly FeedbackDraft[];
  /** Payloads, and whatever stands between them. The store may take its memory away. */
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** The same, packed by another thread for the writer's: who passes it on has no work with it. */
export interface PackedBatch {
  /** All but the bodies, as `node:v8` serializes it. */
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** An operation that was not stored, and why. */
export interface Rejection {
  readonly id: string | null;
  readonly operation: Operation | null;
  readonly reason: string;
}

/** What became of a batch. The sum of the three is the number of operations; feedback is one each. */
export interface IngestResult {
  readonly accepted: number;
  /** Operations received before; nothing was changed. */
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
}

/** The project of runs that name none. */
export const defaultProjectName = "default";
