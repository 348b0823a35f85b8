import { randomUUID } from "node:crypto";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Dataset } from "../../src/model/resources/dataset.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import type { DatasetResources } from "../support/dataset-resources.ts";

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
});
afterAll(() => server.close());

const resources = (): DatasetResources => createDatasetResources(server.url);
const newDataset = ({ datasets }: DatasetResources): Promise<Dataset> =>
  datasets.create({ name: `d ${randomUUID()}` });

test("an example is created, read back, updated and deleted, with its texts unchanged", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const text = `<script>'; DROP TABLE examples; --"\u0000\ud800`;
  const created = await examples.create({
    datasetId,
    inputs: { [text]: text, nested: { a: [1, null, 2 ** 53 - 1] } },
    outputs: { text },
    metadata: { [text]: text },
    split: ["a", "b"],
  });
  expect(created).toMatchObject({
    datasetId,
    inputs: { [text]: text, nested: { a: [1, null, 2 ** 53 - 1] } },
    outputs: { text },
    metadata: { [text]: text },
    splits: ["a", "b"],
  });
  expect(await examples.read(created.id)).toEqual(created);
  await examples.update(created.id, { outputs: { text: "new" }, metadata: { m: 1 }, split: "c" });
  expect(await examples.read(created.id)).toMatchObject({
    inputs: created.inputs,
    outputs: { text: "new" },
    metadata: { m: 1 },
    splits: ["c"],
  });
  await examples.delete(created.id);
  await expect(examples.read(created.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(examples.update(created.id, { inputs: {} })).rejects.toMatchObject({ status: 404 });
});

test("a list in the order written skips nothing while its examples are deleted or leave the filter", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const rows = Array.from({ length: 230 }, (_, n) => ({ inputs: { n } }));
  await examples.createMany({ datasetId, examples: rows });
  let moved = 0;
  for await (const { id } of examples.list({ datasetId, order: "written", splits: ["base"] })) {
    await examples.update(id, { split: "done" });
    moved += 1;
  }
  expect(moved).toBe(230);
  for await (const { id } of examples.list({ datasetId, order: "written" })) {
    await examples.delete(id);
  }
  expect(await examples.count({ datasetId })).toBe(0);
});

test("deleteMany ignores unknown ids beside known ones; if none exists, that is an error", async () => {
  const all = resources();
  const { datasets, examples } = all;
  const { id: datasetId } = await newDataset(all);
  const { exampleIds } = await examples.createMany({ datasetId, examples: [{ inputs: {} }] });
  for (const hardDelete of [false, true]) {
    await expect(examples.deleteMany([randomUUID()], { hardDelete })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  }
  await examples.deleteMany([...exampleIds, randomUUID()]);
  expect(await examples.count({ datasetId })).toBe(0);
  await expect(datasets.deleteMany([randomUUID()])).rejects.toMatchObject({ code: "NOT_FOUND" });
  await datasets.deleteMany([datasetId, randomUUID()]);
  expect(await datasets.has({ datasetId })).toBe(false);
});

test("a day, a time without a zone and the date of a mail are accepted as times", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const times = {
    "2024-05-01": "2024-05-01T00:00:00.000000Z",
    "2024-05-01T10:11:12.345678": "2024-05-01T10:11:12.345678Z",
    "Wed, 01 May 2024 10:11:12 GMT": "2024-05-01T10:11:12.000000Z",
  };
  for (const [createdAt, expected] of Object.entries(times)) {
    const example = await examples.create({ datasetId, inputs: {}, createdAt });
    expect(example.createdAt).toBe(expected);
  }
});

test("an id sent twice with the same content is one example, with different content a conflict", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const id = randomUUID();
  const many = [
    { id, inputs: { n: 1 } },
    { id: randomUUID(), inputs: { n: 2 } },
  ];
  await examples.createMany({ datasetId, examples: many });
  await examples.createMany({ datasetId, examples: many });
  expect(await examples.count({ datasetId })).toBe(2);
  const changed = [{ id, inputs: { n: 3 } }, { inputs: { n: 4 } }];
  await expect(examples.createMany({ datasetId, examples: changed })).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(id) as string,
  });
  expect(await examples.count({ datasetId })).toBe(2);
});

