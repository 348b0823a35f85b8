import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";
import type { Dataset } from "../../src/model/resources/dataset.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import type { DatasetResources } from "../support/dataset-resources.ts";

const server = useServer();

const resources = (): DatasetResources => createDatasetResources(server.url);
const newName = (): string => `d ${randomUUID()}`;
const newDataset = ({ datasets }: DatasetResources): Promise<Dataset> =>
  datasets.create({ name: newName() });

describe("shares and clones", () => {
  test("a share can be read by anyone until it is revoked", async () => {
    const all = resources();
    const { datasets, examples } = all;
    const { id, name } = await newDataset(all);
    const { exampleIds } = await examples.createMany({
      datasetId: id,
      examples: Array.from({ length: 130 }, (_, n) => ({ inputs: { n }, metadata: { n } })),
    });
    expect(await datasets.readShare({ datasetId: id })).toBeUndefined();
    const share = await datasets.share({ datasetName: name });
    expect(await datasets.share({ datasetId: id })).toEqual(share);
    expect(await datasets.readShare({ datasetId: id })).toEqual(share);
    const unauthorizedClient = createDatasetResources(server.url, {
      connection: { apiKey: "wrong" },
    });
    expect(await unauthorizedClient.datasets.readShared(share.url)).toMatchObject({ id, name });
    const shared = await unauthorizedClient.datasets.listSharedExamples(share.url).toArray();
    expect(shared.map((example) => example.id).toSorted()).toEqual(exampleIds.toSorted());
    const some = exampleIds.slice(0, 3);
    const filtered = await datasets
      .listSharedExamples(share.shareToken, { exampleIds: some })
      .toArray();
    expect(filtered).toHaveLength(3);
    expect(await datasets.countSharedExamples(share.url)).toBe(130);
    expect(await datasets.countSharedExamples(share.url, { metadata: { n: 7 } })).toBe(1);
    await datasets.unshare({ datasetId: id });
    await expect(datasets.readShared(share.url)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(datasets.listSharedExamples(share.url).toArray()).rejects.toThrow(
      /^Failed to list shared examples\.\nStatus: 404\nMessage: /,
    );
  });

  test("a clone has the content of the shared dataset; a second clone is skipped", async () => {
    const all = resources();
    const { datasets, examples, warnings } = all;
    const source = await datasets.create({
      name: newName(),
      dataType: "llm",
      inputsSchema: { type: "object", required: ["n"] },
    });
    const file = { mimeType: "image/png", data: Uint8Array.of(0, 255, 13, 10) };
    await examples.createMany({
      datasetId: source.id,
      examples: Array.from({ length: 120 }, (_, n) => ({
        inputs: { n },
        ...(n % 2 === 0 && { outputs: { n } }),
        metadata: { m: n },
        split: n % 3 === 0 ? ["a", "b"] : "base",
        ...(n === 7 && { attachments: { "a.bin": file } }),
      })),
    });
    const { url } = await datasets.share({ datasetId: source.id });
    const name = newName();
    const cloned = await datasets.clone(url, { name, sourceEndpoint: server.url });
    expect(cloned).toMatchObject({ kind: "cloned", exampleCount: 120, dataset: { name } });
    const contentOf = async (datasetId: string) =>
      (await examples.list({ datasetId }).toArray())
        .map(({ inputs, outputs, metadata, splits }) => ({ inputs, outputs, metadata, splits }))
        .toSorted((left, right) => Number(left.inputs["n"]) - Number(right.inputs["n"]));
    expect(await contentOf(cloned.dataset.id)).toEqual(await contentOf(source.id));
    const listed = examples.list({
      datasetName: name,
      metadata: { m: 7 },
      includeAttachments: true,
    });
    const [seventh] = await listed.toArray();
    const copied = seventh?.attachments?.["a.bin"] ?? { presignedUrl: "" };
    expect(copied).toMatchObject({ mimeType: "image/png" });
    expect(await examples.readAttachment(copied)).toEqual(Buffer.from(file.data));
    expect(await datasets.read({ datasetName: name })).toMatchObject({
      dataType: "llm",
      inputsSchema: source.inputsSchema,
    });
    expect(await datasets.clone(url, { name })).toMatchObject({ kind: "skipped" });
    expect(warnings).toHaveLength(1);
  });
});

describe("exports and search", () => {
  test("a chat is exported in the fine-tuning format, one line per example", async () => {
    const { datasets, examples } = resources();
    const { id } = await datasets.create({ name: newName(), dataType: "chat" });
    for (let n = 0; n < 3; n += 1) {
      await examples.createChat({
        datasetId: id,
        messages: [{ type: "human", data: { content: `q ${n} é\n` } }],
        answer: { type: "ai", data: { content: `a ${n}` } },
      });
    }
    const lines = await datasets.exportOpenAi({ datasetId: id }).toArray();
    const parsed = lines.map((line) => JSON.parse(line) as { readonly messages: unknown });
    expect(parsed.map(({ messages }) => messages)).toEqual(
      expect.arrayContaining([
        [
          { role: "user", content: "q 1 é\n" },
          { role: "assistant", content: "a 1" },
        ],
      ]),
    );
    expect(lines).toHaveLength(3);
  });

  test("a large export comes line by line, as JSON and as CSV", async () => {
    const all = resources();
    const { datasets, examples } = all;
    const { id } = await newDataset(all);
    const text = "é".repeat(500);
    await examples.createMany({
      datasetId: id,
      examples: Array.from({ length: 3_000 }, (_, n) => ({ inputs: { n, text } })),
    });
    const lines = await datasets.exportJsonl({ datasetId: id }).toArray();
    expect(lines).toHaveLength(3_000);
    expect(new Set(lines.map((line) => JSON.stringify(JSON.parse(line)))).size).toBe(3_000);
    let read = 0;
    for await (const _line of datasets.exportCsv({ datasetId: id })) {
      read += 1;
      if (read === 10) {
        break;
      }
    }
    expect(read).toBe(10);
  });

  test("a search in an indexed dataset finds the most similar examples", async () => {
    const all = resources();
    const { datasets, examples } = all;
    const { id } = await newDataset(all);
    const questions = ["how tall is the mountain", "who wrote the novel", "where is the mountain"];
    await examples.createMany({
      datasetId: id,
      examples: questions.map((question) => ({ inputs: { question } })),
    });
    await datasets.index({ datasetId: id });
    const inputs = { question: "tall mountain" };
    const found = await datasets.search({ datasetId: id, inputs, limit: 2 });
    expect(found.map((example) => example.inputs["question"])).toEqual([
      "how tall is the mountain",
      "where is the mountain",
    ]);
  });
});
