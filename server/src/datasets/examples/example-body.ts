import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { parseSplits, separateSplits, withSplits } from "./splits.ts";
import { messageOf, RequestError } from "../../model/errors.ts";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { microsOf } from "../../model/parse-time.ts";
import { serverLimits } from "../../model/options.ts";
import type { AttachmentOperations, ExampleChange } from "./example.ts";
import type { ReceivedExample } from "./large-examples.ts";
import { parseId } from "../../http/query-string.ts";

/** The members of an object, each the JSON text that was received. */
export type Members = ReadonlyMap<string, Buffer>;

/** The members of a body. @throws RequestError 422: it is no JSON object. */
export const readMembers = (body: Buffer, what = "the body"): Map<string, Buffer> =>
  read(body, what, (cursor) => cursor.readMembers());

/** @throws RequestError 422: it is no JSON object. */
export const assertObject = (body: Buffer, what: string): void =>
  read(body, what, (cursor) => {
    cursor.readWhole();
    if (body[0] !== openBrace && !body.toString("latin1").trimStart().startsWith("{")) {
      throw new Error("not JSON: expected an object");
    }
  });

/** The members of each object of a list. @throws RequestError 422: it is no list of JSON objects. */
export const readItems = (body: Buffer): readonly Members[] =>
  readElements(body, serverLimits.parts).map((item, index) =>
    read(item, `example ${index}`, (cursor) => cursor.readMembers()),
  );

/** The elements of a list, each the JSON text that was received. @throws RequestError 413: they are more; 422: it is no list. */
export const readElements = (body: Buffer, most: number): readonly Buffer[] =>
  read(body, "the body", (cursor) => cursor.readItems(most));

function read<Result>(body: Buffer, what: string, take: (cursor: JsonCursor) => Result): Result {
  try {
    if (!isUtf8(body)) {
      throw new Error("not UTF-8");
    }
    return take(new JsonCursor(body, serverLimits.exampleDepth));
  } catch (cause) {
    throw cause instanceof RequestError
      ? cause
      : new RequestError(422, `${what} is ${messageOf(cause)}`);
  }
}

/** What is known of an example from the path or the part, besides its members. */
export interface Given {
  /** What messages call it. */
  readonly what: string;
  readonly id?: string;
  readonly datasetId?: string;
}

/** @throws RequestError 422: a member is not what an example has. */
export function parseExample(members: Members, given: Given): ReceivedExample {
  const { what } = given;
  const id = given.id ?? idOf(members, "id", what);
  const datasetId = given.datasetId ?? idOf(members, "dataset_id", what);
  if (datasetId === undefined) {
    throw new RequestError(422, `${what}: dataset_id is missing`);
  }
  const useSourceRunIo = valueOf(members, "use_source_run_io") === true;
  const inputs = objectOf(members, "inputs", what) ?? null;
  const sourceRunId = idOf(members, "source_run_id", what) ?? null;
  const runAttachments = namesOf(members, "use_source_run_attachments", what);
  if (inputs === null && !useSourceRunIo) {
    throw new RequestError(422, `${what}: inputs are missing`);
  }
  if (sourceRunId === null && (useSourceRunIo || runAttachments.length > 0)) {
    throw new RequestError(422, `${what}: source_run_id is missing`);
  }
  const createdMicros = timeOf(members, "created_at", what);
  const splits = parseSplits(valueOf(members, "split"), `${what}: split`);
  return {
    useSourceRunIo,
    draft: {
      id: id ?? randomUUID(),
      isNew: id === undefined,
      datasetId,
      sourceRunId,
      inputs: inputs ?? "{}",
      outputs: objectOf(members, "outputs", what) ?? null,
      metadata: withSplits(objectOf(members, "metadata", what) ?? null, splits),
      ...(createdMicros === null ? {} : { createdMicros }),
      ...(runAttachments.length === 0 ? {} : { runAttachments }),
    },
  };
}

