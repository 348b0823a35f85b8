import {
  parseChange,
  parseChangeItem,
  parseExample,
  readElements,
  readItems,
  readMembers,
} from "./example-body.ts";
import { parseExampleParts } from "./example-parts.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { ExampleChange, ExampleDraft, ExampleWriteResult } from "../example.ts";
import { pack, unpack } from "../large-examples.ts";
import type { Packed, ReceivedExample } from "../large-examples.ts";
import { listedMembers, toExampleJson, toJsonList } from "../example-json.ts";
import { toIso } from "../../../http/wire-text.ts";
import type {
  ExampleResponseTask,
  ExamplesBody,
  ExamplesTask,
  RejectedRow,
  ParsedExamples,
  ParsedImport,
} from "../example-tasks.ts";

/**
 * Parses the examples in a request body.
 *
 * @throws RequestError if the body does not contain valid examples.
 */
export function readExamples({
  body,
  format,
  datasetId,
}: ExamplesBody): readonly ReceivedExample[] {
  const scope = datasetId === undefined ? {} : { datasetId };
  switch (format.kind) {
    case "one":
      return [parseExample(readMembers(body), { label: "the example", ...scope })];
    case "list":
      return readItems(body).map((members, index) =>
        parseExample(members, { label: `example ${index}`, ...scope }),
      );
    case "form":
      return parseExampleParts(body, format.contentType).map(({ id, members, attachments }) => {
        const { draft, ...received } = parseExample(members, {
          label: `example ${id}`,
          id,
          ...scope,
        });
        return { ...received, draft: { ...draft, attachments } };
      });
  }
}

/**
 * Parses the changes to examples in a request body.
 *
 * @throws RequestError if the body does not contain valid changes.
 */
export function readChanges({ body, format }: ExamplesBody): readonly ExampleChange[] {
  switch (format.kind) {
    case "one": {
      const { id = "" } = format;
      return [parseChange(readMembers(body), { label: `example ${id}`, id })];
    }
    case "list":
      return readItems(body).map(parseChangeItem);
    case "form":
      return parseExampleParts(body, format.contentType).map(({ id, members, attachments }) => ({
        ...parseChange(members, { label: `example ${id}`, id }),
        attachments,
      }));
  }
}

/**
 * Parses a large body into parts that are serialized for the writer thread. Each part is small enough to be written
 * without blocking other writes for long.
 */
export function parseExamplesTask(task: ExamplesTask, body: Buffer): ParsedExamples {
  const { operation, format, datasetId } = task;
  const parsedBody = { body, format, ...(datasetId !== undefined && { datasetId }) };
  if (operation === "update") {
    const changes = readChanges(parsedBody);
    const measureChange = ({ inputs, outputs, metadata, attachments }: ExampleChange): number =>
      countChars([inputs, outputs, metadata]) + countFileBytes(attachments);
    return {
      parts: packInParts(changes, measureChange),
      count: changes.length,
      needsSourceRun: false,
    };
  }
  const received = readExamples(parsedBody);
  const parts = packInParts(received, measureExample);
  return { parts, count: received.length, needsSourceRun: received.some(needsRun) };
}

/**
 * Parses the rows of an import, and rejects those that are not valid examples.
 *
 * @throws RequestError 413: the import has too many rows. 422: it is not a list.
 */
export function parseImport(datasetId: string, body: Buffer): ParsedImport {
  const received: ReceivedExample[] = [];
  const rowIndexes: [string, number][] = [];
  const rejected: RejectedRow[] = [];
  for (const [index, json] of readElements(body, serverLimits.operationsMax).entries()) {
    try {
      const example = parseRow(json, datasetId);
      received.push(example);
      rowIndexes.push([example.draft.id, index]);
    } catch (cause) {
      if (!(cause instanceof RequestError)) {
        throw cause;
      }
      rejected.push({ index, reason: cause.message });
    }
  }
  return { parts: packInParts(received, measureExample), rowIndexes, rejected };
}

