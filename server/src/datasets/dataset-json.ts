import type { Dataset } from "./dataset.ts";
import type { DatasetVersion } from "./dataset-version.ts";
import type { DatasetJson, DatasetVersionJson, SharedDatasetJson } from "./dataset-schemas.ts";
import { toIso } from "../http/wire-text.ts";

/** Serializes a dataset for the holder of its share token, who sees only some of its members. */
export const toSharedDatasetJson = (dataset: Dataset): SharedDatasetJson => ({
  id: dataset.id,
  name: dataset.name,
  description: dataset.description,
  data_type: dataset.dataType,
  created_at: toIso(dataset.createdMicros),
  inputs_schema_definition: dataset.inputsSchema,
  outputs_schema_definition: dataset.outputsSchema,
  externally_managed: dataset.externallyManaged,
  transformations: dataset.transformations,
  example_count: dataset.exampleCount,
});

/** Serializes a dataset for a request of its own tenant. */
export const toDatasetJson = (dataset: Dataset): DatasetJson => ({
  ...toSharedDatasetJson(dataset),
  tenant_id: dataset.tenantId,
  modified_at: toIso(dataset.modifiedMicros),
  session_count: dataset.experimentCount,
  last_session_start_time:
    dataset.lastExperimentStartMicros === null ? null : toIso(dataset.lastExperimentStartMicros),
  extra: dataset.extra,
  metadata: dataset.extra?.["metadata"] ?? null,
  baseline_experiment_id: dataset.baselineExperimentId,
});

/** A version of a dataset, as the API returns it. */
export const toVersionJson = ({ micros, tags }: DatasetVersion): DatasetVersionJson => ({
  as_of: toIso(micros),
  tags,
});
