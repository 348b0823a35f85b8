import type { ShareToken } from "../storage/share-token.ts";
import type { StoredCost } from "./usage/run-cost.ts";

/**
 * A run as the database stores it: the columns by which runs are filtered, sorted and listed. Payloads are stored
 * separately.
 */
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
  /** Empty while the run's position is unknown, because only patches without a dotted order were received. */
  readonly dottedOrder: string;
  readonly referenceExampleId: string | null;
  /** Whether the operation that creates the run (the post) was received. */
  readonly posted: boolean;
  /** A bit for each column that an update (a patch) has set, and the number of patches; see `merge.ts`. */
  readonly patchBits: number;
  /**
   * Whether the run has measures (`run-measures.ts`). `unread`: the row was stored before measures had columns, so they
   * must be read from the payload.
   */
  readonly measureState: "unread" | "none" | "some";
}

/** Returns the status of a run as responses and filters name it. */
export function determineStatus({
  hasError,
  endMicros,
}: Pick<RunRow, "hasError" | "endMicros">): "error" | "pending" | "success" {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

/** Ids of a run's descendants and of its direct children, in execution order; `null` if they were not requested. */
export interface RunChildren {
  readonly childRunIds: readonly string[] | null;
  readonly directChildRunIds: readonly string[] | null;
}

export interface StoredRun extends RunChildren {
  readonly row: RunRow;
  readonly tenantId: string;
  readonly projectName: string;
  /**
   * The payloads as JSON objects, in ascending precedence: first that of the post, then those of the patches in the
   * order received.
   */
  readonly bodies: readonly Uint8Array[];
  readonly shareToken: ShareToken;
  /**
   * The cost that the run reports or that the server computed. `undefined` if it was not read, or if the run was stored
   * before costs had columns; the payload of such a run may report a cost.
   */
  readonly cost: StoredCost | undefined;
  readonly attachments: readonly RunAttachment[];
}

/** A part of a run that can be read separately: a column of its row, or data of another table. */
export type RunPart = keyof RunRow | Exclude<keyof StoredRun, "row" | keyof RunChildren>;

/** A file that was received with a run. */
export interface RunAttachment {
  readonly name: string;
  readonly mimeType: string;
}

export interface RunFile {
  readonly traceId: string;
  readonly runId: string;
  readonly name: string;
}