/** Parses a row of an import. Ignores its ids, so that importing a file twice creates new examples twice. */
function parseRow(json: Buffer, datasetId: string): ReceivedExample {
  const members = new Map(readMembers(json, "the row"));
  for (const name of ["id", "dataset_id", "source_run_id", "use_source_run_io"]) {
    members.delete(name);
  }
  return parseExample(members, { label: "the row", datasetId });
}

const measureExample = ({ draft }: ReceivedExample): number =>
  countChars([draft.inputs, draft.outputs, draft.metadata]) + countFileBytes(draft.attachments);

/** Whether inputs, outputs or attachments of the example must be copied from its source run. */
export const needsRun = ({ draft, useSourceRunIo }: ReceivedExample): boolean =>
  useSourceRunIo || draft.runAttachments !== undefined;

const countChars = (texts: readonly (string | null | undefined)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

const countFileBytes = (files: ExampleDraft["attachments"] = []): number =>
  files.reduce((sum, { bytes }) => sum + bytes.length, 0);

function packInParts<Item>(
  items: readonly Item[],
  measure: (item: Item) => number,
): readonly Packed<readonly Item[]>[] {
  const parts: Packed<readonly Item[]>[] = [];
  let part: Item[] = [];
  let size = 0;
  for (const item of items) {
    part.push(item);
    size += measure(item);
    if (part.length === serverLimits.examplesPart || size >= serverLimits.examplesPartChars) {
      parts.push(pack(part));
      part = [];
      size = 0;
    }
  }
  return part.length === 0 ? parts : [...parts, pack(part)];
}

/** Serializes the response to a write of many examples. */
export function serializeResponse({
  responseForm,
  parts,
  packedResult,
}: ExampleResponseTask): Buffer {
  const result = unpack(packedResult);
  if (responseForm === "list") {
    const drafts = parts.flatMap((part) => unpack(part as Packed<readonly ReceivedExample[]>));
    return toListJson(
      drafts.map(({ draft }) => draft),
      result,
    );
  }
  const ids = parts.flatMap((part: Packed<readonly (ReceivedExample | ExampleChange)[]>) =>
    unpack(part).map((item) => ("draft" in item ? item.draft : item).id),
  );
  const response =
    responseForm === "created" ? toCreatedJson(ids, result) : toWrittenJson(ids, result);
  return Buffer.from(JSON.stringify(response));
}

/** Serializes the examples of a request as they are stored after the write. */
export function toListJson(
  drafts: readonly ExampleDraft[],
  { datasets, existingTimes }: ExampleWriteResult,
): Buffer {
  const view = { select: listedMembers, createAttachmentUrl: () => "" };
  const toExample = (draft: ExampleDraft) => {
    const { name: datasetName = "", micros = 0 } = datasets[draft.datasetId] ?? {};
    const times = { createdMicros: draft.createdMicros ?? micros, modifiedMicros: micros };
    return {
      ...draft,
      datasetName,
      position: 0,
      attachments: [],
      ...times,
      ...existingTimes[draft.id],
    };
  };
  return toJsonList(drafts.map((draft) => toExampleJson(toExample(draft), view)));
}

/** Serializes the ids of written examples, and the time of the version that contains them. */
export function toWrittenJson(
  ids: readonly string[],
  { datasets }: ExampleWriteResult,
): Readonly<Record<string, unknown>> {
  const micros = Math.max(0, ...Object.values(datasets).map((dataset) => dataset.micros));
  return { count: ids.length, example_ids: ids, as_of: toIso(micros) };
}

/**
 * Like {@link toWrittenJson}, with the number of examples that already existed, for a client that repeats a request.
 * The LangSmith API does not have the member `existing_count`.
 */
export function toCreatedJson(
  ids: readonly string[],
  written: ExampleWriteResult,
): Readonly<Record<string, unknown>> {
  const created = new Set(ids.filter((id) => written.existingTimes[id] === undefined));
  return { ...toWrittenJson(ids, written), existing_count: ids.length - created.size };
}
