import { Fields, definedOf, parseList } from "../fields.ts";
import { parseRun } from "./run-response.ts";
import type { Run } from "./run-response.ts";
import type { KeyValues } from "../run.ts";

/** One question of a queue's rubric: which feedback a reviewer gives, and what its values mean. */
export interface RubricItem {
  readonly feedbackKey: string;
  readonly description?: string | undefined;
  /** What each value means, by value. */
  readonly valueDescriptions?: Readonly<Record<string, string>> | undefined;
  /** What each score means, by score. */
  readonly scoreDescriptions?: Readonly<Record<string, string>> | undefined;
  readonly isRequired?: boolean | undefined;
}

/** A line of runs that people review. */
export interface AnnotationQueue {
  readonly id: string;
  /** The tenant that it belongs to. */
  readonly tenantId: string;
  readonly name: string;
  readonly description?: string | undefined;
  /** ISO 8601. */
  readonly createdAt?: string | undefined;
  /** ISO 8601. */
  readonly updatedAt?: string | undefined;
  /** Where reviewed runs go as examples. */
  readonly defaultDatasetId?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  /** Present where one queue is read. */
  readonly rubricInstructions?: string | undefined;
  /** Present where one queue is read. */
  readonly rubricItems?: readonly RubricItem[] | undefined;
  /** Runs in it; present in lists. */
  readonly totalRuns?: number | undefined;
}

/** A run's place in a queue. */
export interface AnnotationQueueEntry {
  /** What {@link AnnotationQueues.removeRun} takes: of the place, not of the run. */
  readonly queueRunId: string;
  readonly queueId: string;
  readonly runId: string;
  /** ISO 8601. */
  readonly addedAt?: string | undefined;
  /** ISO 8601; absent until it was reviewed. */
  readonly lastReviewedTime?: string | undefined;
}

/** A run in a queue, with its place. */
export interface QueuedRun extends Omit<AnnotationQueueEntry, "queueId" | "runId"> {
  readonly run: Run;
}

/** @throws {@link ResponseError} it is no annotation queue. */
export function parseAnnotationQueue(value: unknown): AnnotationQueue {
  const fields = new Fields(value, "annotation queue");
  const items = fields.value("rubric_items") ?? undefined;
  return definedOf({
    id: fields.text("id"),
    tenantId: fields.text("tenant_id"),
    name: fields.text("name"),
    description: fields.optionalText("description"),
    createdAt: fields.optionalText("created_at"),
    updatedAt: fields.optionalText("updated_at"),
    defaultDatasetId: fields.optionalText("default_dataset"),
    metadata: (fields.value("metadata") ?? undefined) && fields.object("metadata"),
    rubricInstructions: fields.optionalText("rubric_instructions"),
    rubricItems: items && parseList(items, "rubric items", parseRubricItem),
    totalRuns: fields.optionalNumber("total_runs"),
  });
}

/** A rubric item as the wire has it. */
export const toWireRubricItem = (item: RubricItem): Readonly<Record<string, unknown>> =>
  definedOf({
    feedback_key: item.feedbackKey,
    description: item.description,
    value_descriptions: item.valueDescriptions,
    score_descriptions: item.scoreDescriptions,
    is_required: item.isRequired,
  });

/** @throws {@link ResponseError} it is no entry of an annotation queue. */
export function parseAnnotationQueueEntry(value: unknown): AnnotationQueueEntry {
  const fields = new Fields(value, "entry of an annotation queue");
  return definedOf({
    queueRunId: fields.text("id"),
    queueId: fields.text("queue_id"),
    runId: fields.text("run_id"),
    ...reviewOf(fields),
  });
}

/** @throws {@link ResponseError} it is no run of an annotation queue. */
export function parseQueuedRun(value: unknown): QueuedRun {
  const run = parseRun(value);
  const fields = new Fields(value, "run of an annotation queue");
  return definedOf({ run, queueRunId: fields.text("queue_run_id"), ...reviewOf(fields) });
}

const reviewOf = (fields: Fields) => ({
  addedAt: fields.optionalText("added_at"),
  lastReviewedTime: fields.optionalText("last_reviewed_time"),
});

function parseRubricItem(value: unknown): RubricItem {
  const fields = new Fields(value, "rubric item");
  const isRequired = fields.value("is_required");
  return definedOf({
    feedbackKey: fields.text("feedback_key"),
    description: fields.optionalText("description"),
    valueDescriptions: textsOf(fields, "value_descriptions"),
    scoreDescriptions: textsOf(fields, "score_descriptions"),
    isRequired: typeof isRequired === "boolean" ? isRequired : undefined,
  });
}

function textsOf(fields: Fields, name: string): Readonly<Record<string, string>> | undefined {
  return (fields.value(name) ?? undefined) === undefined
    ? undefined
    : (fields.object(name) as Readonly<Record<string, string>>);
}
