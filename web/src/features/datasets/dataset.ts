import { requireItems, requireText, toNumber, toRecord, toText, toTexts } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/**
 * The types of examples. `kv`: key-value objects. `llm`: one input text and one output text. `chat`: lists of messages.
 */
export const dataTypes = ["kv", "llm", "chat"] as const;

const dataTypeLabels: Readonly<Record<string, string>> = {
  kv: "Key-value",
  llm: "Text in/out",
  chat: "Chat",
};

/** Returns the label that the UI shows for a type of examples. */
export const describeDataType = (type: string): string => dataTypeLabels[type] ?? type;

/** The fields of a dataset that everyone with its share link can read. */
export interface SharedDataset {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly dataType: string;
  readonly exampleCount: number;
  readonly createdMs: number;
  readonly inputsSchema: JsonMembers | undefined;
  readonly outputsSchema: JsonMembers | undefined;
}

export interface Dataset extends SharedDataset {
  readonly modifiedMs: number;
  readonly experimentCount: number;
  readonly lastExperimentMs: number | undefined;
  readonly metadata: JsonMembers | undefined;
}

/** A version of a dataset. Each write to the examples creates one. */
export interface DatasetVersion {
  /**
   * The version's timestamp with microseconds. Requests identify the version by this text, so it must stay exactly as
   * the server sent it.
   */
  readonly asOf: string;
  readonly atMs: number;
  readonly tags: readonly string[];
}

/** @throws TypeError `value` is not a dataset. */
export function parseSharedDataset(value: unknown): SharedDataset {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    name: requireText(members, "name"),
    description: toText(members["description"]),
    dataType: toText(members["data_type"]) ?? "kv",
    exampleCount: toNumber(members["example_count"]) ?? 0,
    createdMs: parseTimeMs(members["created_at"]) ?? 0,
    inputsSchema: toOptionalRecord(members["inputs_schema_definition"]),
    outputsSchema: toOptionalRecord(members["outputs_schema_definition"]),
  };
}

/** @throws TypeError `value` is not a dataset. */
export function parseDataset(value: unknown): Dataset {
  const members = toRecord(value);
  const shared = parseSharedDataset(value);
  return {
    ...shared,
    modifiedMs: parseTimeMs(members["modified_at"]) ?? shared.createdMs,
    experimentCount: toNumber(members["session_count"]) ?? 0,
    lastExperimentMs: parseTimeMs(members["last_session_start_time"]),
    metadata: toOptionalRecord(members["metadata"]),
  };
}

/** @throws TypeError `value` is not a list, or an item is not a dataset. */
export const parseDatasets = (value: unknown): readonly Dataset[] =>
  requireItems(value, "datasets").map(parseDataset);

/** @throws TypeError `value` is not a list, or an item is not a version. */
export const parseVersions = (value: unknown): readonly DatasetVersion[] =>
  requireItems(value, "versions").map((item) => {
    const members = toRecord(item);
    const asOf = requireText(members, "as_of");
    return { asOf, atMs: parseTimeMs(asOf) ?? 0, tags: toTexts(members["tags"]) };
  });

const toOptionalRecord = (value: unknown): JsonMembers | undefined =>
  typeof value === "object" && value !== null ? toRecord(value) : undefined;