test("many examples are created in chunks, listed, updated and deleted", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  async function* source() {
    for (let n = 0; n < 3_500; n += 1) {
      yield { inputs: { n } };
    }
  }
  const { exampleIds } = await examples.createMany({ datasetId, examples: source() });
  expect(new Set(exampleIds).size).toBe(3_500);
  const listed = await examples.list({ datasetId }).toArray();
  expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(exampleIds));
  const byId = new Map(listed.map(({ id, inputs }) => [id, inputs["n"]]));
  expect(exampleIds.map((id) => byId.get(id))).toEqual(exampleIds.map((_id, n) => n));
  await examples.updateMany({
    examples: exampleIds.map((id, n) => ({ id, outputs: { n: -n } })),
  });
  const ids = exampleIds.slice(0, 250);
  const some = await examples.list({ datasetId, ids }).toArray();
  expect(some).toHaveLength(250);
  expect(some.every(({ inputs, outputs }) => Number(inputs["n"]) === -Number(outputs?.["n"]))).toBe(
    true,
  );
  await examples.deleteMany(ids);
  expect(await examples.count({ datasetId })).toBe(3_250);
  const [hard = ""] = exampleIds.slice(-1);
  await examples.deleteMany([hard], { hardDelete: true });
  expect(await examples.count({ datasetId })).toBe(3_249);
});

test("several filters of a list are combined", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId, name: datasetName } = await newDataset(all);
  await examples.createMany({
    datasetId,
    examples: Array.from({ length: 9 }, (_, n) => ({
      inputs: { n },
      metadata: { color: n % 2 ? "red" : "blue", n },
      split: n < 5 ? "low" : "high",
    })),
  });
  const numbers = async (filter: object): Promise<readonly number[]> =>
    (await examples.list({ datasetName, ...filter }).toArray())
      .map(({ inputs }) => Number(inputs["n"]))
      .toSorted((left, right) => left - right);
  expect(await numbers({ metadata: { color: "red" } })).toEqual([1, 3, 5, 7]);
  expect(await numbers({ metadata: { color: "red" }, splits: ["high"] })).toEqual([5, 7]);
  expect(await numbers({ filter: `has(metadata, '{"color": "blue"}')` })).toEqual([0, 2, 4, 6, 8]);
  expect(await numbers({ limit: 3, offset: 2 })).toHaveLength(3);
  await expect(numbers({ filter: "eq(" })).rejects.toMatchObject({ code: "HTTP" });
});

test("an example that violates its dataset's schemas is refused with its position", async () => {
  const { datasets, examples } = resources();
  const { id: datasetId } = await datasets.create({
    name: `d ${randomUUID()}`,
    inputsSchema: {
      type: "object",
      properties: { n: { type: "number" } },
      required: ["n"],
    },
  });
  const many = [{ inputs: { n: 1 } }, { inputs: { n: "two" } }];
  await expect(examples.createMany({ datasetId, examples: many })).rejects.toMatchObject({
    status: 422,
    message: expect.stringMatching(/n/) as string,
  });
  expect(await examples.count({ datasetId })).toBe(0);
});

