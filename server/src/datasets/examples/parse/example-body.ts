import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { parseSplits, separateSplits, withSplits } from "../splits.ts";
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
 * Reads the members of a body.
 *
 * @throws RequestError 422: it is not a JSON object.
 */
export const readMembers = (body: Buffer, label = "the body"): Map<string, Buffer> =>
  read(body, label, (cursor) => cursor.readMembers());

/** @throws RequestError 422: `body` is not a JSON object. */
export const assertObject = (body: Buffer, label: string): void =>
  read(body, label, (cursor) => {
    cursor.readWhole();
    if (body[0] !== openBrace && !body.toString("latin1").trimStart().startsWith("{")) {
      throw new Error("not JSON: expected an object");
    }
  });

/**
 * Reads the members of each object of a list.
 *
 * @throws RequestError 422: it is not a list of JSON objects.
 */
export const readItems = (body: Buffer): readonly Members[] =>
  readElements(body, serverLimits.parts).map((item, index) =>
    read(item, `example ${index}`, (cursor) => cursor.readMembers()),
  );

/**
 * Reads the elements of a list; each is the JSON text as it was received.
 *
 * @throws RequestError 413: there are more than `maxCount`. 422: it is not a list.
 */
export const readElements = (body: Buffer, maxCount: number): readonly Buffer[] =>
  read(body, "the body", (cursor) => cursor.readItems(maxCount));

function read<Result>(
  body: Buffer,
  label: string,
  readValue: (cursor: JsonCursor) => Result,
): Result {
  try {
    if (!isUtf8(body)) {
      throw new Error("not UTF-8");
    }
    return readValue(new JsonCursor(body, serverLimits.exampleDepth));
  } catch (cause) {
    throw cause instanceof RequestError
      ? cause
      : new RequestError(422, `${label} is ${messageOf(cause)}`);
  }
}

/**
 * What is known about an example from the path, or from the name of its multipart part, before its members are parsed.
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
  const id = context.id ?? idOf(members, "id", label);
  const datasetId = context.datasetId ?? idOf(members, "dataset_id", label);
  if (datasetId === undefined) {
    throw new RequestError(422, `${label}: dataset_id is missing`);
  }
  const useSourceRunIo = valueOf(members, "use_source_run_io") === true;
  const inputs = objectOf(members, "inputs", label) ?? null;
  const sourceRunId = idOf(members, "source_run_id", label) ?? null;
  const runAttachments = namesOf(members, "use_source_run_attachments", label);
  if (inputs === null && !useSourceRunIo) {
    throw new RequestError(422, `${label}: inputs are missing`);
  }
  if (sourceRunId === null && (useSourceRunIo || runAttachments.length > 0)) {
    throw new RequestError(422, `${label}: source_run_id is missing`);
  }
  const createdMicros = timeOf(members, "created_at", label);
  const splits = parseSplits(valueOf(members, "split"), `${label}: split`);
  return {
    useSourceRunIo,
    draft: {
      id: id ?? randomUUID(),
      isNew: id === undefined,
      datasetId,
      sourceRunId,
      inputs: inputs ?? "{}",
      outputs: objectOf(members, "outputs", label) ?? null,
      metadata: withSplits(objectOf(members, "metadata", label) ?? null, splits),
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
  const datasetId = idOf(members, "dataset_id", label);
  const inputs = objectOf(members, "inputs", label);
  const outputs = objectOf(members, "outputs", label);
  const metadata = objectOf(members, "metadata", label);
  const changedSplits = parseSplits(valueOf(members, "split"), `${label}: split`);
  const separated = typeof metadata === "string" ? separateSplits(metadata) : undefined;
  const splits = changedSplits ?? separated?.splits;
  const operations = parseOperations(valueOf(members, "attachments_operations"), label);
  // Null leaves the outputs unchanged, unless the request overwrites the example.
  const mayClear = valueOf(members, "overwrite") === true;
  return {
    id,
    ...(datasetId !== undefined && { datasetId }),
    ...(typeof inputs === "string" && { inputs }),
    ...(outputs !== undefined && (outputs !== null || mayClear) && { outputs }),
    ...(separated !== undefined && { metadata: separated.rest }),
    ...(splits !== undefined && { splits }),
    ...(operations !== undefined && { operations }),
  };
}

/**
 * Parses a change in a list, where the change contains its id.
 *
 * @throws RequestError 422: a member is missing or has the wrong type.
 */
export function parseChangeItem(members: Members, index: number): ExampleChange {
  const id = idOf(members, "id", `example ${index}`);
  if (id === undefined) {
    throw new RequestError(422, `example ${index}: id is missing`);
  }
  return parseChange(members, { label: `example ${id}`, id });
}

/** Parses `patch_examples`, an object of changes by example id. */
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

/** The JSON text of an object member; `null` if the member is null, `undefined` if it is absent. */
function objectOf(members: Members, name: string, label: string): string | null | undefined {
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

function valueOf(members: Members, name: string): unknown {
  const json = members.get(name);
  return json === undefined ? undefined : JSON.parse(json.toString("utf8"));
}

function idOf(members: Members, name: string, label: string): string | undefined {
  const value = valueOf(members, name);
  return value === undefined || value === null ? undefined : parseId(value, `${label}: ${name}`);
}

function timeOf(members: Members, name: string, label: string): number | null {
  const value = valueOf(members, name);
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

function namesOf(members: Members, name: string, label: string): readonly string[] {
  const value = valueOf(members, name) ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
    throw new RequestError(422, `${label}: ${name} must be a list of names`);
  }
  return value.map((item) => item.replace(/^attachment\./, ""));
}

function parseOperations(value: unknown, label: string): AttachmentOperations | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const { rename, retain } = typeof value === "object" ? { rename: {}, retain: [], ...value } : {};
  const isRename =
    typeof rename === "object" && Object.values(rename).every((name) => typeof name === "string");
  if (!isRename || !Array.isArray(retain) || !retain.every((name) => typeof name === "string")) {
    throw new RequestError(
      422,
      `${label}: attachments_operations must have rename, an object of names, and retain, a list of names`,
    );
  }
  return { rename, retain };
}
