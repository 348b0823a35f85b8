import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { parseSplits, separateMetadata, addSplits } from "../splits.ts";
import { messageOf, RequestError } from "../../../model/errors.ts";
import { JsonCursor } from "../../../bodies/json-cursor.ts";
import { parseOptionalTime } from "../../../model/parse-time.ts";
import { serverLimits } from "../../../model/options.ts";
import type { AttachmentOperations, ExampleChange } from "../example.ts";
import type { ReceivedExample } from "../large-examples.ts";
import { parseId } from "../../../http/query-string.ts";

/** The members of a JSON object; each value is the JSON text as it was received. */
export type Members = ReadonlyMap<string, Buffer>;

/**
 * Reads the members of a JSON object.
 *
 * @throws RequestError 422: the text is not a JSON object.
 */
export const readMembers = (body: Buffer, label = "the body"): Map<string, Buffer> =>
  readJson(body, label, (cursor) => cursor.readMembers());

/** @throws RequestError 422: `body` is not a JSON object. */
export const assertObject = (body: Buffer, label: string): void =>
  readJson(body, label, (cursor) => {
    cursor.assertOneValue();
    if (body[0] !== openBrace && !body.toString("latin1").trimStart().startsWith("{")) {
      throw new Error("not JSON: expected an object");
    }
  });

/**
 * Reads the members of each object in a JSON list.
 *
 * @throws RequestError 422: the body is not a list of JSON objects.
 */
export const readItems = (body: Buffer): readonly Members[] =>
  readElements(body, serverLimits.parts).map((item, index) =>
    readJson(item, `example ${index}`, (cursor) => cursor.readMembers()),
  );

/**
 * Reads the elements of a JSON list. Each is the JSON text as it was received.
 *
 * @throws RequestError 413: the list has more than `maxCount` elements. 422: the body is not a list.
 */
export const readElements = (body: Buffer, maxCount: number): readonly Buffer[] =>
  readJson(body, "the body", (cursor) => cursor.readItems(maxCount));

function readJson<Result>(
  body: Buffer,
  label: string,
  readWith: (cursor: JsonCursor) => Result,
): Result {
  try {
    if (!isUtf8(body)) {
      throw new Error("not UTF-8");
    }
    return readWith(new JsonCursor(body, serverLimits.exampleDepth));
  } catch (cause) {
    throw cause instanceof RequestError
      ? cause
      : new RequestError(422, `${label} is ${messageOf(cause)}`);
  }
}

/**
 * The members of an example that come from the path of the request, or from the name of a part of a multipart form.
 */
export interface ExampleContext {
  /** How error messages refer to the example. */
  readonly label: string;
  readonly id?: string;
  readonly datasetId?: string;
}

/** @throws RequestError 422: a member is missing or has the wrong type. */
export function parseExample(members: Members, context: ExampleContext): ReceivedExample {
  const { label } = context;
  const id = context.id ?? readId(members, "id", label);
  const datasetId = context.datasetId ?? readId(members, "dataset_id", label);
  if (datasetId === undefined) {
    throw new RequestError(422, `${label}: dataset_id is missing`);
  }
  const usesSourceRunIo = readValue(members, "use_source_run_io") === true;
  const inputs = readObjectText(members, "inputs", label) ?? null;
  const sourceRunId = readId(members, "source_run_id", label) ?? null;
  const runAttachments = readNames(members, "use_source_run_attachments", label);
  if (inputs === null && !usesSourceRunIo) {
    throw new RequestError(422, `${label}: inputs are missing`);
  }
  if (sourceRunId === null && (usesSourceRunIo || runAttachments.length > 0)) {
    throw new RequestError(422, `${label}: source_run_id is missing`);
  }
  const createdMicros = readTime(members, "created_at", label);
  const splits = parseSplits(readValue(members, "split"), `${label}: split`);
  return {
    useSourceRunIo: usesSourceRunIo,
    draft: {
      id: id ?? randomUUID(),
      hasGeneratedId: id === undefined,
      datasetId,
      sourceRunId,
      inputs: inputs ?? "{}",
      outputs: readObjectText(members, "outputs", label) ?? null,
      metadata: addSplits(readObjectText(members, "metadata", label) ?? null, splits),
      ...(createdMicros === null ? {} : { createdMicros }),
      ...(runAttachments.length === 0 ? {} : { runAttachments }),
    },
  };
}

