import { isDeepStrictEqual } from "node:util";
import { joinSplits, separateStored } from "./splits.ts";
import { RequestError } from "../../model/errors.ts";
import type { Attachment, AttachmentOperations, ExampleChange } from "./example.ts";
import type { CurrentExample, NewRow } from "./example-rows.ts";

interface Change {
  readonly example: CurrentExample;
  readonly change: ExampleChange;
  readonly tenantId: string;
}

type ChangedRow = Omit<NewRow, "fromMicros">;

/**
 * Computes the example's new row without its new files; `undefined` if nothing changes. Writes nothing.
 */
export function planChange({ example, change, tenantId }: Change): ChangedRow | undefined {
  const row = {
    id: example.id,
    tenantId,
    datasetId: change.datasetId ?? example.datasetId,
    position: example.position,
    createdMicros: example.createdMicros,
    sourceRunId: example.sourceRunId,
    inputs: change.inputs ?? example.inputs,
    outputs: change.outputs === undefined ? example.outputs : change.outputs,
    metadata: changeMetadata(example, change),
    attachments: applyOperations(example, change.operations),
  };
  const files = change.attachments ?? [];
  if (files.length === 0 && isDeepStrictEqual({ ...example, ...row }, { ...example, tenantId })) {
    return undefined;
  }
  // A new file replaces an attachment of the same name.
  const retained = row.attachments.filter((old) => files.every(({ name }) => name !== old.name));
  return { ...row, attachments: retained };
}

/** Metadata is replaced as a whole; the splits stay if the change does not name any. */
function changeMetadata({ metadata: old }: CurrentExample, change: ExampleChange): string {
  const { metadata, splits } = change;
  if (metadata === undefined && splits === undefined) {
    return old;
  }
  const stored = separateStored(old);
  return joinSplits(metadata ?? stored.rest, splits ?? stored.splits ?? []);
}

/**
 * Renames and removes attachments.
 *
 * @throws RequestError 422: no attachment has a given name, or two would have the same name.
 */
function applyOperations(
  { id, attachments }: CurrentExample,
  operations: AttachmentOperations | undefined,
): readonly Attachment[] {
  if (operations === undefined) {
    return attachments;
  }
  const { rename, retain } = operations;
  const renames = new Map(Object.entries(rename));
  const existing = new Set(attachments.map(({ name }) => name));
  const unknown = [...renames.keys(), ...retain].filter((name) => !existing.has(name));
  if (unknown.length > 0) {
    const names = unknown.slice(0, 10).map((name) => JSON.stringify(name));
    throw new RequestError(422, `example ${id} has no attachment ${names.join(", ")}`);
  }
  const retained = attachments.flatMap((file) => {
    const name = renames.get(file.name) ?? (retain.includes(file.name) ? file.name : undefined);
    return name === undefined ? [] : [{ ...file, name }];
  });
  if (new Set(retained.map(({ name }) => name)).size < retained.length) {
    throw new RequestError(422, `two attachments of example ${id} would have the same name`);
  }
  return retained;
}
