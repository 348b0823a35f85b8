import type { AnnotationQueue, QueueEntry, QueueFields } from "./annotation-queue.ts";

/** Selects queues with their size; columns in the order of {@link parseQueueRow}. */
export const queueSelection = `SELECT q.id, q.tenant_id, q.name_json, q.default_dataset_id, q.body, q.created_us,
  q.updated_us, (SELECT count(*) FROM annotation_queue_runs e WHERE e.tenant_id = q.tenant_id AND e.queue_id = q.id)
  FROM annotation_queues q`;

export function parseQueueRow(values: readonly unknown[]): AnnotationQueue {
  const [id, tenantId, name, defaultDatasetId, body, created, updated, size] = values;
  return {
    ...(JSON.parse(String(body)) as Body),
    id: String(id),
    tenantId: String(tenantId),
    name: String(JSON.parse(String(name))),
    defaultDatasetId: typeof defaultDatasetId === "string" ? defaultDatasetId : null,
    createdMicros: Number(created),
    updatedMicros: Number(updated),
    size: Number(size),
  };
}

type Body = Omit<QueueFields, "name" | "defaultDatasetId">;

/** Serializes the fields that the column `body` stores; the others have columns of their own. */
export function toBody(fields: QueueFields): string {
  const { description, rubricInstructions, rubricItems, metadata, reviewers } = fields;
  const body: Body = { description, rubricInstructions, rubricItems, metadata, reviewers };
  return JSON.stringify(body);
}

/** The columns of an entry `e`, in the order of {@link parseEntryRow}. */
export const entryColumns = `e.id, e.queue_id, e.run_id, e.added_us, e.reviewed_us, e.completed_us,
  (SELECT json_group_array(json_array(v.reviewer, v.until_us, v.done_us)) FROM annotation_queue_reviews v
    WHERE v.place = e.place)`;

/** Selects entries; columns in the order of {@link parseEntryRow}. */
export const entrySelection = `SELECT ${entryColumns} FROM annotation_queue_runs e`;

/** @param nowMicros - the current time; expired claims are omitted */
export function parseEntryRow(values: readonly unknown[], nowMicros: number): QueueEntry {
  const [id, queueId, runId, added, reviewed, completed, reviews] = values;
  return {
    id: String(id),
    queueId: String(queueId),
    runId: String(runId),
    addedMicros: Number(added),
    reviewedMicros: numberOf(reviewed),
    completedMicros: numberOf(completed),
    reviews: (JSON.parse(String(reviews)) as readonly (readonly unknown[])[])
      .map(([reviewer, until, done]) => ({
        reviewer: String(reviewer),
        untilMicros: typeof until === "number" && until > nowMicros ? until : null,
        doneMicros: numberOf(done),
      }))
      .filter(({ untilMicros, doneMicros }) => untilMicros !== null || doneMicros !== null),
  };
}

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);
