import type { ShareToken } from "../storage/share-token.ts";

/** A run as the engines keep it: what is filtered, sorted and listed by. The payload is beside it. */
export interface RunRow {
  readonly traceId: string;
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly runType: string;
  readonly startMicros: number;
  readonly endMicros: number | null;
  readonly hasError: boolean;
  readonly parentRunId: string | null;
  /** Empty while the run's place is unknown: only patches without one were received. */
  readonly dottedOrder: string;
  readonly referenceExampleId: string | null;
  /** Whether the post was received. */
  readonly posted: boolean;
  /** One bit for each column that a patch has set, and how many patches came; see `merge.ts`. */
  readonly patched: number;
  /** Whether it has measures (`run-measures.ts`); "unread": it is from before they were kept. */
  readonly measures: "unread" | "none" | "some";
}

/** Descendants of a run, in execution order; `null` where they were not asked for. */
export interface RunChildren {
  readonly childRunIds: readonly string[] | null;
  readonly directChildRunIds: readonly string[] | null;
}

/** A run and its payload. */
export interface StoredRun extends RunChildren {
  readonly row: RunRow;
  readonly tenantId: string;
  readonly projectName: string;
  /** JSON objects, in the order in which later ones win: the post's, then the patches' as received. */
  readonly bodies: readonly Uint8Array[];
  readonly shareToken: ShareToken;
  readonly attachments: readonly RunAttachment[];
}

/** What is read of a run, each by itself: a field of its row, or what stands beside it. */
export type RunPart = keyof RunRow | Exclude<keyof StoredRun, "row" | keyof RunChildren>;

/** A file that came with a run. */
export interface RunAttachment {
  readonly name: string;
  readonly mimeType: string;
}

/** Which file of which run. */
export interface RunFile {
  readonly traceId: string;
  readonly runId: string;
  readonly name: string;
}
