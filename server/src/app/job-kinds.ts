import { createExperimentJobKind } from "../experiments/launch/experiment-job.ts";
import type { LaunchDependencies } from "../experiments/launch/launch-store.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import type { Store } from "../store/store.ts";
import { createStoreJobKinds } from "./store-job-kinds.ts";

/** What the kinds of jobs depend on. */
export interface JobKindDependencies extends LaunchDependencies {
  readonly store: Store;
}

/**
 * All kinds of jobs. A resource declares a kind with `defineJobKind`; the kind is then listed here or in
 * `createStoreJobKinds`.
 */
export const createJobKinds = (dependencies: JobKindDependencies): readonly AnyJobKind[] => [
  ...createStoreJobKinds(dependencies.store),
  ...createServerJobKinds(dependencies),
];

/** The kinds that only a server can perform, because only a server has the keys of the model endpoints. */
export const createServerJobKinds = (dependencies: LaunchDependencies): readonly AnyJobKind[] => [
  createExperimentJobKind(dependencies),
];
