import {
  requireItems,
  requireText,
  toNumber,
  toRecord,
  toText,
  toTexts,
} from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { parseTimeMs } from "../../../components/time/time.ts";

/** The beginning of a payload, and the length of the whole payload in characters. */
export interface TextPreview {
  readonly text: string;
  readonly chars: number;
}

/** An example in the list, with shortened payloads. */
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

export interface ExampleFile {
  readonly name: string;
  readonly mimeType: string;
  readonly url: string;
}

export interface Example {
  readonly id: string;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly sourceRunId: string | undefined;
  readonly inputs: unknown;
  readonly outputs: unknown;
  /** The metadata without the server's entry `dataset_split`, whose value is in `splits`. */
  readonly metadata: JsonMembers;
  readonly splits: readonly string[];
  readonly files: readonly ExampleFile[];
}

/** @throws TypeError `value` is not a list, or an item is not a preview. */
export const parsePreviews = (value: unknown): readonly ExamplePreview[] =>
  requireItems(value, "examples").map(parsePreview);

/** @throws TypeError `value` is not a preview. */
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

/**
 * @throws SyntaxError `json` is not JSON.
 * @throws TypeError the parsed value is not an example.
 */
export const parseExample = (json: string): Example => toExample(parseExactJson(json));

/**
 * @throws SyntaxError `json` is not JSON.
 * @throws TypeError the parsed value is not a list of examples.
 */
export const parseExamples = (json: string): readonly Example[] =>
  requireItems(parseExactJson(json), "examples").map(toExample);

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

/**
 * The parts of the global `JSON` that TypeScript's types lack: `rawJSON`, and the argument `context` of the reviver.
 * For a number, `context.source` is its text in the JSON.
 */
interface ExactJson {
  readonly rawJSON?: (text: string) => unknown;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ) => unknown;
}

const exactJson = JSON as unknown as ExactJson;

/**
 * Parses JSON so that `JSON.stringify` writes each number exactly as it was in the text, such as an id of 20 digits,
 * `1.0` or `1e400`. In browsers without `JSON.rawJSON`, numbers are rounded to JavaScript numbers.
 *
 * @throws SyntaxError `text` is not JSON.
 */
export const parseExactJson = (text: string): unknown =>
  exactJson.parse(text, (_key, value, context) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source
      ? (exactJson.rawJSON?.(source) ?? value)
      : value;
  });
