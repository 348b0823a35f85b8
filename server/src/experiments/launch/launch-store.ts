import type { RequestScoped } from "../../http/request-scope.ts";
import type { DatasetReads } from "../../datasets/dataset.ts";
import type { ExampleReads } from "../../datasets/examples/example.ts";
import type { JobReads, JobWrites } from "../../jobs/job.ts";
import type { JudgeModels } from "../../judges/call-judge.ts";
import type { PriceReads } from "../../prices/price.ts";
import type { ProjectReads, ProjectWrites } from "../../projects/project.ts";
import type { PromptReads } from "../../prompts/prompt.ts";
import type { RunReads } from "../../runs/run-query.ts";
import type { RunStore } from "../../runs/run-store.ts";
import type { Promised } from "../../storage/promised.ts";
import type { WorkThreads } from "../../storage/work-threads.ts";
import type { ExperimentReads } from "../experiment.ts";

/** The part of the store that starts and runs experiments. */
export interface LaunchStore extends RequestScoped<LaunchStore>, Pick<RunStore, "ingest"> {
  readonly read: Promised<{ readonly experiments: ExperimentReads; readonly runs: RunReads }> & {
    readonly datasets: DatasetReads;
    readonly examples: ExampleReads;
    readonly jobs: JobReads;
    readonly prices: PriceReads;
    readonly projects: ProjectReads;
    readonly prompts: PromptReads;
  };
  readonly write: { readonly jobs: JobWrites; readonly projects: ProjectWrites };
}

/** What running experiments on the server depends on. */
export interface LaunchDependencies {
  readonly store: Pick<LaunchStore, "read" | "write" | "ingest">;
  readonly models: JudgeModels;
  readonly workThreads: Pick<WorkThreads, "run">;
}
