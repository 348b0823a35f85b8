import { Type } from "typebox";
import type { Static } from "typebox";
import { dataTypes } from "./dataset.ts";
import {
  AnyObject,
  Bytes,
  Id,
  IsoTime,
  List,
  Members,
  Nullable,
  OneOf,
} from "../http/schema-parts.ts";

const sharedMembers = {
  id: Id,
  name: Type.String(),
  description: Nullable(Type.String()),
  data_type: OneOf(dataTypes),
  created_at: IsoTime,
  inputs_schema_definition: Nullable(AnyObject),
  outputs_schema_definition: Nullable(AnyObject),
  externally_managed: Type.Boolean(),
  transformations: Nullable(List(Type.Unknown())),
  example_count: Type.Integer(),
};

/** What a reader with a share token sees of a dataset. */
export const sharedDatasetSchema = Type.Object(sharedMembers, { title: "SharedDataset" });
export type SharedDatasetJson = Static<typeof sharedDatasetSchema>;

const datasetMembers = {
  ...sharedMembers,
  tenant_id: Id,
  modified_at: IsoTime,
  session_count: Type.Integer(),
  last_session_start_time: Nullable(IsoTime),
  extra: Nullable(AnyObject),
  metadata: Type.Unknown(),
  baseline_experiment_id: Nullable(Id),
};

export const datasetSchema = Type.Object(datasetMembers, { title: "Dataset" });
export type DatasetJson = Static<typeof datasetSchema>;
export const datasetListSchema = List(datasetSchema);

/** A dataset in the second version of the API, where the number of examples may be excluded. */
export const v2DatasetSchema = Type.Object(
  { ...datasetMembers, example_count: Nullable(Type.Integer()) },
  { title: "V2Dataset" },
);

export const deletedDatasetsSchema = Type.Object({ dataset_ids: List(Id) });

export const datasetShareSchema = Type.Object(
  { dataset_id: Id, share_token: Type.String() },
  { title: "DatasetShare" },
);
export const maybeDatasetShareSchema = Nullable(datasetShareSchema);
export const unsharedDatasetSchema = Type.Object({ dataset_id: Id });

export const datasetVersionSchema = Type.Object(
  { as_of: IsoTime, tags: List(Type.String()) },
  { title: "DatasetVersion" },
);
export type DatasetVersionJson = Static<typeof datasetVersionSchema>;
export const datasetVersionsSchema = List(datasetVersionSchema);

export const datasetDiffSchema = Type.Object(
  { examples_modified: List(Id), examples_added: List(Id), examples_removed: List(Id) },
  { title: "DatasetDiff" },
);

export const splitNamesSchema = List(Type.String());
export const changedExamplesSchema = List(Id);
export const datasetIndexSchema = Type.Object({ dataset_id: Id, tag: Type.String() });

const fieldValue = Type.Union([Type.String(), Type.Array(Type.String()), Bytes]);

/** The form of `POST /datasets/upload`. */
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

/** Lines of JSON. */
export const jsonLines = { "application/x-ndjson": Type.String() };
export const csvText = { "text/csv": Type.String() };
