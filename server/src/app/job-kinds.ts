import { createExperimentJobKind } from "../experiments/launch/experiment-job.ts";
import type { LaunchDependencies } from "../experiments/launch/launch-store.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { createRecomputeCosts } from "../prices/recompute-job.ts";
import { createAddFeedback } from "../run-actions/add-feedback.ts";
import { createAddToDataset } from "../run-actions/add-to-dataset.ts";
import { createAddToQueue } from "../run-actions/add-to-queue.ts";
import { createDeleteRuns } from "../run-actions/delete-runs.ts";
import { createTagRuns } from "../run-actions/tag-runs.ts";
import type { Store } from "../store/store.ts";

/** What the kinds of jobs work with. */
export interface JobKindDependencies extends LaunchDependencies {
  readonly store: Store;
}

/** All kinds of jobs. A resource declares its kinds with `defineJobKind`, and is added here. */
export const createJobKinds = (dependencies: JobKindDependencies): readonly AnyJobKind[] => {
  const { store } = dependencies;
  return [
    createAddToDataset(store),
    createAddToQueue(store),
    createTagRuns(store),
    createAddFeedback(store),
    createDeleteRuns(store),
    createRecomputeCosts(store),
    createExperimentJobKind(dependencies),
  ];
};
