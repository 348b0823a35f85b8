import type { RequestScoped } from "../http/request-scope.ts";
import type { FeedbackReads } from "../feedback/feedback.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { ProjectReads, ProjectWrites } from "./project.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of projects use. */
export interface ProjectStore extends RequestScoped<ProjectStore> {
  readonly read: Promised<{
    readonly feedback: FeedbackReads;
    readonly runs: RunReads;
  }> & {
    readonly projects: ProjectReads;
    /**
     * Used to check that a dataset exists. The type is written here, because the folder `datasets` imports this folder.
     */
    readonly datasets: { find(tenantId: string, id: string): Promise<object | undefined> };
  };
  readonly write: { readonly projects: ProjectWrites };
}
