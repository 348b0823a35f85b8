import { Type } from "typebox";
import type { Static } from "typebox";
import { dataTypes } from "./dataset.ts";
import {
  Anything,
  Bytes,
  Count,
  CountOrNull,
  Flag,
  Id,
  IdOrNull,
  IsoTime,
  List,
  Members,
  Nullable,
  ObjectOrNull,
  OneOf,
  Text,
  TextOrNull,
  TimeOrNull,
} from "../http/schema-parts.ts";

const sharedMembers = {
  id: Id,
  name: Text,
  description: TextOrNull,
  data_type: OneOf(dataTypes),
  created_at: IsoTime,
  inputs_schema_definition: ObjectOrNull,
  outputs_schema_definition: ObjectOrNull,
  externally_managed: Flag,
  transformations: Nullable(List(Anything)),
  example_count: Count,
};

/** A dataset as the holder of a share token sees it. */
export const sharedDatasetSchema = Type.Object(sharedMembers, { title: "SharedDataset" });
export type SharedDatasetJson = Static<typeof sharedDatasetSchema>;

const datasetMembers = {
  ...sharedMembers,
  tenant_id: Id,
  modified_at: IsoTime,
  session_count: Count,
  last_session_start_time: TimeOrNull,
  extra: ObjectOrNull,
  metadata: Anything,
  baseline_experiment_id: IdOrNull,
};

/** A dataset as its own tenant sees it. */
export const datasetSchema = Type.Object(datasetMembers, { title: "Dataset" });
export type DatasetJson = Static<typeof datasetSchema>;
/** The response body of requests that list datasets. */
export const datasetListSchema = List(datasetSchema);

/** A dataset in version 2 of the API. The number of examples is null if the request excludes it. */
export const v2DatasetSchema = Type.Object(
  { ...datasetMembers, example_count: CountOrNull },
  { title: "V2Dataset" },
);

/** The response body of `DELETE /datasets`: the ids of the deleted datasets. */
export const deletedDatasetsSchema = Type.Object({ dataset_ids: List(Id) });

/** The token that lets anyone read a dataset. */
export const datasetShareSchema = Type.Object(
  { dataset_id: Id, share_token: Text },
  { title: "DatasetShare" },
);
/** The share of a dataset, or null if the dataset is not shared. */
export const maybeDatasetShareSchema = Nullable(datasetShareSchema);
/** The response body after the share of a dataset was revoked. */
export const unsharedDatasetSchema = Type.Object({ dataset_id: Id });

/** A version of a dataset: its time and its tags. */
export const datasetVersionSchema = Type.Object(
  { as_of: IsoTime, tags: List(Text) },
  { title: "DatasetVersion" },
);
export type DatasetVersionJson = Static<typeof datasetVersionSchema>;
/** The response body of requests that list versions. */
export const datasetVersionsSchema = List(datasetVersionSchema);

/** The differences between two versions, as ids of examples. */
export const datasetDiffSchema = Type.Object(
  { examples_modified: List(Id), examples_added: List(Id), examples_removed: List(Id) },
  { title: "DatasetDiff" },
);

/** The names of the splits of a dataset. */
export const splitNamesSchema = List(Text);
/** The ids of the examples that a request has changed. */
export const changedExamplesSchema = List(Id);
/** The response body after a dataset was indexed for search: the tag names the indexed version. */
export const datasetIndexSchema = Type.Object({ dataset_id: Id, tag: Text });

const fieldValue = Type.Union([Text, Type.Array(Text), Bytes]);

/** The form fields of `POST /datasets/upload`. */
export const datasetUploadSchema = Type.Unsafe<unknown>({
  ...Members(fieldValue),
  properties: {
    file: { ...Bytes, description: "CSV in UTF-8; the first row contains the column names." },
    input_keys: { ...fieldValue, description: "A column of the inputs; may be repeated." },
    output_keys: { ...fieldValue, description: "A column of the outputs; may be repeated." },
    metadata_keys: { ...fieldValue, description: "A column of the metadata; may be repeated." },
    name: { type: "string", description: "Default: the name of the file." },
    description: { type: "string" },
    data_type: OneOf(dataTypes),
    input_key_mappings: { type: "string", description: "JSON: new names by column." },
    output_key_mappings: { type: "string", description: "JSON: new names by column." },
    metadata_key_mappings: { type: "string", description: "JSON: new names by column." },
    inputs_schema_definition: { type: "string", description: "A JSON schema." },
    outputs_schema_definition: { type: "string", description: "A JSON schema." },
    transformations: { type: "string", description: "A JSON list." },
  },
  required: ["file", "input_keys"],
});

/** A response body in JSON Lines: one JSON value per line. */
export const jsonLines = { "application/x-ndjson": Text };
/** A response body in CSV. */
export const csvText = { "text/csv": Text };
