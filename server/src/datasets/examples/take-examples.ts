import {
  parseChange,
  parseChangeItem,
  parseExample,
  readElements,
  readItems,
  readMembers,
} from "./example-body.ts";
import { parseExampleParts } from "./example-parts.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import type { ExampleChange, ExampleDraft, ExamplesWritten } from "./example.ts";
import { pack, unpack } from "./large-examples.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import { listedMembers, toExampleJson, toJsonList } from "./example-json.ts";
import { toIso } from "../../http/wire-text.ts";
import type {
  ExampleAnswerTask,
  ExamplesBody,
  ExamplesTask,
  RejectedRow,
  TakenExamples,
  TakenImport,
} from "./example-tasks.ts";

/** The examples of a body. @throws RequestError the body holds no examples. */
export function readExamples({ body, shape, datasetId }: ExamplesBody): readonly ReceivedExample[] {
  const scope = datasetId === undefined ? {} : { datasetId };
  switch (shape.kind) {
    case "one":
      return [parseExample(readMembers(body), { what: "the example", ...scope })];
    case "list":
      return readItems(body).map((members, index) =>
        parseExample(members, { what: `example ${index}`, ...scope }),
      );
    case "form":
      return parseExampleParts(body, shape.contentType).map(({ id, members, attachments }) => {
        const { draft, ...rest } = parseExample(members, { what: `example ${id}`, id, ...scope });
        return { ...rest, draft: { ...draft, attachments } };
      });
  }
}

/** The changes of a body. @throws RequestError the body holds no changes of examples. */
export function readChanges({ body, shape }: ExamplesBody): readonly ExampleChange[] {
  switch (shape.kind) {
    case "one": {
      const { id = "" } = shape;
      return [parseChange(readMembers(body), { what: `example ${id}`, id })];
    }
    case "list":
      return readItems(body).map(parseChangeItem);
    case "form":
      return parseExampleParts(body, shape.contentType).map(({ id, members, attachments }) => ({
        ...parseChange(members, { what: `example ${id}`, id }),
        attachments,
      }));
  }
}

/** A large body, taken apart: packed in parts, each of which is soon unpacked. */
export function takeExamples(task: ExamplesTask, body: Buffer): TakenExamples {
  const { operation, shape, datasetId } = task;
  const given = { body, shape, ...(datasetId !== undefined && { datasetId }) };
  if (operation === "update") {
    const changes = readChanges(given);
    const sizeOf = ({ inputs, outputs, metadata, attachments }: ExampleChange): number =>
      sizesOf([inputs, outputs, metadata]) + filesOf(attachments);
    return { parts: toParts(changes, sizeOf), count: changes.length, needsRun: false };
  }
  const received = readExamples(given);
  const parts = toParts(received, sizeOfReceived);
  return { parts, count: received.length, needsRun: received.some(needsRun) };
}

/** Those of a list of rows that are examples. @throws RequestError 422: it is no list; 413: they are too many. */
export function takeImport(datasetId: string, body: Buffer): TakenImport {
  const received: ReceivedExample[] = [];
  const rows: [string, number][] = [];
  const rejected: RejectedRow[] = [];
  for (const [index, json] of readElements(body, serverLimits.operationsMax).entries()) {
    try {
      const one = parseRow(json, datasetId);
      received.push(one);
      rows.push([one.draft.id, index]);
    } catch (cause) {
      if (!(cause instanceof RequestError)) {
        throw cause;
      }
      rejected.push({ index, reason: cause.message });
    }
  }
  return { parts: toParts(received, sizeOfReceived), rows, rejected };
}

/** Ids are made here: a file may be taken in twice. */
function parseRow(json: Buffer, datasetId: string): ReceivedExample {
  const members = new Map(readMembers(json, "the row"));
  for (const name of ["id", "dataset_id", "source_run_id", "use_source_run_io"]) {
    members.delete(name);
  }
  return parseExample(members, { what: "the row", datasetId });
}

const sizeOfReceived = ({ draft }: ReceivedExample): number =>
  sizesOf([draft.inputs, draft.outputs, draft.metadata]) + filesOf(draft.attachments);

/** Whether something of an example is to come from a run. */
export const needsRun = ({ draft, useSourceRunIo }: ReceivedExample): boolean =>
  useSourceRunIo || draft.runAttachments !== undefined;

const sizesOf = (texts: readonly (string | null | undefined)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

const filesOf = (files: ExampleDraft["attachments"] = []): number =>
  files.reduce((sum, { bytes }) => sum + bytes.length, 0);

function toParts<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
): readonly Packed<readonly Item[]>[] {
  const parts: Packed<readonly Item[]>[] = [];
  let part: Item[] = [];
  let size = 0;
  for (const item of items) {
    part.push(item);
    size += sizeOf(item);
    if (part.length === serverLimits.examplesPart || size >= serverLimits.examplesPartChars) {
      parts.push(pack(part));
      part = [];
      size = 0;
    }
  }
  return part.length === 0 ? parts : [...parts, pack(part)];
}

/** The answer to a large write. */
export function toAnswer({ form, parts, written }: ExampleAnswerTask): Buffer {
  const result = unpack(written);
  if (form === "list") {
    const drafts = parts.flatMap((part) => unpack(part as Packed<readonly ReceivedExample[]>));
    return toListJson(
      drafts.map(({ draft }) => draft),
      result,
    );
  }
  const ids = parts.flatMap((part: Packed<readonly (ReceivedExample | ExampleChange)[]>) =>
    unpack(part).map((item) => ("draft" in item ? item.draft : item).id),
  );
  const answer = form === "created" ? toCreated(ids, result) : toWritten(ids, result);
  return Buffer.from(JSON.stringify(answer));
}

/** The examples that were sent, as they are now. */
export function toListJson(
  drafts: readonly ExampleDraft[],
  { datasets, known }: ExamplesWritten,
): Buffer {
  const view = { select: listedMembers, link: () => "" };
  const toExample = (draft: ExampleDraft) => {
    const { name: datasetName = "", micros = 0 } = datasets[draft.datasetId] ?? {};
    const times = { createdMicros: draft.createdMicros ?? micros, modifiedMicros: micros };
    return { ...draft, datasetName, position: 0, attachments: [], ...times, ...known[draft.id] };
  };
  return toJsonList(drafts.map((draft) => toExampleJson(toExample(draft), view)));
}

/** What was written, and the version that has it. */
export function toWritten(
  ids: readonly string[],
  { datasets }: ExamplesWritten,
): Readonly<Record<string, unknown>> {
  const micros = Math.max(0, ...Object.values(datasets).map((dataset) => dataset.micros));
  return { count: ids.length, example_ids: ids, as_of: toIso(micros) };
}

/** Ours: a client that sends the same once more learns how much of it was there. */
export function toCreated(
  ids: readonly string[],
  written: ExamplesWritten,
): Readonly<Record<string, unknown>> {
  const made = new Set(ids.filter((id) => written.known[id] === undefined));
  return { ...toWritten(ids, written), existing_count: ids.length - made.size };
}
