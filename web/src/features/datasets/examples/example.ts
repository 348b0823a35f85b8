import {
  requireItems,
  requireText,
  toNumber,
  toRecord,
  toText,
  toTexts,
} from "../../../api/parse.ts";
import type { Members } from "../../../api/parse.ts";
import { parseTimeMs } from "../../../components/time/time.ts";

/** The beginning of a payload, and how long all of it is. */
export interface TextPreview {
  readonly text: string;
  readonly chars: number;
}

/** An example as a list shows it. */
export interface ExamplePreview {
  readonly id: string;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly sourceRunId: string | undefined;
  readonly inputs: TextPreview;
  readonly outputs: TextPreview | undefined;
  readonly metadata: TextPreview;
  readonly splits: readonly string[];
  readonly attachmentCount: number;
}

/** A file of an example. */
export interface ExampleFile {
  readonly name: string;
  readonly mimeType: string;
  readonly url: string;
}

/** An example with all that it holds. */
export interface Example {
  readonly id: string;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly sourceRunId: string | undefined;
  readonly inputs: unknown;
  readonly outputs: unknown;
  /** Without the splits. */
  readonly metadata: Members;
  readonly splits: readonly string[];
  readonly files: readonly ExampleFile[];
}

/** @throws TypeError one is no preview. */
export const parsePreviews = (value: unknown): readonly ExamplePreview[] =>
  requireItems(value, "examples").map(parsePreview);

/** @throws TypeError it is no preview. */
export function parsePreview(value: unknown): ExamplePreview {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    createdMs: parseTimeMs(members["created_at"]) ?? 0,
    modifiedMs: parseTimeMs(members["modified_at"]) ?? 0,
    sourceRunId: toText(members["source_run_id"]),
    inputs: toPreview(members["inputs"]),
    outputs: members["outputs"] === null ? undefined : toPreview(members["outputs"]),
    metadata: toPreview(members["metadata"]),
    splits: toTexts(members["splits"]),
    attachmentCount: toNumber(members["attachment_count"]) ?? 0,
  };
}

/** @throws an error where the text is no example. */
export const parseExample = (json: string): Example => toExample(parseExact(json));

/** @throws an error where the text is no list of examples. */
export const parseExamples = (json: string): readonly Example[] =>
  requireItems(parseExact(json), "examples").map(toExample);

function toExample(value: unknown): Example {
  const members = toRecord(value);
  const { dataset_split: splits, ...metadata } = toRecord(members["metadata"]);
  return {
    id: requireText(members, "id"),
    createdMs: parseTimeMs(members["created_at"]) ?? 0,
    modifiedMs: parseTimeMs(members["modified_at"]) ?? 0,
    sourceRunId: toText(members["source_run_id"]),
    inputs: members["inputs"] ?? {},
    outputs: members["outputs"] ?? undefined,
    metadata,
    splits: toTexts(splits),
    files: Object.entries(toRecord(members["attachment_urls"])).map(([name, file]) => ({
      name: name.replace(/^attachment\./, ""),
      mimeType: toText(toRecord(file)["mime_type"]) ?? "",
      url: toText(toRecord(file)["presigned_url"]) ?? "",
    })),
  };
}

const toPreview = (value: unknown): TextPreview => {
  const { text, chars } = toRecord(value);
  return { text: toText(text) ?? "", chars: toNumber(chars) ?? 0 };
};

/** Newer than the types: `JSON.rawJSON`, and what a number looked like in the text. */
interface ExactJson {
  readonly rawJSON?: (text: string) => unknown;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ) => unknown;
}

const exact = JSON as unknown as ExactJson;

/**
 * A JSON text as a value that `JSON.stringify` writes back with every number as it stood: an id of 20
 * digits, 1.0 and 1e400 too. A browser that knows no raw numbers reads them as numbers.
 *
 * @throws SyntaxError it is not JSON.
 */
export const parseExact = (text: string): unknown =>
  exact.parse(text, (_key, value, context) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source
      ? (exact.rawJSON?.(source) ?? value)
      : value;
  });
