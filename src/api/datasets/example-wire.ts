import { ValidationError } from "../../model/errors.ts";
import { definedOf } from "../../model/fields.ts";
import { assertUuid, checkId } from "../../model/ids.ts";
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
import { formBody } from "../http/form.ts";
import type { FormPart } from "../http/form.ts";
import type { CallOptions } from "../http/http.ts";
import { assertChange } from "../http/assert-change.ts";
import { toIsoTime } from "../http/iso-time.ts";
import { jsonType, toJson } from "../http/request.ts";
import type { RequestBody } from "../http/request.ts";

/** What an example may be given with: by itself, also its dataset and what ends the call. */
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

const inExample = { what: "An example", kind: "member", error: ValidationError } as const;

/** An example on its way: its JSON is made once, as its size decides which request it is in. */
export interface ExampleDraft {
  readonly id: string;
  /** Whether the id was made here, so that nothing else can have it. */
  readonly isOwnId: boolean;
  /** JSON object of all but ids, payloads and attachments. */
  readonly fields: string;
  /** JSON of inputs, outputs and what else is a part of its own. */
  readonly payloads: readonly (readonly [name: string, json: string])[];
  readonly attachments: NewAttachments;
  readonly sizeBytes: number;
}

/** @throws {@link ValidationError} a part of it is not what an example has. */
export function draftOf(example: NewExample, action: string): ExampleDraft {
  const { inputs, outputs, metadata, split, useSourceRunIo, attachments } = checkNew(example);
  const id = checkId(example.id, "example id");
  const fields = {
    metadata,
    split,
    source_run_id: example.sourceRunId,
    use_source_run_io: useSourceRunIo === true ? true : undefined,
    created_at: toIsoTime(example.createdAt, "createdAt"),
  };
  return finish(
    action,
    { id: id ?? createUuid7(), isOwnId: id === undefined },
    {
      fields,
      payloads: { inputs, outputs },
      attachments,
    },
  );
}

/** @throws {@link ValidationError} there is nothing to change, or a change that can't be made. */
export function changeOf({ id, ...changes }: ExampleUpdate, action: string): ExampleDraft {
  const { inputs, outputs, metadata, split, attachments } = checkChange({ id, ...changes });
  const { retainAttachments: retain, renameAttachments: rename } = changes;
  const operations = retain === undefined && rename === undefined ? undefined : { retain, rename };
  return finish(
    action,
    { id, isOwnId: false },
    {
      fields: { metadata, split },
      payloads: { inputs, outputs, attachments_operations: operations && definedOf(operations) },
      attachments,
    },
  );
}

interface DraftInit {
  readonly fields: KeyValues;
  readonly payloads: Readonly<Record<string, unknown>>;
  readonly attachments: NewAttachments | undefined;
}

/** About the bytes that a part's head takes, or what stands around a member. */
const frameBytes = 200;

function finish(
  action: string,
  name: Pick<ExampleDraft, "id" | "isOwnId">,
  { fields, payloads, attachments = {} }: DraftInit,
): ExampleDraft {
  const head = toJson(action, fields);
  let sizeBytes = Buffer.byteLength(head) + frameBytes;
  const texts: [string, string][] = [];
  for (const [key, value] of Object.entries(payloads)) {
    if (value !== undefined) {
      const json = objectJson(action, key, value);
      texts.push([key, json]);
      sizeBytes += Buffer.byteLength(json) + frameBytes;
    }
  }
  for (const { data } of Object.values(attachments)) {
    sizeBytes += sizeOf(data) + frameBytes;
  }
  return { ...name, fields: head, payloads: texts, attachments, sizeBytes };
}

/** A `toJSON` may answer anything. */
function objectJson(action: string, name: string, value: unknown): string {
  const json = toJson(action, value) as string | undefined;
  if (json?.startsWith("{") !== true) {
    throw new ValidationError(`Failed to ${action}: ${name} must be an object in JSON`);
  }
  return json;
}

