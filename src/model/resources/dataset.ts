import { Fields, definedOf } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** What the examples of a dataset are like: free-form pairs, prompts with completions, or chats. */
export const dataTypes = ["kv", "llm", "chat"] as const;

/** One of {@link dataTypes}. */
export type DataType = (typeof dataTypes)[number];

/** The data type where none is given (specification, section 3). */
const defaultDataType: DataType = "kv";

/** Examples that belong together. Every change of them makes a version, which stays readable. */
export interface Dataset {
  readonly id: string;
  /** The tenant that it belongs to; absent where it was read through a share. */
  readonly tenantId?: string | undefined;
  readonly name: string;
  readonly description?: string | undefined;
  readonly dataType: DataType;
  /** JSON schema that the inputs of its examples keep to. */
  readonly inputsSchema?: KeyValues | undefined;
  /** JSON schema that the outputs of its examples keep to. */
  readonly outputsSchema?: KeyValues | undefined;
  /** Free-form. */
  readonly metadata: KeyValues;
  /** ISO 8601. */
  readonly createdAt?: string | undefined;
  /** ISO 8601. */
  readonly modifiedAt?: string | undefined;
  readonly exampleCount?: number | undefined;
  /** Experiments over it. */
  readonly experimentCount?: number | undefined;
}

/** @throws {@link ResponseError} it is not a dataset. */
export function parseDataset(value: unknown): Dataset {
  const fields = new Fields(value, "dataset");
  return definedOf({
    id: fields.text("id"),
    tenantId: fields.optionalText("tenant_id"),
    name: fields.text("name"),
    description: fields.optionalText("description"),
    dataType: dataTypes.find((type) => type === fields.value("data_type")) ?? defaultDataType,
    inputsSchema: schemaOf(fields, "inputs_schema_definition"),
    outputsSchema: schemaOf(fields, "outputs_schema_definition"),
    metadata: metadataOf(fields),
    createdAt: fields.optionalText("created_at"),
    modifiedAt: fields.optionalText("modified_at"),
    exampleCount: fields.optionalNumber("example_count"),
    experimentCount: fields.optionalNumber("session_count"),
  });
}

const schemaOf = (fields: Fields, name: string): KeyValues | undefined =>
  fields.value(name) === null || fields.value(name) === undefined ? undefined : fields.object(name);

/** Servers answer it beside `extra`, or within. */
function metadataOf(fields: Fields): KeyValues {
  const own = fields.object("metadata");
  return Object.keys(own).length > 0
    ? own
    : new Fields(fields.object("extra"), "extra of a dataset").object("metadata");
}
