import { parseAttachments } from "./attachment-response.ts";
import type { Attachment } from "./attachment-response.ts";
import { Fields, definedOf, unexpectedAnswer } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** One case of a dataset: inputs, and what should come out. */
export interface Example {
  readonly id: string;
  readonly datasetId: string;
  readonly inputs: KeyValues;
  /** Absent where the example has no reference output. */
  readonly outputs?: KeyValues | undefined;
  /** Free-form, less its splits. */
  readonly metadata: KeyValues;
  /** Splits that it is in. */
  readonly splits: readonly string[];
  /** The run that it was made of. */
  readonly sourceRunId?: string | undefined;
  /** ISO 8601. */
  readonly createdAt?: string | undefined;
  /** ISO 8601. */
  readonly modifiedAt?: string | undefined;
  /** By name. Present where the example has some and they were requested. */
  readonly attachments?: Readonly<Record<string, Attachment>> | undefined;
}

/** The member of an example's metadata that holds its splits (docs/wire.md). */
const splitKey = "dataset_split";

/** @throws {@link ResponseError} it is not an example. */
export function parseExample(value: unknown): Example {
  const fields = new Fields(value, "example");
  const { [splitKey]: splits, ...metadata } = fields.object("metadata");
  return definedOf({
    id: fields.text("id"),
    datasetId: fields.text("dataset_id"),
    inputs: fields.object("inputs"),
    outputs: isAbsent(fields.value("outputs")) ? undefined : fields.object("outputs"),
    metadata,
    splits: splitsOf(splits),
    sourceRunId: fields.optionalText("source_run_id"),
    createdAt: fields.optionalText("created_at"),
    modifiedAt: fields.optionalText("modified_at"),
    attachments: parseAttachments(fields.object("attachment_urls")),
  });
}

/** @throws {@link ResponseError} it is not a number. */
export function parseCount(value: unknown): number {
  if (typeof value !== "number") {
    throw unexpectedAnswer("count", "it is not a number");
  }
  return value;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const splitsOf = (value: unknown): readonly string[] =>
  [value ?? []].flat().filter((split) => typeof split === "string");