/** As JSON: one, or a list of them; with the members that say which they are and where. */
export const jsonBodyOf = (
  drafts: ExampleDraft | readonly ExampleDraft[],
  ids: Readonly<Record<string, string>> = {},
): RequestBody => ({
  contentType: jsonType,
  content: Buffer.from(
    "id" in drafts
      ? jsonOf(drafts, ids)
      : `[${drafts.map((one) => jsonOf(one, { id: one.id, ...ids })).join(",")}]`,
  ),
});

function jsonOf(draft: ExampleDraft, ids: Readonly<Record<string, string>>): string {
  const members = [
    ...Object.entries(ids).map(([key, id]) => `"${key}":"${id}"`),
    ...draft.payloads.map(([key, json]) => `"${key}":${json}`),
    ...(draft.fields === "{}" ? [] : [draft.fields.slice(1, -1)]),
  ];
  return `{${members.join(",")}}`;
}

/**
 * As parts (docs/wire.md).
 *
 * @throws {@link ValidationError} the name of an attachment, or its type, can't stand in a header.
 */
export const formOf = (drafts: readonly ExampleDraft[]): RequestBody =>
  formBody(drafts.flatMap(partsOf));

function partsOf({ id, fields, payloads, attachments }: ExampleDraft): readonly FormPart[] {
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

export const hasAttachments = ({ attachments }: ExampleDraft): boolean =>
  Object.keys(attachments).length > 0;

const sizeOf = (data: Uint8Array | ArrayBuffer | Blob): number =>
  data instanceof Blob ? data.size : data.byteLength;

/** @throws {@link ValidationError} a part of it is not what a new example has. */
export function checkNew(example: NewExample): NewExample {
  assertObject(example, "An example");
  checkKeys<CreateExample>(example as CreateExample, exampleKeys, inExample);
  checkId(example.id, "example id");
  checkId(example.sourceRunId, "source run id");
  const isOfRun = example.useSourceRunIo === true && example.sourceRunId !== undefined;
  if (example.inputs === undefined && !isOfRun) {
    throw new ValidationError("An example needs inputs, or sourceRunId and useSourceRunIo");
  }
  checkContent(example);
  toIsoTime(example.createdAt, "createdAt");
  return example;
}

/** @throws {@link ValidationError} there is nothing to change, or a change that can't be made. */
export function checkChange(update: ExampleUpdate): ExampleUpdate {
  assertObject(update, "An update");
  checkKeys<ExampleUpdate & CallOptions>(update, changeKeys, inExample);
  const { id, ...changes } = update;
  assertUuid(id, "example id");
  assertChange(
    definedOf(changes),
    Object.keys(changeKeys).filter((name) => name !== "id" && name !== "signal"),
  );
  checkContent(changes);
  return update;
}

function checkContent(content: NewExample | ExampleChanges): void {
  for (const name of ["inputs", "outputs", "metadata", "attachments"] as const) {
    const value = content[name];
    if (value !== undefined) {
      assertObject(value, name);
    }
  }
  if (content.split !== undefined) {
    checkSplits([content.split].flat());
  }
  if (content.attachments !== undefined) {
    Object.entries(content.attachments).forEach(checkAttachment);
  }
}

function checkSplits(splits: readonly unknown[]): void {
  if (splits.length === 0 || splits.some((split) => typeof split !== "string" || split === "")) {
    throw new ValidationError("split must name at least one split, and none is empty");
  }
}

const attachmentKeys: KeyTable<NewAttachment> = { mimeType: true, data: true };

function checkAttachment([name, attachment]: readonly [string, unknown]): void {
  assertObject(attachment, "An attachment");
  checkKeys<NewAttachment>(attachment as NewAttachment, attachmentKeys, {
    ...inExample,
    what: `The attachment ${JSON.stringify(name)}`,
  });
  const data: unknown = Reflect.get(attachment, "data");
  const isData = data instanceof Uint8Array || data instanceof ArrayBuffer || data instanceof Blob;
  if (name === "" || !isData || typeof Reflect.get(attachment, "mimeType") !== "string") {
    throw new ValidationError("An attachment needs a name, a mimeType and data: bytes or a Blob");
  }
}

function assertObject(value: unknown, what: string): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ValidationError(`${what} must be an object`);
  }
}
