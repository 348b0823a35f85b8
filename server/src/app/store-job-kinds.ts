import type { AnyJobKind } from "../jobs/job-kind.ts";
import { createRecomputeCosts } from "../prices/recompute-job.ts";
import { createAddFeedback } from "../run-actions/add-feedback.ts";
import { createAddToDataset } from "../run-actions/add-to-dataset.ts";
import { createAddToQueue } from "../run-actions/add-to-queue.ts";
import { createDeleteRuns } from "../run-actions/delete-runs.ts";
import { createTagRuns } from "../run-actions/tag-runs.ts";
import type { Store } from "../store/store.ts";

/** The kinds of jobs that need nothing but the store, so any process that uses the database can perform them. */
export const createStoreJobKinds = (store: Store): readonly AnyJobKind[] => [
  createAddToDataset(store),
  createAddToQueue(store),
  createTagRuns(store),
  createAddFeedback(store),
  createDeleteRuns(store),
  createRecomputeCosts(store),
];
