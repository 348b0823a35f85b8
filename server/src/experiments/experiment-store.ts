import type { RequestScoped } from "../http/request-scope.ts";
import type { DatasetReads } from "../datasets/dataset.ts";
import type { ExampleReads } from "../datasets/examples/example.ts";
import type { FeedbackReads } from "../feedback/feedback.ts";
import type { ProjectReads } from "../projects/project.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { ComparativeReads, ComparativeWrites } from "./comparative.ts";
import type { ExperimentReads } from "./experiment.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of experiments use. */
export interface ExperimentStore extends RequestScoped<ExperimentStore> {
  readonly read: Promised<{
    readonly experiments: ExperimentReads;
    readonly feedback: FeedbackReads;
    readonly runs: RunReads;
  }> & {
    readonly comparatives: ComparativeReads;
    readonly datasets: DatasetReads;
    readonly examples: ExampleReads;
    readonly projects: ProjectReads;
  };
  readonly write: { readonly comparatives: ComparativeWrites };
}
