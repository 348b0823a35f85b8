import type { RequestScoped } from "../http/request-scope.ts";
import type { ProjectReads } from "../projects/project.ts";
import type { RunReads } from "../runs/run-query.ts";
import type { DatasetReads, DatasetWrites } from "./dataset.ts";
import type { ExampleReads, ExampleWrites } from "./examples/example.ts";
import type { LargeExampleWrites } from "./examples/large-examples.ts";
import type { UploadWrites } from "./imports/upload.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of datasets and examples use. */
export interface DatasetStore extends RequestScoped<DatasetStore> {
  readonly read: Promised<{ readonly runs: RunReads }> & {
    readonly datasets: DatasetReads;
    readonly examples: ExampleReads;
    readonly projects: Pick<ProjectReads, "find">;
  };
  readonly write: {
    readonly datasets: DatasetWrites;
    readonly examples: ExampleWrites;
    readonly largeExamples: LargeExampleWrites;
    readonly uploads: UploadWrites;
  };
}
