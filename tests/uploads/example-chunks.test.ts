import { describe, expect, test } from "vitest";
import type { Call } from "../../src/api/http/http.ts";
import { ConflictError, HttpError } from "../../src/model/errors.ts";
import { ExampleChunks } from "../../src/uploads/example-chunks.ts";
import type { TapeRow } from "../../src/uploads/tape-rows.ts";

interface StoredExample {
  readonly id: string;
  readonly dataset_id: string;
  readonly inputs: { readonly n: number };
}

const datasetId = "01890a5d-ac96-774b-bcce-b302099a8057";

/** A server that refuses a request with an id that exists or repeats, or with a negative number. */
class StoreOfExamples {
  readonly examples = new Map<string, StoredExample>();
  readonly requests: string[] = [];

  readonly call: Call = (name, { body, query } = {}) => {
    this.requests.push(name);
    if (name === "listExamples") {
      const ids = (query as { readonly id: readonly string[] }).id;
      return Promise.resolve(ids.flatMap((id) => this.examples.get(id) ?? []));
    }
    if (name === "uploadExamples" && this.examples.size > 0) {
      const refusal = { action: "create examples", body: "{}", status: 409 };
      return Promise.reject(new ConflictError(refusal));
    }
    if (name !== "createExamples") {
      return Promise.resolve({});
    }
    const content = body?.content;
    if (!(content instanceof Uint8Array)) {
      throw new TypeError("examples are sent as one piece of JSON");
    }
    const examples = JSON.parse(Buffer.from(content).toString()) as readonly StoredExample[];
    const ids = new Set(examples.map(({ id }) => id));
    const refusal = { action: "create examples", body: "{}" };
    if (examples.some(({ inputs }) => inputs.n < 0)) {
      return Promise.reject(new HttpError({ ...refusal, status: 422 }));
    }
    if (ids.size < examples.length || examples.some(({ id }) => this.examples.has(id))) {
      return Promise.reject(new ConflictError({ ...refusal, status: 409 }));
    }
    examples.forEach((example) => this.examples.set(example.id, example));
    return Promise.resolve([]);
  };
}

const createRow = (id: number, n: number, index: number): TapeRow => ({
  record: index,
  row: index + 1,
  id: `01890a5d-ac96-774b-bcce-${String(id).padStart(12, "0")}`,
  members: [["inputs", Buffer.from(JSON.stringify({ n }))]],
  attachments: [],
});

const createAttachment = (name: string): TapeRow["attachments"][number] => ({
  name,
  mimeType: "text/plain",
  data: Buffer.from("content"),
});

/** Sends rows and returns the row numbers by outcome. */
async function send(store: StoreOfExamples, rows: readonly TapeRow[]) {
  const done: number[] = [];
  const rejected: number[] = [];
  let created = 0;
  await new ExampleChunks(store.call).send(rows, datasetId, {
    onDone: (doneRows, counts) => {
      done.push(...doneRows.map(({ row }) => row));
      created += counts.created;
    },
    onRejected: ({ row }) => void rejected.push(row),
  });
  return {
    done: done.toSorted((a, b) => a - b),
    rejected: rejected.toSorted((a, b) => a - b),
    created,
  };
}

test("a chunk in which one row is repeated a thousand times takes no request for each of them", async () => {
  const store = new StoreOfExamples();
  const rows = Array.from({ length: 1_000 }, (_, index) => createRow(index % 2, index % 2, index));
  expect(await send(store, rows)).toEqual({
    done: rows.map(({ row }) => row),
    rejected: [],
    created: 2,
  });
  expect(store.requests.length).toBeLessThan(5);
});

test("of rows with the same id, those that differ from the first one are rejected", async () => {
  const store = new StoreOfExamples();
  const rows = [createRow(1, 1, 0), createRow(2, 2, 1), createRow(1, 3, 2), createRow(1, 1, 3)];
  expect(await send(store, rows)).toEqual({ done: [1, 2, 4], rejected: [3], created: 2 });
});

test("of rows with the same id, the first one that the server accepts is created", async () => {
  const store = new StoreOfExamples();
  const rows = [createRow(1, -1, 0), createRow(1, 5, 1), createRow(1, 5, 2), createRow(2, 2, 3)];
  expect(await send(store, rows)).toEqual({ done: [2, 3, 4], rejected: [1], created: 2 });
});

const sourceRunId = "01890a5d-ac96-774b-bcce-b302099a8058";
const stored = {
  id: createRow(1, 1, 0).id,
  dataset_id: datasetId,
  inputs: { n: 1 },
  metadata: { team: "search", dataset_split: ["test", "train"] },
  source_run_id: sourceRunId,
  attachment_urls: { "attachment.notes": { presigned_url: "https://127.0.0.1/notes" } },
};
const splitJson = (splits: unknown): TapeRow["members"][number] => [
  "split",
  Buffer.from(JSON.stringify(splits)),
];
const metadataJson = (splits: unknown): TapeRow["members"][number] => [
  "metadata",
  Buffer.from(JSON.stringify({ dataset_split: splits })),
];
const sourceRunJson = (id: string): TapeRow["members"][number] => [
  "source_run_id",
  Buffer.from(JSON.stringify(id)),
];

describe("a row whose id exists already", () => {
  test.each<[string, Partial<TapeRow>]>([
    ["has no further members", {}],
    ["has the same splits", { members: [splitJson(["train", "test"])] }],
    ["has the same splits in its metadata", { members: [metadataJson(["train", "test"])] }],
    ["has the same source run", { members: [sourceRunJson(sourceRunId.toUpperCase())] }],
    ["has an attachment of the same name", { attachments: [createAttachment("notes")] }],
  ])("is skipped if it %s", async (_case, { members = [], attachments = [] }) => {
    const store = new StoreOfExamples();
    store.examples.set(stored.id, stored);
    const row = createRow(1, 1, 0);
    const fullRow = { ...row, members: [...row.members, ...members], attachments };
    expect(await send(store, [fullRow])).toEqual({ done: [1], rejected: [], created: 0 });
  });

  test.each<[string, Partial<TapeRow>]>([
    ["another split", { members: [splitJson("train")] }],
    ["another split in its metadata", { members: [metadataJson(["train"])] }],
    ["another source run", { members: [sourceRunJson(datasetId)] }],
    ["another attachment", { attachments: [createAttachment("photo")] }],
  ])("is rejected if it has %s", async (_case, { members = [], attachments = [] }) => {
    const store = new StoreOfExamples();
    store.examples.set(stored.id, stored);
    const row = createRow(1, 1, 0);
    const fullRow = { ...row, members: [...row.members, ...members], attachments };
    expect(await send(store, [fullRow])).toEqual({ done: [], rejected: [1], created: 0 });
  });

  test("is skipped if the server does not return what else it has", async () => {
    const store = new StoreOfExamples();
    const { id, dataset_id, inputs } = stored;
    store.examples.set(id, { id, dataset_id, inputs });
    const row = createRow(1, 1, 0);
    const fullRow = {
      ...row,
      members: [...row.members, splitJson("train"), sourceRunJson(sourceRunId)],
      attachments: [createAttachment("photo")],
    };
    expect(await send(store, [fullRow])).toEqual({ done: [1], rejected: [], created: 0 });
  });
});
