import { tellAnnotationQueues } from "./annotation-queues.ts";
import { tellDatasets } from "./datasets.ts";
import { tellExamples } from "./examples.ts";
import { tellExperiments } from "./experiments.ts";
import { tellFeedback } from "./feedback.ts";
import { tellProjects } from "./projects.ts";
import { tellPrompts } from "./prompts.ts";
import { tellRuns } from "./runs.ts";
import { tellTenant } from "./tenant.ts";
import type { Story } from "./story-context.ts";

/** In an order that works with a real server: prompts need the tenant's handle, which is set first. */
export const stories: readonly (readonly [string, Story])[] = [
  ["tenant", tellTenant],
  ["projects", tellProjects],
  ["runs", tellRuns],
  ["datasets", tellDatasets],
  ["examples", tellExamples],
  ["experiments", tellExperiments],
  ["feedback", tellFeedback],
  ["annotation queues", tellAnnotationQueues],
  ["prompts", tellPrompts],
];
