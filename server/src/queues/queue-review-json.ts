import type { QueueEntry } from "./annotation-queue.ts";
import type { ClaimedRun, QueueProgress, ListedEntry } from "./queue-review.ts";
import { toEntryJson } from "./annotation-queue-json.ts";
import { toIso } from "../http/wire-text.ts";

/** Serializes a claimed entry with all of its reviews. */
export const toClaimJson = (run: ClaimedRun) => ({
  ...toEntryWithReviews(run),
  index: run.index,
  claimed_until: run.claimedUntilMicros === null ? null : toIso(run.claimedUntilMicros),
});

/** Serializes an entry with some fields of its run, for a list. */
export const toListedEntryJson = (run: ListedEntry) => ({
  ...toEntryWithReviews(run),
  session_id: run.projectId,
  name: run.name,
  run_type: run.runType,
  has_error: run.hasError,
  start_time: toIso(run.startMicros),
  end_time: run.endMicros === null ? null : toIso(run.endMicros),
});

const toEntryWithReviews = (entry: QueueEntry) => ({
  ...toEntryJson(entry),
  completed_at: entry.completedMicros === null ? null : toIso(entry.completedMicros),
  reviews: entry.reviews.map(({ reviewer, claimedUntilMicros, doneMicros }) => ({
    reviewer,
    claimed_until: claimedUntilMicros === null ? null : toIso(claimedUntilMicros),
    done_at: doneMicros === null ? null : toIso(doneMicros),
  })),
});

/** Serializes the progress of a queue, in total and for one reviewer. */
export function toProgressJson(progress: QueueProgress, reviewer: string) {
  const { total, completed, reviewers, lastDoneId } = progress;
  return {
    total,
    completed,
    mine: reviewers.find(({ name }) => name === reviewer)?.done ?? 0,
    claimed_by_others: reviewers
      .filter(({ name }) => name !== reviewer)
      .reduce((sum, { claimed }) => sum + claimed, 0),
    last_done: lastDoneId,
    reviewers,
  };
}
