import type { AnnotationQueues } from "../api/annotation-queues.ts";
import type { Datasets } from "../api/datasets/datasets.ts";
import type { Examples } from "../api/datasets/examples.ts";
import type { Experiments } from "../api/experiments.ts";
import type { Feedbacks } from "../api/feedback.ts";
import type { Projects } from "../api/projects.ts";
import type { Prompts } from "../api/prompts/prompts.ts";
import type { Runs } from "../api/runs/runs.ts";
import type { Tenant } from "../api/tenant.ts";

/** The resources of a client. */
export interface Resources {
  readonly projects: Projects;
  readonly prompts: Prompts;
  readonly runs: Runs;
  readonly datasets: Datasets;
  readonly examples: Examples;
  readonly experiments: Experiments;
  readonly feedback: Feedbacks;
  readonly annotationQueues: AnnotationQueues;
  readonly tenant: Tenant;
}
