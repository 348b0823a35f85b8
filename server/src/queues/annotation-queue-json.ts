import type { AnnotationQueue, QueueEntry, QueueReview } from "./annotation-queue.ts";
import type { QueueEntryJson, QueueJson } from "./annotation-queue-schemas.ts";
import { toReviewerId } from "./queue-review.ts";
import type { StoredRun } from "../runs/run-row.ts";
import { toRunJson } from "../runs/serializers/run-json.ts";
import { toIso } from "../http/wire-text.ts";
import type { RunView } from "../runs/serializers/run-json.ts";

/** Serializes a queue with all of its fields. */
export const toQueueJson = (queue: AnnotationQueue): QueueJson => ({
  num_reviewers_per_item: 1,
  enable_reservations: true,
  reservation_minutes: 1,
  reviewer_access_mode: "any",
  ...queue.reviewers,
  id: queue.id,
  tenant_id: queue.tenantId,
  name: queue.name,
  description: queue.description,
  queue_type: "single",
  default_dataset: queue.defaultDatasetId,
  metadata: queue.metadata,
  rubric_instructions: queue.rubricInstructions,
  rubric_items: queue.rubricItems,
  total_runs: queue.size,
  assigned_reviewers: [],
  source_rule_id: null,
  run_rule_id: null,
  created_at: toIso(queue.createdMicros),
  updated_at: toIso(queue.updatedMicros),
});

/** Serializes the entry of a run in a queue. */
export const toEntryJson = (entry: QueueEntry): QueueEntryJson => ({
  id: entry.id,
  queue_id: entry.queueId,
  run_id: entry.runId,
  ...toReviewTimes(entry),
  source_proposed_example_id: null,
});

/** Serializes a run as `GET /runs/{id}` does, with the members of its queue entry. */
export function toQueuedRunJson(entry: QueueEntry, run: StoredRun, view: RunView): Buffer {
  const entryMembers = {
    queue_run_id: entry.id,
    ...toReviewTimes(entry),
    effective_added_at: toIso(entry.addedMicros),
    reserved_by: listReviewerIds(entry, ({ claimedUntilMicros }) => claimedUntilMicros !== null),
    completed_by: listReviewerIds(entry, ({ doneMicros }) => doneMicros !== null),
  };
  // Append these members to those of the run: if two members have the same name, JSON parsers use the last one.
  const runJson = toRunJson(run, view).subarray(0, -1);
  return Buffer.concat([runJson, Buffer.from(`,${JSON.stringify(entryMembers).slice(1)}`)]);
}

const toReviewTimes = ({ addedMicros, reviewedMicros }: QueueEntry) => ({
  added_at: toIso(addedMicros),
  last_reviewed_time: reviewedMicros === null ? null : toIso(reviewedMicros),
});

const listReviewerIds = ({ reviews }: QueueEntry, matches: (review: QueueReview) => boolean) =>
  reviews.filter(matches).map(({ reviewer }) => toReviewerId(reviewer));
