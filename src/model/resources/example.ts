import { parseAttachments } from "./attachment-response.ts";
import type { Attachment } from "./attachment-response.ts";
import { Fields, omitUndefined, createUnexpectedResponseError } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** One example of a dataset: inputs and the expected outputs. */
export interface Example {
  readonly id: string;
  readonly datasetId: string;
  readonly inputs: KeyValues;
  /** Reference outputs; absent if the example has none. */
  readonly outputs?: KeyValues | undefined;
  /** Free-form metadata, without the splits, which servers also store in the metadata. */
  readonly metadata: KeyValues;
  /** Splits that the example belongs to. */
  readonly splits: readonly string[];
  /** The run from which the example was created. */
  readonly sourceRunId?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly modifiedAt?: string | undefined;
  /** Attachments by name. Present if the example has attachments and they were requested. */
  readonly attachments?: Readonly<Record<string, Attachment>> | undefined;
}

/** Key of the splits in an example's metadata (docs/wire.md). */
export const splitKey = "dataset_split";

/** @throws {@link ResponseError} if `value` is not an example. */
export function parseExample(value: unknown): Example {
  const fields = new Fields(value, "example");
  const { [splitKey]: splits, ...metadata } = fields.readObject("metadata");
  return omitUndefined({
    id: fields.readText("id"),
    datasetId: fields.readText("dataset_id"),
    inputs: fields.readObject("inputs"),
    outputs: isAbsent(fields.readValue("outputs")) ? undefined : fields.readObject("outputs"),
    metadata,
    splits: readSplits(splits),
    sourceRunId: fields.readOptionalText("source_run_id"),
    createdAt: fields.readOptionalText("created_at"),
    modifiedAt: fields.readOptionalText("modified_at"),
    attachments: parseAttachments(fields.readObject("attachment_urls")),
  });
}

/** @throws {@link ResponseError} if `value` is not a number. */
export function parseCount(value: unknown): number {
  if (typeof value !== "number") {
    throw createUnexpectedResponseError("count", "it is not a number");
  }
  return value;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const readSplits = (value: unknown): readonly string[] =>
  [value ?? []].flat().filter((split) => typeof split === "string");
