import { Type } from "typebox";
import type { DatasetReads } from "../datasets/dataset.ts";
import type { ExampleDraft, ExampleWrites } from "../datasets/examples/example.ts";
import { addSplits } from "../datasets/examples/splits.ts";
import { readInputsAndOutputs } from "../datasets/examples/source-run.ts";
import { parseId } from "../http/query-string.ts";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { RequestError } from "../model/errors.ts";
import {
  deriveId,
  describeRuns,
  snapshotMatchingRuns,
  matchingRunsSchema,
  readMatchingRuns,
} from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** The part of the store that adds examples. */
export interface DatasetActionStore extends MatchingRunStore {
  readonly read: MatchingRunStore["read"] & { readonly datasets: DatasetReads };
  readonly write: { readonly examples: ExampleWrites };
}

const runsPerStep = 50;

/** Creates an example from each matching run. Runs that violate the schema of the dataset are counted as failed. */
export const createAddToDataset = (store: DatasetActionStore): AnyJobKind =>
  defineJobKind({
    name: "runs.add_to_dataset",
    parameters: Type.Object({
      runs: matchingRunsSchema,
      dataset_id: Type.String({ maxLength: 64 }),
      includes_outputs: Type.Boolean(),
      split: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    }),
    prepare: async (tenantId, { runs, dataset_id, ...mapping }) => {
      const datasetId = parseId(dataset_id, "dataset_id");
      const dataset = await store.read.datasets.find(tenantId, datasetId);
      if (dataset === undefined) {
        throw new RequestError(404, "Dataset not found");
      }
      const snapshot = await snapshotMatchingRuns(store, tenantId, runs);
      return {
        title: `Add ${describeRuns(snapshot.total)} to the dataset “${dataset.name}”`,
        parameters: { ...mapping, dataset_id: datasetId, runs: snapshot.runs },
        ...(snapshot.total === undefined ? {} : { total: snapshot.total }),
      };
    },
    step: async ({ tenantId, jobId, parameters, progress }, cursor) => {
      const { runs, dataset_id: datasetId, includes_outputs: includesOutputs, split } = parameters;
      const slice = await readMatchingRuns(store, tenantId, { runs, cursor, limit: runsPerStep });
      const metadata = addSplits(null, split === undefined ? undefined : [split]);
      const drafts = slice.runs.map((run): ExampleDraft => {
        const { inputs, outputs } = readInputsAndOutputs(run);
        return {
          id: deriveId(jobId, run.row.id),
          hasGeneratedId: false,
          datasetId,
          sourceRunId: run.row.id,
          inputs,
          outputs: includesOutputs ? outputs : null,
          metadata,
        };
      });
      const failures = await createValid(store, { tenantId, datasetId, drafts });
      const added = (progress.figures["examples_added"] ?? 0) + drafts.length - failures.length;
      return {
        ...(slice.cursor === undefined
          ? {
              result: {
                summary: `Added ${added.toLocaleString("en")} ${added === 1 ? "example" : "examples"}.`,
                dataset_id: datasetId,
              },
            }
          : { cursor: slice.cursor }),
        done: progress.done + slice.runs.length,
        figures: { examples_added: added },
        failures,
      };
    },
  });

/** Creates the examples that match the schema of their dataset. Returns why the others were not created. */
async function createValid(
  store: DatasetActionStore,
  {
    tenantId,
    datasetId,
    drafts,
  }: {
    readonly tenantId: string;
    readonly datasetId: string;
    readonly drafts: readonly ExampleDraft[];
  },
): Promise<readonly string[]> {
  if (drafts.length === 0) {
    return [];
  }
  const errors = await store.write.examples.check(tenantId, datasetId, drafts);
  const valid = drafts.filter(({ id }) => errors[id] === undefined);
  if (valid.length > 0) {
    await store.write.examples.create(tenantId, valid);
  }
  return drafts.flatMap(({ id, sourceRunId }) =>
    errors[id] === undefined ? [] : [`run ${sourceRunId}: ${errors[id]}`],
  );
}
