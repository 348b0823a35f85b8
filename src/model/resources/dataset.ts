import { Fields, omitUndefined } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/**
 * Types of examples in a dataset: free-form pairs (`kv`), prompts with completions (`llm`), or
 * chats.
 */
export const dataTypes = ["kv", "llm", "chat"] as const;

/** One of {@link dataTypes}. */
export type DataType = (typeof dataTypes)[number];

/** The data type if none is specified. */
const defaultDataType: DataType = "kv";

/** A collection of examples. Every change creates a version, which stays readable. */
export interface Dataset {
  readonly id: string;
  /** Id of the tenant that owns the dataset; absent if the dataset was read through a share link. */
  readonly tenantId?: string | undefined;
  readonly name: string;
  readonly description?: string | undefined;
  readonly dataType: DataType;
  /** JSON schema for the inputs of the dataset's examples. */
  readonly inputsSchema?: KeyValues | undefined;
  /** JSON schema for the outputs of the dataset's examples. */
  readonly outputsSchema?: KeyValues | undefined;
  /** Free-form metadata: any JSON object. */
  readonly metadata: KeyValues;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly modifiedAt?: string | undefined;
  readonly exampleCount?: number | undefined;
  /** Number of experiments that use the dataset. */
  readonly experimentCount?: number | undefined;
  /** The experiment with which others are compared, if one was pinned. */
  readonly baselineExperimentId?: string | undefined;
}

/** @throws {@link ResponseError} if `value` is not a dataset. */
export function parseDataset(value: unknown): Dataset {
  const fields = new Fields(value, "dataset");
  return omitUndefined({
    id: fields.readText("id"),
    tenantId: fields.readOptionalText("tenant_id"),
    name: fields.readText("name"),
    description: fields.readOptionalText("description"),
    dataType: dataTypes.find((type) => type === fields.readValue("data_type")) ?? defaultDataType,
    inputsSchema: readSchema(fields, "inputs_schema_definition"),
    outputsSchema: readSchema(fields, "outputs_schema_definition"),
    metadata: readMetadata(fields),
    createdAt: fields.readOptionalText("created_at"),
    modifiedAt: fields.readOptionalText("modified_at"),
    exampleCount: fields.readOptionalNumber("example_count"),
    experimentCount: fields.readOptionalNumber("session_count"),
    baselineExperimentId: fields.readOptionalText("baseline_experiment_id"),
  });
}

const readSchema = (fields: Fields, name: string): KeyValues | undefined =>
  fields.readValue(name) === null || fields.readValue(name) === undefined
    ? undefined
    : fields.readObject(name);

/** Reads the metadata, which servers send next to `extra` or inside it. */
function readMetadata(fields: Fields): KeyValues {
  const metadata = fields.readObject("metadata");
  return Object.keys(metadata).length > 0
    ? metadata
    : new Fields(fields.readObject("extra"), "extra of a dataset").readObject("metadata");
}
