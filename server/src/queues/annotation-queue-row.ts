import type { AnnotationQueue, QueueEntry, QueueFields } from "./annotation-queue.ts";
import type { EntryRow, QueueRow } from "./annotation-queue-queries.ts";

/** Converts a row to an annotation queue. */
export const parseQueueRow = (row: QueueRow): AnnotationQueue => ({
  ...(JSON.parse(row.body) as Body),
  id: row.id,
  tenantId: row.tenant_id,
  name: String(JSON.parse(row.name_json)),
  defaultDatasetId: row.default_dataset_id,
  createdMicros: row.created_us,
  updatedMicros: row.updated_us,
  size: row.size ?? 0,
});

type Body = Omit<QueueFields, "name" | "defaultDatasetId">;

/** Serializes the fields of a queue that are stored in the column `body`. The other fields have their own columns. */
export function toBody(fields: QueueFields): string {
  const { description, rubricInstructions, rubricItems, metadata, reviewers } = fields;
  const body: Body = { description, rubricInstructions, rubricItems, metadata, reviewers };
  return JSON.stringify(body);
}

type ReviewValues = readonly [
  reviewer: string,
  claimedUntilMicros: number | null,
  doneMicros: number | null,
];

/**
 * Parses the row of an entry.
 *
 * @param nowMicros - the current time; claims that expired before this time are left out
 */
export const parseEntryRow = (row: EntryRow, nowMicros: number): QueueEntry => ({
  id: row.id,
  queueId: row.queue_id,
  runId: row.run_id,
  addedMicros: row.added_us,
  reviewedMicros: row.reviewed_us,
  completedMicros: row.completed_us,
  reviews: (JSON.parse(row.reviews_json ?? "[]") as readonly ReviewValues[])
    .map(([reviewer, untilMicros, doneMicros]) => ({
      reviewer,
      claimedUntilMicros: untilMicros !== null && untilMicros > nowMicros ? untilMicros : null,
      doneMicros,
    }))
    .filter(
      ({ claimedUntilMicros, doneMicros }) => claimedUntilMicros !== null || doneMicros !== null,
    ),
});
