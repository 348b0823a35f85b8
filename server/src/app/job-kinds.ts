import type { AnyJobKind } from "../jobs/job-kind.ts";

/** All kinds of jobs. A resource declares its kinds with `defineJobKind`, and is added here. */
export const createJobKinds = (): readonly AnyJobKind[] => [];
