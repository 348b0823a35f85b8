import type { FeedbackReads } from "../feedback/feedback.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { ProjectReads, ProjectWrites } from "./project.ts";
import type { Promised } from "../storage/promised.ts";

/** What the handlers of projects need of the store. */
export interface ProjectStore {
  readonly read: Promised<{
    readonly feedback: FeedbackReads;
    readonly projects: ProjectReads;
    readonly runs: RunReads;
  }>;
  readonly write: Promised<{
    readonly projects: ProjectWrites;
  }>;
}
