import { requireItems, requireText, toNumber, toRecord, toText, toTexts } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/** What its examples look like: members, a text in and out, or messages. */
export const dataTypes = ["kv", "llm", "chat"] as const;

/** A dataset, as the holder of its link can see it too. */
export interface SharedDataset {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly dataType: string;
  readonly exampleCount: number;
  readonly createdMs: number;
  readonly inputsSchema: Members | undefined;
  readonly outputsSchema: Members | undefined;
}

export interface Dataset extends SharedDataset {
  readonly modifiedMs: number;
  readonly experimentCount: number;
  readonly lastExperimentMs: number | undefined;
  readonly metadata: Members | undefined;
}

/** A version: a write to the examples. */
export interface DatasetVersion {
  /** Its time as the server writes it: whole, to the microsecond. */
  readonly asOf: string;
  readonly atMs: number;
  readonly tags: readonly string[];
}

/** @throws TypeError it is no dataset. */
export function parseSharedDataset(value: unknown): SharedDataset {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    name: requireText(members, "name"),
    description: toText(members["description"]),
    dataType: toText(members["data_type"]) ?? "kv",
    exampleCount: toNumber(members["example_count"]) ?? 0,
    createdMs: parseTimeMs(members["created_at"]) ?? 0,
    inputsSchema: toSchema(members["inputs_schema_definition"]),
    outputsSchema: toSchema(members["outputs_schema_definition"]),
  };
}

/** @throws TypeError it is no dataset. */
export function parseDataset(value: unknown): Dataset {
  const members = toRecord(value);
  const shared = parseSharedDataset(value);
  return {
    ...shared,
    modifiedMs: parseTimeMs(members["modified_at"]) ?? shared.createdMs,
    experimentCount: toNumber(members["session_count"]) ?? 0,
    lastExperimentMs: parseTimeMs(members["last_session_start_time"]),
    metadata: toSchema(members["metadata"]),
  };
}

/** @throws TypeError one is no dataset. */
export const parseDatasets = (value: unknown): readonly Dataset[] =>
  requireItems(value, "datasets").map(parseDataset);

/** @throws TypeError one is no version. */
export const parseVersions = (value: unknown): readonly DatasetVersion[] =>
  requireItems(value, "versions").map((item) => {
    const members = toRecord(item);
    const asOf = requireText(members, "as_of");
    return { asOf, atMs: parseTimeMs(asOf) ?? 0, tags: toTexts(members["tags"]) };
  });

const toSchema = (value: unknown): Members | undefined =>
  typeof value === "object" && value !== null ? toRecord(value) : undefined;
