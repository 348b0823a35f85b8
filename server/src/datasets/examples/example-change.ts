import { isDeepStrictEqual } from "node:util";
import { appendSplits, readSplits, separateStoredMetadata } from "./splits.ts";
import { RequestError } from "../../model/errors.ts";
import type { Attachment, AttachmentOperations, ExampleChange, SplitChange } from "./example.ts";
import type { CurrentExample, NewExampleRow } from "./example-rows.ts";

interface ChangeInput {
  readonly example: CurrentExample;
  readonly change: ExampleChange;
  readonly tenantId: string;
}

type ChangedRow = Omit<NewExampleRow, "fromMicros">;

/**
 * Returns the row that an example has after a change, without the attachments that the change adds; `undefined` if
 * nothing changes. Writes nothing.
 */
export function createChangedRow({
  example,
  change,
  tenantId,
}: ChangeInput): ChangedRow | undefined {
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
    attachments: applyAttachmentOperations(example, change.attachmentOperations),
  };
  const files = change.attachments ?? [];
  if (files.length === 0 && isDeepStrictEqual({ ...example, ...row }, { ...example, tenantId })) {
    return undefined;
  }
  // A new attachment replaces an old one with the same name.
  const retained = row.attachments.filter((oldAttachment) =>
    files.every(({ name }) => name !== oldAttachment.name),
  );
  return { ...row, attachments: retained };
}

/** Replaces the metadata as a whole, but keeps the splits, which are stored in it, unless the change sets new ones. */
function changeMetadata({ metadata: oldMetadata }: CurrentExample, change: ExampleChange): string {
  const { metadata, splits } = change;
  if (metadata === undefined && splits === undefined) {
    return oldMetadata;
  }
  const stored = separateStoredMetadata(oldMetadata);
  return appendSplits(metadata ?? stored.otherMembers, splits ?? stored.splits ?? []);
}

/**
 * Renames and removes attachments.
 *
 * @throws RequestError 422: there is no attachment with one of the names, or two attachments would have the same name.
 */
function applyAttachmentOperations(
  { id, attachments }: CurrentExample,
  operations: AttachmentOperations | undefined,
): readonly Attachment[] {
  if (operations === undefined) {
    return attachments;
  }
  const { rename, retain } = operations;
  const renames = new Map(Object.entries(rename));
  const existing = new Set(attachments.map(({ name }) => name));
  const unknownNames = [...renames.keys(), ...(retain ?? [])].filter((name) => !existing.has(name));
  if (unknownNames.length > 0) {
    const names = unknownNames.slice(0, 10).map((name) => JSON.stringify(name));
    throw new RequestError(422, `example ${id} has no attachment ${names.join(", ")}`);
  }
  const retained = attachments.flatMap((file) => {
    const isRetained = retain?.includes(file.name) ?? true;
    const name = renames.get(file.name) ?? (isRetained ? file.name : undefined);
    return name === undefined ? [] : [{ ...file, name }];
  });
  if (new Set(retained.map(({ name }) => name)).size < retained.length) {
    throw new RequestError(422, `two attachments of example ${id} would have the same name`);
  }
  return retained;
}

/**
 * Creates the change that adds an example to a split or removes it from the split; an empty change if nothing changes.
 */
export function toSplitChange(
  id: string,
  example: CurrentExample | undefined,
  { name, isRemoval }: Omit<SplitChange, "exampleIds">,
): ExampleChange {
  const splits = example === undefined ? [] : readSplits(example.metadata);
  const otherSplits = splits.filter((split) => split !== name);
  if (otherSplits.length < splits.length !== isRemoval) {
    return { id };
  }
  return { id, splits: isRemoval ? otherSplits : [...splits, name] };
}