/** @throws RequestError 422: a member is missing or has the wrong type. */
export function parseChange(
  members: Members,
  context: ExampleContext & { readonly id: string },
): ExampleChange {
  const { label, id } = context;
  const datasetId = readId(members, "dataset_id", label);
  const inputs = readObjectText(members, "inputs", label);
  const outputs = readObjectText(members, "outputs", label);
  const metadata = readObjectText(members, "metadata", label);
  const changedSplits = parseSplits(readValue(members, "split"), `${label}: split`);
  const separated = typeof metadata === "string" ? separateMetadata(metadata) : undefined;
  const splits = changedSplits ?? separated?.splits;
  const attachmentOperations = parseOperations(readValue(members, "attachments_operations"), label);
  // Null leaves the outputs unchanged, unless the request overwrites the example.
  const isOverwritten = readValue(members, "overwrite") === true;
  return {
    id,
    ...(datasetId !== undefined && { datasetId }),
    ...(typeof inputs === "string" && { inputs }),
    ...(outputs !== undefined && (outputs !== null || isOverwritten) && { outputs }),
    ...(separated !== undefined && { metadata: separated.otherMembers }),
    ...(splits !== undefined && { splits }),
    ...(attachmentOperations !== undefined && { attachmentOperations }),
  };
}

/**
 * Parses an item of a list of changes. The item contains the id of the example.
 *
 * @throws RequestError 422: a member is missing or has the wrong type.
 */
export function parseChangeItem(members: Members, index: number): ExampleChange {
  const id = readId(members, "id", `example ${index}`);
  if (id === undefined) {
    throw new RequestError(422, `example ${index}: id is missing`);
  }
  return parseChange(members, { label: `example ${id}`, id });
}

/** Parses the member `patch_examples` of a dataset update, which contains changes by example id. */
export const parsePatchedExamples = (
  changes: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): ExampleChange[] =>
  Object.entries(changes).map(([key, change]) => {
    const id = parseId(key, "patch_examples");
    const body = Buffer.from(JSON.stringify(change));
    return parseChange(readMembers(body, `example ${id}`), { label: `example ${id}`, id });
  });

const nullJson = "null";
const openBrace = 0x7b;

/** Returns the JSON text of a member that is an object; `null` if the member is null, `undefined` if it is absent. */
function readObjectText(members: Members, name: string, label: string): string | null | undefined {
  const json = members.get(name);
  if (json === undefined) {
    return undefined;
  }
  if (json[0] !== openBrace) {
    if (json.toString("latin1") === nullJson) {
      return null;
    }
    throw new RequestError(422, `${label}: ${name} must be a JSON object`);
  }
  return json.toString("utf8");
}

function readValue(members: Members, name: string): unknown {
  const json = members.get(name);
  return json === undefined ? undefined : JSON.parse(json.toString("utf8"));
}

function readId(members: Members, name: string, label: string): string | undefined {
  const value = readValue(members, name);
  return value === undefined || value === null ? undefined : parseId(value, `${label}: ${name}`);
}

function readTime(members: Members, name: string, label: string): number | null {
  const value = readValue(members, name);
  if (
    value !== undefined &&
    value !== null &&
    typeof value !== "string" &&
    typeof value !== "number"
  ) {
    throw new RequestError(422, `${label}: ${name} must be a time, ISO 8601 or epoch milliseconds`);
  }
  return parseOptionalTime(value, `${label}: ${name}`);
}

function readNames(members: Members, name: string, label: string): readonly string[] {
  const value = readValue(members, name) ?? [];
  if (!isListOfTexts(value)) {
    throw new RequestError(422, `${label}: ${name} must be a list of names`);
  }
  return value.map((item) => item.replace(/^attachment\./, ""));
}

function parseOperations(value: unknown, label: string): AttachmentOperations | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const { rename, retain } =
    typeof value === "object" ? { rename: {}, retain: undefined, ...value } : {};
  const isValidRename =
    typeof rename === "object" &&
    rename !== null &&
    Object.values(rename).every((name) => typeof name === "string");
  // Without `retain`, the client only renames files. To remove files, it must send a list that does not contain them.
  const isValidRetain = retain === undefined || isListOfTexts(retain);
  if (!isValidRename || !isValidRetain) {
    throw new RequestError(
      422,
      `${label}: attachments_operations must have rename, an object of names, and retain, a list of names`,
    );
  }
  return { rename, retain };
}

const isListOfTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
