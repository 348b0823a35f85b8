import { toWireRubricItem } from "../model/resources/annotation-queue.ts";
import type { RubricItem } from "../model/resources/annotation-queue.ts";
import { ValidationError } from "../model/errors.ts";
import { assertUuid, validateId } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import type { CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";

/** Fields of an annotation queue that a call can set. `null` clears a field. */
export interface AnnotationQueueFields {
  readonly description?: string | null | undefined;
  /** Instructions that reviewers read before they start. */
  readonly rubricInstructions?: string | null | undefined;
  readonly rubricItems?: readonly RubricItem[] | null | undefined;
  /** Dataset to which reviewed runs are added as examples. */
  readonly defaultDatasetId?: string | null | undefined;
  readonly metadata?: KeyValues | null | undefined;
}

/** Arguments of {@link AnnotationQueues.create}. */
export interface CreateAnnotationQueue extends AnnotationQueueFields, CallOptions {
  readonly name: string;
  /** @defaultValue a new random UUID */
  readonly id?: string | undefined;
}

/** Arguments of {@link AnnotationQueues.update}. A field that is left out keeps its value. */
export interface UpdateAnnotationQueue extends AnnotationQueueFields, CallOptions {
  readonly name?: string | undefined;
}

/** Filters of {@link AnnotationQueues.list}. A queue is listed if it matches all of them. */
export interface ListAnnotationQueues extends CallOptions {
  readonly ids?: readonly string[] | undefined;
  readonly name?: string | undefined;
  /** Substring of the name, case-insensitive. */
  readonly nameContains?: string | undefined;
  /** Lists only queues with this `defaultDatasetId`. */
  readonly defaultDatasetId?: string | undefined;
  /** Maximum number of queues, at least 1. Each request fetches at most 100. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Identifies a run by id, project and start time, for servers that need more than the id to find a run. */
export interface RunKey {
  readonly runId: string;
  readonly projectId: string;
  readonly startTime: Date | string;
}

/** Arguments of {@link AnnotationQueues.addRuns}: the runs, either as ids or as {@link RunKey}s. */
export type AddRuns = CallOptions &
  (
    | { readonly runIds: readonly string[]; readonly runs?: undefined }
    | { readonly runs: readonly RunKey[]; readonly runIds?: undefined }
  );

/** Arguments of {@link AnnotationQueues.readRun}. */
export interface ReadQueuedRun extends CallOptions {
  /** Position in the queue; 0 is the run that has waited longest. @defaultValue 0 */
  readonly index?: number | undefined;
}

/**
 * Review status of a queued run: `needs_my_review` until the owner of the API key has reviewed it, then
 * `needs_others_review` until enough other reviewers have done so, then `completed`.
 */
export type ReviewStatus = "needs_my_review" | "needs_others_review" | "completed";

/** Arguments of {@link AnnotationQueues.listRuns}. */
export interface ListQueuedRuns extends CallOptions {
  /** Only runs with this review status. @defaultValue runs of every status */
  readonly status?: ReviewStatus | undefined;
  /** Maximum number of runs, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

/** Arguments of {@link AnnotationQueues.updateRun}. A field that is left out keeps its value. */
export interface UpdateQueuedRun extends CallOptions {
  /** Id of the queue entry (not of the run), as returned by {@link AnnotationQueues.readRun}. */
  readonly queueRunId: string;
  /** When the run was last reviewed; `null` marks it as not reviewed. */
  readonly lastReviewedTime?: Date | string | null | undefined;
  /** When the run was added. The queue is ordered by this time, so a later time moves the run towards the end. */
  readonly addedAt?: Date | string | undefined;
}

/** Arguments of {@link AnnotationQueues.removeRun}. */
export interface RemoveQueuedRun extends CallOptions {
  /** Id of the queue entry (not of the run), as returned by {@link AnnotationQueues.readRun}. */
  readonly queueRunId: string;
}

/** @throws {@link ValidationError} if the name is empty or not a string. */
export function assertName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ValidationError("The name of an annotation queue must be a non-empty string");
  }
}

/** Converts the fields of a queue to the wire format. */
export const toWireFields = (queue: AnnotationQueueFields): Readonly<Record<string, unknown>> => ({
  description: queue.description,
  rubric_instructions: queue.rubricInstructions,
  rubric_items: queue.rubricItems?.map(toWireRubricItem) ?? queue.rubricItems,
  default_dataset:
    validateId(queue.defaultDatasetId ?? undefined, "dataset id") ?? queue.defaultDatasetId,
  metadata: queue.metadata,
});

/** Converts a key of a run to the wire format. @throws {@link ValidationError} if an id is not a UUID. */
export function toWireRunKey({ runId, projectId, startTime }: RunKey) {
  assertUuid(runId, "run id");
  assertUuid(projectId, "project id");
  return {
    run_id: runId,
    session_id: projectId,
    start_time: toIsoTime(startTime, "startTime"),
  };
}
