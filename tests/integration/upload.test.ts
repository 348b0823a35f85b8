import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Client, UploadError, ValidationError } from "millrace";
import type { NewExample, RejectedRow } from "millrace";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

let server: RunningServer;
let client: Client;
let folder: string;
let count = 0;
let dataset: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-upload-"));
  server = await startServer({ port: 0, dataDir: join(folder, "data") });
  client = new Client({ endpoint: server.url });
});

beforeEach(() => {
  dataset = `rows ${count++}`;
});

afterAll(async () => {
  await client.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const rows = (many: number): readonly NewExample[] =>
  Array.from({ length: many }, (_, index) => ({
    inputs: { question: `What is ${index}?` },
    outputs: { answer: index },
    metadata: { index },
    split: index % 2 === 0 ? "even" : "odd",
  }));

async function* slowly<Row>(items: Iterable<Row>): AsyncGenerator<Row> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

const ignore = (): void => undefined;
const counted = async (): Promise<number> => client.examples.count({ datasetName: dataset });

describe("examples", () => {
  test.each([
    ["an array", (items: readonly NewExample[]) => items],
    ["a generator", (items: readonly NewExample[]) => slowly(items)],
    ["a stream of Node", (items: readonly NewExample[]) => Readable.from(items)],
    ["a stream of the web", (items: readonly NewExample[]) => ReadableStream.from(items)],
  ])("every row of %s arrives unchanged", async (_what, from) => {
    const result = await client.examples.upload(from(rows(2_500)), {
      datasetName: dataset,
      createDataset: true,
    });
    expect(result).toMatchObject({ read: 2_500, created: 2_500, skipped: 0, rejected: 0 });
    expect(await counted()).toBe(2_500);
    const [one] = await client.examples
      .list({ datasetName: dataset, metadata: { index: 1_234 } })
      .toArray();
    expect(one).toMatchObject({
      inputs: { question: "What is 1234?" },
      outputs: { answer: 1_234 },
      splits: ["even"],
    });
  });

  test("repeating an upload adds nothing, and new rows are added", async () => {
    const request = { datasetName: dataset, createDataset: true, chunkCount: 100 };
    await client.examples.upload(rows(500), request);
    const again = await client.examples.upload(rows(700), request);
    expect(again).toMatchObject({ read: 700, created: 200, skipped: 500, rejected: 0 });
    expect(await counted()).toBe(700);
  });

  test("rows arrive through a pipeline, and its result is available", async () => {
    const end = client.examples.uploadStream<{ q: string }>({
      datasetName: dataset,
      createDataset: { description: "from a pipeline" },
      toExample: ({ q }) => ({ inputs: { q } }),
      idFrom: { key: "q" },
    });
    await pipeline(Readable.from(Array.from({ length: 1_500 }, (_, i) => ({ q: `q${i}` }))), end);
    expect(await end.result).toMatchObject({ read: 1_500, created: 1_500 });
    expect(await client.datasets.read({ datasetName: dataset })).toMatchObject({
      description: "from a pipeline",
      exampleCount: 1_500,
    });
  });

  test("a refused row is found, reported with its number, and omitted", async () => {
    await client.datasets.create({
      name: dataset,
      inputsSchema: { type: "object", required: ["n"], properties: { n: { type: "number" } } },
    });
    const rejectedRows: RejectedRow[] = [];
    const source = Array.from({ length: 1_000 }, (_, n) => ({
      inputs: n === 333 || n === 777 ? { n: "seven" } : { n },
    }));
    const result = await client.examples.upload(source, {
      datasetName: dataset,
      onRejected: (row) => void rejectedRows.push(row),
    });
    expect(result).toMatchObject({ read: 1_000, created: 998, rejected: 2, skipped: 0 });
    expect(rejectedRows.map(({ row }) => row).toSorted((a, b) => a - b)).toEqual([334, 778]);
    expect(rejectedRows[0]).toMatchObject({
      reason: expect.stringContaining("/n") as string,
      content: expect.stringContaining('"inputs":{"n":"seven"}') as string,
    });
    expect(await counted()).toBe(998);
  });

  test("a row that can't be converted to an example is reported, and the other rows arrive", async () => {
    const result = await client.examples.upload([1, 2, 3, 4], {
      datasetName: dataset,
      createDataset: true,
      toExample: (n) => {
        if (n === 2) {
          throw new ValidationError("two is no example");
        }
        return n === 3 ? {} : { inputs: { n } };
      },
    });
    expect(result).toMatchObject({ read: 4, created: 2, rejected: 2 });
    expect(result.faults).toEqual([
      { row: 2, reason: "two is no example" },
      { row: 3, reason: expect.stringContaining("inputs") as string },
    ]);
  });

  test("two rows with one key: the same content is skipped, different content is rejected", async () => {
    const source = [
      { key: "a", text: "one" },
      { key: "a", text: "one" },
      { key: "a", text: "other" },
      { key: "", text: "none" },
    ];
    const result = await client.examples.upload(source, {
      datasetName: dataset,
      createDataset: true,
      idFrom: { key: "key" },
      toExample: ({ text }) => ({ inputs: { text } }),
    });
    expect(result).toMatchObject({ read: 4, created: 1, skipped: 1, rejected: 2 });
    expect(result.faults.map(({ row }) => row).toSorted((a, b) => a - b)).toEqual([3, 4]);
  });

  test("only a row that exceeds the server's limit is rejected", async () => {
    const large = { inputs: { text: "x".repeat(30_000_000) } };
    const result = await client.examples.upload([...rows(10), large, ...rows(20)], {
      datasetName: dataset,
      createDataset: true,
    });
    expect(result).toMatchObject({ read: 31, created: 20, skipped: 10, rejected: 1 });
    expect(result.faults[0]?.row).toBe(11);
  });

  test("a dry run reports what a dataset would refuse, and creates nothing", async () => {
    await client.datasets.create({
      name: dataset,
      inputsSchema: { type: "object", required: ["n"] },
    });
    const source = Array.from({ length: 300 }, (_, n) => ({
      inputs: n % 2 === 0 ? { n } : { m: n },
    }));
    const result = await client.examples.upload(source, { datasetName: dataset, dryRun: true });
    expect(result).toMatchObject({ read: 300, created: 150, rejected: 150 });
    expect(result.faults).toHaveLength(100);
    expect(result.faults[0]).toMatchObject({
      row: 2,
      reason: expect.stringContaining("n") as string,
    });
    expect(await counted()).toBe(0);
  });

  test("an unknown dataset is reported before a row is read", async () => {
    let reads = 0;
    const source = slowly([1, 2].map((n) => (reads++, { inputs: { n } })));
    await expect(client.examples.upload(source, { datasetName: "no such" })).rejects.toThrow(
      "Dataset[name=no such] not found",
    );
    expect(reads).toBe(2);
  });

  test("attachments are uploaded, and are part of a row's content", async () => {
    const bytes = Buffer.from([0, 1, 2, 255]);
    const source = [
      { inputs: { n: 1 }, attachments: { "a.bin": { mimeType: "application/x-a", data: bytes } } },
      { inputs: { n: 1 } },
    ];
    const result = await client.examples.upload(source, {
      datasetName: dataset,
      createDataset: true,
    });
    expect(result.created).toBe(2);
    const found = await client.examples
      .list({ datasetName: dataset, includeAttachments: true })
      .toArray();
    const [file] = found.flatMap(({ attachments = {} }) => Object.values(attachments));
    expect(Buffer.from(await client.examples.readAttachment(file!))).toEqual(bytes);
  });

  test("an error of the source is the cause, and earlier rows are stored", async () => {
    async function* failing(): AsyncGenerator<NewExample> {
      yield* rows(50);
      throw new RangeError("the disk is gone");
    }
    const error = await client.examples
      .upload(failing(), { datasetName: dataset, createDataset: true })
      .catch((thrown: unknown) => thrown as UploadError);
    expect(error).toBeInstanceOf(UploadError);
    expect(error).toMatchObject({
      cause: new RangeError("the disk is gone"),
      result: { created: 50 },
    });
    expect(await counted()).toBe(50);
  });

  test("the caller's signal ends the upload while the source is slow", async () => {
    const ending = new AbortController();
    async function* hanging(): AsyncGenerator<NewExample> {
      yield* rows(5);
      ending.abort();
      await new Promise<never>(ignore);
    }
    await expect(
      client.examples.upload(hanging(), {
        datasetName: dataset,
        createDataset: true,
        signal: ending.signal,
      }),
    ).rejects.toMatchObject({ code: "UPLOAD", cause: { code: "ABORTED" } });
  });
});

test("a blocking upload accepts serializable sources", () => {
  const result = client.sync.examples.upload(rows(40), {
    datasetName: dataset,
    createDataset: true,
  });
  expect(result).toMatchObject({ read: 40, created: 40 });
});
