import { ValidationError } from "../../model/errors.ts";
import { omitUndefined } from "../../model/fields.ts";
import { assertUuid, validateId } from "../../model/ids.ts";
import type { KeyValues } from "../../model/run.ts";
import { checkKeys } from "../../model/unknown-keys.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { createUuid7 } from "../../model/uuid7.ts";
import type {
  CreateExample,
  ExampleChanges,
  ExampleUpdate,
  NewAttachment,
  NewAttachments,
  NewExample,
} from "./example-options.ts";
import { texts } from "../http/argument-checks.ts";
import { createFormBody } from "../http/form.ts";
import type { FormPart } from "../http/form.ts";
import type { CallOptions } from "../http/http.ts";
import { assertChange } from "../http/assert-change.ts";
import { toIsoTime } from "../http/iso-time.ts";
import { jsonType, toJson } from "../http/request.ts";
import type { RequestBody } from "../http/request.ts";

/** The keys that a new example may have, including the options of the call that creates it. */
export const exampleKeys: KeyTable<CreateExample> = {
  id: true,
  inputs: true,
  outputs: true,
  metadata: true,
  split: true,
  sourceRunId: true,
  useSourceRunIo: true,
  createdAt: true,
  attachments: true,
  datasetId: true,
  datasetName: true,
  signal: true,
};

const changeKeys: KeyTable<ExampleUpdate & CallOptions> = {
  id: true,
  inputs: true,
  outputs: true,
  metadata: true,
  split: true,
  attachments: true,
  retainAttachments: true,
  renameAttachments: true,
  signal: true,
};

const exampleKeyCheck = { subject: "An example", kind: "member", error: ValidationError } as const;

/**
 * An example that is serialized for sending. The JSON is created before the examples are divided into requests, because
 * the division depends on the size of the JSON.
 */
export interface ExampleDraft {
  readonly id: string;
  /** Whether the client generated the id, so that no other example can have it. */
  readonly isGeneratedId: boolean;
  /** A JSON object with all fields except ids, payloads and attachments. */
  readonly fields: string;
  /** The JSON of the inputs, the outputs and other members that are sent as separate parts of a multipart request. */
  readonly payloads: readonly (readonly [name: string, json: string])[];
  readonly attachments: NewAttachments;
  /**
   * New names of attachments, by their old names, if all other attachments are to be kept. Servers may delete the
   * attachments that a request does not name, so the client must look up their names before it sends the request.
   */
  readonly renamesOnly?: Readonly<Record<string, string>> | undefined;
  readonly sizeBytes: number;
}

/** @throws {@link ValidationError} if the example has an unknown key or an invalid value. */
export function createDraft(example: NewExample, action: string): ExampleDraft {
  const { inputs, outputs, metadata, split, useSourceRunIo, attachments } =
    validateNewExample(example);
  const id = validateId(example.id, "example id");
  const fields = {
    metadata,
    split,
    source_run_id: example.sourceRunId,
    use_source_run_io: useSourceRunIo === true ? true : undefined,
    created_at: toIsoTime(example.createdAt, "createdAt"),
  };
  return serializeDraft(
    action,
    { id: id ?? createUuid7(), isGeneratedId: id === undefined },
    {
      fields,
      payloads: { inputs, outputs },
      attachments,
    },
  );
}

/** @throws {@link ValidationError} if the update has no changes, an unknown key or an invalid value. */
export function createChangeDraft({ id, ...changes }: ExampleUpdate, action: string): ExampleDraft {
  const { inputs, outputs, metadata, split, attachments } = validateUpdate({ id, ...changes });
  const { retainAttachments: retain, renameAttachments: rename } = changes;
  const operations = retain === undefined ? undefined : omitUndefined({ retain, rename });
  const draft = serializeDraft(
    action,
    { id, isGeneratedId: false },
    {
      fields: { metadata, split },
      payloads: { inputs, outputs, attachments_operations: operations },
      attachments,
    },
  );
  return retain === undefined ? { ...draft, ...omitUndefined({ renamesOnly: rename }) } : draft;
}

/**
 * Completes a draft with `renamesOnly`: adds the names of the attachments to keep, which are all that it does not
 * rename.
 */
export function retainOthers(draft: ExampleDraft, existingNames: readonly string[]): ExampleDraft {
  const { renamesOnly: rename = {}, payloads } = draft;
  const retain = existingNames.filter((name) => !Object.hasOwn(rename, name));
  const operations = toJson("update example", { retain, rename });
  return { ...draft, payloads: [...payloads, ["attachments_operations", operations]] };
}

/** The parts of an example from which a draft is serialized. */
interface DraftInit {
  readonly fields: KeyValues;
  readonly payloads: Readonly<Record<string, unknown>>;
  readonly attachments: NewAttachments | undefined;
}

/**
 * Approximate size in bytes of the headers of a part in a multipart body, or of the key and punctuation of a JSON
 * member.
 */
const overheadBytes = 200;

function serializeDraft(
  action: string,
  identity: Pick<ExampleDraft, "id" | "isGeneratedId">,
  { fields, payloads, attachments = {} }: DraftInit,
): ExampleDraft {
  const fieldsJson = toJson(action, fields);
  let sizeBytes = Buffer.byteLength(fieldsJson) + overheadBytes;
  const payloadTexts: [string, string][] = [];
  for (const [key, value] of Object.entries(payloads)) {
    if (value !== undefined) {
      const json = serializeObject(action, key, value);
      payloadTexts.push([key, json]);
      sizeBytes += Buffer.byteLength(json) + overheadBytes;
    }
  }
  for (const { data } of Object.values(attachments)) {
    sizeBytes += measureData(data) + overheadBytes;
  }
  return { ...identity, fields: fieldsJson, payloads: payloadTexts, attachments, sizeBytes };
}

