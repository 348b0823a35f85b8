import { Fields, omitUndefined, parseList } from "../fields.ts";
import { parseRun } from "./run-response.ts";
import type { Run } from "./run-response.ts";
import type { KeyValues } from "../run.ts";

/** One item of a queue's rubric: which feedback a reviewer gives, and what its values mean. */
export interface RubricItem {
  readonly feedbackKey: string;
  readonly description?: string | undefined;
  /** For each value, a text that says what the value means. */
  readonly valueDescriptions?: Readonly<Record<string, string>> | undefined;
  /** For each score, a text that says what the score means. */
  readonly scoreDescriptions?: Readonly<Record<string, string>> | undefined;
  readonly isRequired?: boolean | undefined;
}

/** A queue of runs that people review. */
export interface AnnotationQueue {
  readonly id: string;
  /** Id of the tenant that owns the queue. */
  readonly tenantId: string;
  readonly name: string;
  readonly description?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly updatedAt?: string | undefined;
  /** The dataset to which reviewed runs are added as examples. */
  readonly defaultDatasetId?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  /** Present if the queue was read by itself and not as part of a list. */
  readonly rubricInstructions?: string | undefined;
  /** Present if the queue was read by itself and not as part of a list. */
  readonly rubricItems?: readonly RubricItem[] | undefined;
  /** Number of runs in the queue; present in lists. */
  readonly totalRuns?: number | undefined;
}

/** An entry of a queue, which refers to a run. */
export interface AnnotationQueueEntry {
  /** Id of the entry, not of the run: the argument of {@link AnnotationQueues.removeRun}. */
  readonly queueRunId: string;
  readonly queueId: string;
  readonly runId: string;
  /** A time in ISO 8601 format. */
  readonly addedAt?: string | undefined;
  /** A time in ISO 8601 format; absent until the run was reviewed. */
  readonly lastReviewedTime?: string | undefined;
}

/** A run in a queue, with the data of its entry. */
export interface QueuedRun extends Omit<AnnotationQueueEntry, "queueId" | "runId"> {
  readonly run: Run;
}

/** @throws {@link ResponseError} if `value` is not an annotation queue. */
export function parseAnnotationQueue(value: unknown): AnnotationQueue {
  const fields = new Fields(value, "annotation queue");
  const items = fields.readValue("rubric_items") ?? undefined;
  return omitUndefined({
    id: fields.readText("id"),
    tenantId: fields.readText("tenant_id"),
    name: fields.readText("name"),
    description: fields.readOptionalText("description"),
    createdAt: fields.readOptionalText("created_at"),
    updatedAt: fields.readOptionalText("updated_at"),
    defaultDatasetId: fields.readOptionalText("default_dataset"),
    metadata: (fields.readValue("metadata") ?? undefined) && fields.readObject("metadata"),
    rubricInstructions: fields.readOptionalText("rubric_instructions"),
    rubricItems: items && parseList(items, "rubric items", parseRubricItem),
    totalRuns: fields.readOptionalNumber("total_runs"),
  });
}

/** Converts a rubric item to the wire format. */
export const toWireRubricItem = (item: RubricItem): Readonly<Record<string, unknown>> =>
  omitUndefined({
    feedback_key: item.feedbackKey,
    description: item.description,
    value_descriptions: item.valueDescriptions,
    score_descriptions: item.scoreDescriptions,
    is_required: item.isRequired,
  });

/** @throws {@link ResponseError} if `value` is not an entry of an annotation queue. */
export function parseAnnotationQueueEntry(value: unknown): AnnotationQueueEntry {
  const fields = new Fields(value, "entry of an annotation queue");
  return omitUndefined({
    queueRunId: fields.readText("id"),
    queueId: fields.readText("queue_id"),
    runId: fields.readText("run_id"),
    ...readReviewTimes(fields),
  });
}

/** @throws {@link ResponseError} if `value` is not a run of an annotation queue. */
export function parseQueuedRun(value: unknown): QueuedRun {
  const run = parseRun(value);
  const fields = new Fields(value, "run of an annotation queue");
  return omitUndefined({
    run,
    queueRunId: fields.readText("queue_run_id"),
    ...readReviewTimes(fields),
  });
}

const readReviewTimes = (fields: Fields) => ({
  addedAt: fields.readOptionalText("added_at"),
  lastReviewedTime: fields.readOptionalText("last_reviewed_time"),
});

function parseRubricItem(value: unknown): RubricItem {
  const fields = new Fields(value, "rubric item");
  const isRequired = fields.readValue("is_required");
  return omitUndefined({
    feedbackKey: fields.readText("feedback_key"),
    description: fields.readOptionalText("description"),
    valueDescriptions: readTexts(fields, "value_descriptions"),
    scoreDescriptions: readTexts(fields, "score_descriptions"),
    isRequired: typeof isRequired === "boolean" ? isRequired : undefined,
  });
}

function readTexts(fields: Fields, name: string): Readonly<Record<string, string>> | undefined {
  return (fields.readValue(name) ?? undefined) === undefined
    ? undefined
    : (fields.readObject(name) as Readonly<Record<string, string>>);
}