/** @throws RequestError 422: a member is not what an example has. */
export function parseChange(
  members: Members,
  given: Given & { readonly id: string },
): ExampleChange {
  const { what, id } = given;
  const datasetId = idOf(members, "dataset_id", what);
  const inputs = objectOf(members, "inputs", what);
  const outputs = objectOf(members, "outputs", what);
  const metadata = objectOf(members, "metadata", what);
  const named = parseSplits(valueOf(members, "split"), `${what}: split`);
  const separate = typeof metadata === "string" ? separateSplits(metadata) : undefined;
  const splits = named ?? separate?.splits;
  const operations = parseOperations(valueOf(members, "attachments_operations"), what);
  // Null says nothing, but where the example is overwritten.
  const mayClear = valueOf(members, "overwrite") === true;
  return {
    id,
    ...(datasetId !== undefined && { datasetId }),
    ...(typeof inputs === "string" && { inputs }),
    ...(outputs !== undefined && (outputs !== null || mayClear) && { outputs }),
    ...(separate !== undefined && { metadata: separate.rest }),
    ...(splits !== undefined && { splits }),
    ...(operations !== undefined && { operations }),
  };
}

/** A change in a list, with its id. @throws RequestError 422: a member is not what an example has. */
export function parseChangeItem(members: Members, index: number): ExampleChange {
  const id = idOf(members, "id", `example ${index}`);
  if (id === undefined) {
    throw new RequestError(422, `example ${index}: id is missing`);
  }
  return parseChange(members, { what: `example ${id}`, id });
}

/** `patch_examples`: changes by id. */
export const parsePatchedExamples = (
  changes: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): ExampleChange[] =>
  Object.entries(changes).map(([key, change]) => {
    const id = parseId(key, "patch_examples");
    const body = Buffer.from(JSON.stringify(change));
    return parseChange(readMembers(body, `example ${id}`), { what: `example ${id}`, id });
  });

const nullJson = "null";
const openBrace = 0x7b;

/** The text of an object; `null` and `undefined` as received. */
function objectOf(members: Members, name: string, what: string): string | null | undefined {
  const json = members.get(name);
  if (json === undefined) {
    return undefined;
  }
  if (json[0] !== openBrace) {
    if (json.toString("latin1") === nullJson) {
      return null;
    }
    throw new RequestError(422, `${what}: ${name} is a JSON object`);
  }
  return json.toString("utf8");
}

function valueOf(members: Members, name: string): unknown {
  const json = members.get(name);
  return json === undefined ? undefined : JSON.parse(json.toString("utf8"));
}

function idOf(members: Members, name: string, what: string): string | undefined {
  const value = valueOf(members, name);
  return value === undefined || value === null ? undefined : parseId(value, `${what}: ${name}`);
}

function timeOf(members: Members, name: string, what: string): number | null {
  const value = valueOf(members, name);
  if (
    value !== undefined &&
    value !== null &&
    typeof value !== "string" &&
    typeof value !== "number"
  ) {
    throw new RequestError(422, `${what}: ${name} must be a time, ISO 8601 or epoch milliseconds`);
  }
  return microsOf(value, `${what}: ${name}`);
}

function namesOf(members: Members, name: string, what: string): readonly string[] {
  const value = valueOf(members, name) ?? [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw new RequestError(422, `${what}: ${name} is a list of names`);
  }
  return value.map((one) => one.replace(/^attachment\./, ""));
}

function parseOperations(value: unknown, what: string): AttachmentOperations | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const { rename, retain } = typeof value === "object" ? { rename: {}, retain: [], ...value } : {};
  const isRename =
    typeof rename === "object" && Object.values(rename).every((name) => typeof name === "string");
  if (!isRename || !Array.isArray(retain) || !retain.every((name) => typeof name === "string")) {
    throw new RequestError(
      422,
      `${what}: attachments_operations has rename, an object of names, and retain, a list of names`,
    );
  }
  return { rename, retain };
}