/** Serializes a value and checks that the result is a JSON object: a `toJSON` method may return something else. */
function serializeObject(action: string, name: string, value: unknown): string {
  const json = toJson(action, value) as string | undefined;
  if (json?.startsWith("{") !== true) {
    throw new ValidationError(`Failed to ${action}: ${name} must serialize to a JSON object`);
  }
  return json;
}

/**
 * Creates a JSON body with one example or a list of them. The members of `idMembers`, such as the id of the dataset,
 * are added to each example.
 */
export const createJsonBody = (
  drafts: ExampleDraft | readonly ExampleDraft[],
  idMembers: Readonly<Record<string, string>> = {},
): RequestBody => ({
  contentType: jsonType,
  content: Buffer.from(
    "id" in drafts
      ? serializeExample(drafts, idMembers)
      : `[${drafts.map((draft) => serializeExample(draft, { id: draft.id, ...idMembers })).join(",")}]`,
  ),
});

function serializeExample(draft: ExampleDraft, ids: Readonly<Record<string, string>>): string {
  const members = [
    ...Object.entries(ids).map(([key, id]) => `"${key}":"${id}"`),
    ...draft.payloads.map(([key, json]) => `"${key}":${json}`),
    ...(draft.fields === "{}" ? [] : [draft.fields.slice(1, -1)]),
  ];
  return `{${members.join(",")}}`;
}

/**
 * Creates a multipart body (docs/wire.md).
 *
 * @throws {@link ValidationError} if the name or the MIME type of an attachment can't be written in a header.
 */
export const createForm = (drafts: readonly ExampleDraft[]): RequestBody =>
  createFormBody(drafts.flatMap(createParts));

function createParts({ id, fields, payloads, attachments }: ExampleDraft): readonly FormPart[] {
  return [
    { name: id, type: jsonType, content: fields },
    ...payloads.map(([key, json]) => ({ name: `${id}.${key}`, type: jsonType, content: json })),
    ...Object.entries(attachments).map(([name, { mimeType, data }]) => ({
      name: `${id}.attachment.${name}`,
      fileName: name,
      type: mimeType,
      content: data instanceof ArrayBuffer ? new Uint8Array(data) : data,
    })),
  ];
}

/** Whether an example has attachments. */
export const hasAttachments = ({ attachments }: ExampleDraft): boolean =>
  Object.keys(attachments).length > 0;

const measureData = (data: Uint8Array | ArrayBuffer | Blob): number =>
  data instanceof Blob ? data.size : data.byteLength;

/** @throws {@link ValidationError} if the example has an unknown key or an invalid value. */
export function validateNewExample(example: NewExample): NewExample {
  assertObject(example, "An example");
  checkKeys<CreateExample>(example as CreateExample, exampleKeys, exampleKeyCheck);
  validateId(example.id, "example id");
  validateId(example.sourceRunId, "source run id");
  const usesSourceRun = example.useSourceRunIo === true && example.sourceRunId !== undefined;
  if (example.inputs === undefined && !usesSourceRun) {
    throw new ValidationError("An example needs inputs, or sourceRunId and useSourceRunIo");
  }
  validateContent(example);
  toIsoTime(example.createdAt, "createdAt");
  return example;
}

/** @throws {@link ValidationError} if the update has no changes, an unknown key or an invalid value. */
export function validateUpdate(update: ExampleUpdate): ExampleUpdate {
  assertObject(update, "An update");
  checkKeys<ExampleUpdate & CallOptions>(update, changeKeys, exampleKeyCheck);
  const { id, ...changes } = update;
  assertUuid(id, "example id");
  assertChange(
    omitUndefined(changes),
    Object.keys(changeKeys).filter((name) => name !== "id" && name !== "signal"),
  );
  validateContent(changes);
  validateRetained(changes.retainAttachments);
  if (changes.renameAttachments !== undefined) {
    assertObject(changes.renameAttachments, "renameAttachments");
  }
  return update;
}

function validateRetained(retained: unknown): void {
  const problem = retained === undefined ? undefined : texts(retained);
  if (problem !== undefined) {
    throw new ValidationError(`retainAttachments ${problem}`);
  }
}

function validateContent(content: NewExample | ExampleChanges): void {
  for (const name of ["inputs", "outputs", "metadata", "attachments"] as const) {
    const value = content[name];
    if (value !== undefined) {
      assertObject(value, name);
    }
  }
  if (content.split !== undefined) {
    validateSplits([content.split].flat());
  }
  if (content.attachments !== undefined) {
    Object.entries(content.attachments).forEach(validateAttachment);
  }
}

function validateSplits(splits: readonly unknown[]): void {
  if (splits.length === 0 || splits.some((split) => typeof split !== "string" || split === "")) {
    throw new ValidationError("split must contain at least one name, and no name may be empty");
  }
}

const attachmentKeys: KeyTable<NewAttachment> = { mimeType: true, data: true };

function validateAttachment([name, attachment]: readonly [string, unknown]): void {
  assertObject(attachment, "An attachment");
  checkKeys<NewAttachment>(attachment as NewAttachment, attachmentKeys, {
    ...exampleKeyCheck,
    subject: `The attachment ${JSON.stringify(name)}`,
  });
  const data: unknown = Reflect.get(attachment, "data");
  const isData = data instanceof Uint8Array || data instanceof ArrayBuffer || data instanceof Blob;
  if (name === "" || !isData || typeof Reflect.get(attachment, "mimeType") !== "string") {
    throw new ValidationError("An attachment needs a name, a mimeType and data: bytes or a Blob");
  }
}

function assertObject(value: unknown, subject: string): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ValidationError(`${subject} must be an object`);
  }
}