test("attachments are read back byte for byte, kept, renamed, replaced and added", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);
  const evil = 'x"\r\nX-Injected: yes.png';
  const attachments = {
    [evil]: { mimeType: "image/png", data: bytes },
    "b.txt": { mimeType: "text/plain", data: new Blob(["béé"]) },
  };
  const created = await examples.create({ datasetId, inputs: {}, attachments });
  const read = async (id: string): Promise<Readonly<Record<string, string>>> => {
    const [example] = await examples
      .list({ datasetId, ids: [id], includeAttachments: true })
      .toArray();
    const found = Object.entries(example?.attachments ?? {});
    const texts = await Promise.all(
      found.map(async ([name, attachment]): Promise<[string, string]> => {
        const data = await examples.readAttachment(attachment);
        return [name, `${attachment.mimeType} ${Buffer.from(data).toString("latin1")}`];
      }),
    );
    return Object.fromEntries(texts);
  };
  const latin = (text: string): string => Buffer.from(text).toString("latin1");
  const large = `image/png ${Buffer.from(bytes).toString("latin1")}`;
  expect(await read(created.id)).toEqual({ [evil]: large, "b.txt": `text/plain ${latin("béé")}` });
  expect(Object.keys((await examples.read(created.id)).attachments ?? {})).toHaveLength(2);
  await examples.update(created.id, {
    attachments: { "c.txt": { mimeType: "text/plain", data: Buffer.from("c") } },
    retainAttachments: [evil],
    renameAttachments: { "b.txt": "d.txt" },
  });
  expect(await read(created.id)).toEqual({
    [evil]: large,
    "c.txt": "text/plain c",
    "d.txt": `text/plain ${latin("béé")}`,
  });
  const { exampleIds } = await examples.createMany({
    datasetId,
    examples: [{ inputs: { n: 0 } }, { inputs: { n: 1 }, attachments }],
  });
  const [plain = "", rich = ""] = exampleIds;
  expect(await read(plain)).toEqual({});
  expect(Object.keys(await read(rich))).toHaveLength(2);
  await examples.updateMany({
    datasetId,
    examples: [{ id: plain, attachments: { e: { mimeType: "a/b", data: bytes } } }],
  });
  expect(Object.keys(await read(plain))).toEqual(["e"]);
});

test("a renaming keeps all other attachments, also in updateMany and in blocking calls", async () => {
  const client = new Client({ endpoint: server.url });
  onTestFinished(async () => void (await client.close()));
  const { examples } = client;
  const { id: datasetId } = await client.datasets.create({ name: `d ${randomUUID()}` });
  const file = { mimeType: "text/plain", data: Buffer.from("text") };
  const attachments = { a: file, b: file, c: file };
  const { exampleIds } = await examples.createMany({
    datasetId,
    examples: [
      { inputs: { n: 0 }, attachments },
      { inputs: { n: 1 }, attachments },
    ],
  });
  const [first = "", second = ""] = exampleIds;
  const namesOf = async (id: string): Promise<readonly string[]> =>
    Object.keys((await examples.read(id)).attachments ?? {}).toSorted();
  await examples.update(first, { renameAttachments: { a: "a2" } });
  expect(await namesOf(first)).toEqual(["a2", "b", "c"]);
  await examples.updateMany({
    examples: [
      { id: first, renameAttachments: { b: "b2" } },
      { id: second, renameAttachments: { c: "c2" }, attachments: { d: file } },
    ],
  });
  expect(await namesOf(first)).toEqual(["a2", "b2", "c"]);
  expect(await namesOf(second)).toEqual(["a", "b", "c2", "d"]);
  client.sync.examples.update(second, { renameAttachments: { d: "d2" } });
  expect(await namesOf(second)).toEqual(["a", "b", "c2", "d2"]);
  const unknown = randomUUID();
  await expect(examples.update(unknown, { renameAttachments: { a: "b" } })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("an example created from a run has the run's inputs and outputs", async () => {
  const all = resources();
  const { examples } = all;
  const { id: datasetId } = await newDataset(all);
  const client = new Client({ endpoint: server.url });
  onTestFinished(async () => void (await client.close()));
  const run = client.startRun({ name: "r", inputs: { q: 1 } });
  run.end({ a: 2 });
  await client.flush();
  const created = await examples.create({ datasetId, sourceRunId: run.id, useSourceRunIo: true });
  expect(created).toMatchObject({ inputs: { q: 1 }, outputs: { a: 2 }, sourceRunId: run.id });
});

test("the resources of a client work, also as blocking calls", async () => {
  const client = new Client({ endpoint: server.url });
  onTestFinished(async () => void (await client.close()));
  const { id } = await client.datasets.create({ name: `d ${randomUUID()}` });
  client.sync.examples.createMany({ datasetId: id, examples: [{ inputs: { n: 1 } }] });
  const [example] = client.sync.examples.list({ datasetId: id });
  expect(example).toMatchObject({ inputs: { n: 1 } });
  expect(client.sync.datasets.exportJsonl({ datasetId: id })).toHaveLength(1);
  expect(() => client.sync.datasets.read({ datasetName: "none" })).toThrow(
    "Dataset[name=none] not found",
  );
});
