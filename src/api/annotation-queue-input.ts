import { toWireRubricItem } from "../model/resources/annotation-queue.ts";
import type { RubricItem } from "../model/resources/annotation-queue.ts";
import { ValidationError } from "../model/errors.ts";
import { assertUuid, checkId } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import type { CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";

/** What of a queue can be written. `null` takes away what was there. */
export interface AnnotationQueueFields {
  readonly description?: string | null | undefined;
  /** What reviewers read first. */
  readonly rubricInstructions?: string | null | undefined;
  readonly rubricItems?: readonly RubricItem[] | null | undefined;
  /** Where reviewed runs go as examples. */
  readonly defaultDatasetId?: string | null | undefined;
  readonly metadata?: KeyValues | null | undefined;
}

/** What {@link AnnotationQueues.create} takes. */
export interface CreateAnnotationQueue extends AnnotationQueueFields, CallOptions {
  readonly name: string;
  /** @defaultValue a new one */
  readonly id?: string | undefined;
}

/** What is left out stays as it is. */
export interface UpdateAnnotationQueue extends AnnotationQueueFields, CallOptions {
  readonly name?: string | undefined;
}

/** Every filter that is given must hold. */
export interface ListAnnotationQueues extends CallOptions {
  readonly ids?: readonly string[] | undefined;
  readonly name?: string | undefined;
  /** Part of the name, in either case. */
  readonly nameContains?: string | undefined;
  /** The dataset that reviewed runs go to. */
  readonly defaultDatasetId?: string | undefined;
  /** Queues at most, from 1; a page holds 100 at most. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** A run, and where it is, for servers that look it up by more than its id. */
export interface RunKey {
  readonly runId: string;
  readonly projectId: string;
  readonly startTime: Date | string;
}

/** Which runs to add: by their ids, or with where they are. */
export type AddRuns = CallOptions &
  (
    | { readonly runIds: readonly string[]; readonly runs?: undefined }
    | { readonly runs: readonly RunKey[]; readonly runIds?: undefined }
  );

/** What {@link AnnotationQueues.readRun} takes: which place of the queue. */
export interface ReadQueuedRun extends CallOptions {
  /** From 0: the run that waits longest. @defaultValue 0 */
  readonly index?: number | undefined;
}

/** How far the review of a run is: not by this key's owner, by not enough others, done. */
export type ReviewStatus = "needs_my_review" | "needs_others_review" | "completed";

/** What {@link AnnotationQueues.listRuns} takes. */
export interface ListQueuedRuns extends CallOptions {
  /** How far its review is. */
  readonly status?: ReviewStatus | undefined;
  /** Runs at most, from 1. @defaultValue all of them */
  readonly limit?: number | undefined;
}

/** What {@link AnnotationQueues.updateRun} takes. What is left out stays as it is. */
export interface UpdateQueuedRun extends CallOptions {
  /** The place of the run in the queue, as {@link AnnotationQueues.readRun} answers it. */
  readonly queueRunId: string;
  /** When it was reviewed; `null`: not yet. */
  readonly lastReviewedTime?: Date | string | null | undefined;
  /** The order of the queue: a later one moves the run back. */
  readonly addedAt?: Date | string | undefined;
}

/** What {@link AnnotationQueues.removeRun} takes. */
export interface RemoveQueuedRun extends CallOptions {
  /** The place of the run in the queue, as {@link AnnotationQueues.readRun} answers it. */
  readonly queueRunId: string;
}

/** @throws {@link ValidationError} it is empty, or no text. */
export function assertName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ValidationError("The name of an annotation queue must be a text, not empty");
  }
}

export const toWireFields = (queue: AnnotationQueueFields): Readonly<Record<string, unknown>> => ({
  description: queue.description,
  rubric_instructions: queue.rubricInstructions,
  rubric_items: queue.rubricItems?.map(toWireRubricItem) ?? queue.rubricItems,
  default_dataset:
    checkId(queue.defaultDatasetId ?? undefined, "dataset id") ?? queue.defaultDatasetId,
  metadata: queue.metadata,
});

export function toWireRunKey({ runId, projectId, startTime }: RunKey) {
  assertUuid(runId, "run id");
  assertUuid(projectId, "project id");
  return {
    run_id: runId,
    session_id: projectId,
    start_time: toIsoTime(startTime, "startTime"),
  };
}
