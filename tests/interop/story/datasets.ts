import { expect } from "vitest";
import { laterThanNow } from "./story-context.ts";
import type { Story } from "./story-context.ts";

export const tellDatasets: Story = async ({ client, checkEffect }) => {
  const { datasets, examples } = client;
  const created = await datasets.create({
    name: "questions",
    description: "asked",
    dataType: "kv",
    inputsSchema: { type: "object", required: ["q"] },
    outputsSchema: { type: "object" },
    metadata: { source: "s" },
  });
  const { id } = created;
  await datasets.update({
    datasetId: id,
    name: "questions asked",
    description: null,
    inputsSchema: null,
    outputsSchema: { type: "object" },
    metadata: { source: "t" },
  });
  const read = await datasets.read({ datasetId: id });
  const found = await datasets
    .list({
      datasetIds: [id],
      datasetName: "questions asked",
      nameContains: "ask",
      dataType: "kv",
      metadata: { source: "t" },
      limit: 5,
    })
    .toArray();
  await checkEffect(async () => {
    expect(read).toMatchObject({ name: "questions asked", metadata: { source: "t" } });
    expect(found.map((one) => one.id)).toEqual([id]);
    expect(await datasets.has({ datasetName: "questions" })).toBe(false);
  });
  await datasets.has({ datasetId: id });
  await datasets.url({ datasetId: id });

  const first = await examples.create({ datasetId: id, inputs: { q: "how deep is the race" } });
  const before = await datasets.readVersion({ datasetId: id, asOf: laterThanNow() });
  await datasets.tag({ datasetId: id, asOf: before.asOf, tag: "begun" });
  const second = await examples.create({ datasetId: id, inputs: { q: "how fast is the wheel" } });
  const tagged = await datasets.readVersion({ datasetId: id, tag: "begun" });
  const versions = await datasets
    .listVersions({ datasetId: id, exampleId: first.id, search: "begun", limit: 5 })
    .toArray();
  const diff = await datasets.diff({
    datasetId: id,
    fromVersion: "begun",
    toVersion: laterThanNow(),
  });
  await datasets.updateSplits({ datasetId: id, splitName: "test", exampleIds: [second.id] });
  const splits = await datasets.listSplits({ datasetId: id });
  await datasets.listSplits({ datasetId: id, asOf: "begun" });
  await datasets.updateSplits({
    datasetId: id,
    splitName: "test",
    exampleIds: [second.id],
    remove: true,
  });
  await checkEffect(() => {
    expect(tagged.tags).toEqual(["begun"]);
    expect(versions).toHaveLength(1);
    expect(diff).toMatchObject({
      examplesAdded: [second.id],
      examplesRemoved: [],
      examplesModified: [],
    });
    expect(splits).toContain("test");
  });

  await datasets.index({ datasetId: id });
  await datasets.index({ datasetId: id, tag: "latest" });
  const near = await datasets.search({ datasetId: id, inputs: { q: "fast wheel" }, limit: 2 });
  await datasets.search({
    datasetId: id,
    inputs: { q: "wheel" },
    filter: 'eq(metadata_key, "kind")',
  });
  const lines = [
    await datasets.exportOpenAi({ datasetId: await chat(), asOf: "latest" }).toArray(),
    await datasets.exportCsv({ datasetId: id, asOf: laterThanNow() }).toArray(),
    await datasets.exportJsonl({ datasetId: id }).toArray(),
  ];
  await checkEffect(() => {
    expect(near[0]?.id).toBe(second.id);
    expect(lines.map((some) => some.length)).toEqual([1, 3, 2]);
  });

  const share = await datasets.share({ datasetId: id });
  await datasets.readShare({ datasetId: id });
  const shared = await datasets.readShared(share.url);
  const sharedExamples = await datasets
    .listSharedExamples(share.url, {
      exampleIds: [first.id],
      metadata: {},
      filter: `eq(id, "${first.id}")`,
      limit: 5,
    })
    .toArray();
  const count = await datasets.countSharedExamples(share.url, { exampleIds: [first.id] });
  const cloned = await datasets.clone(share.url, { name: "cloned" });
  await checkEffect(() => {
    expect(shared.id).toBe(id);
    expect(sharedExamples.map((one) => one.id)).toEqual([first.id]);
    expect(count).toBe(1);
    expect(cloned).toMatchObject({ kind: "cloned", exampleCount: 2 });
  });
  await datasets.unshare({ datasetId: id });

  const csv = await datasets.createFromCsv({
    file: Buffer.from('q,a\r\n"one, two",1\r\n'),
    inputKeys: ["q"],
    outputKeys: ["a"],
    name: "from a table",
    fileName: 'odd "name".csv',
    description: "table",
    dataType: "kv",
  });
  await checkEffect(async () => {
    const [row] = await examples.list({ datasetId: csv.id }).toArray();
    expect(row).toMatchObject({ inputs: { q: "one, two" }, outputs: { a: "1" } });
  });
  await datasets.delete({ datasetId: id });
  await datasets.deleteMany([csv.id]);
  await checkEffect(async () => {
    expect(await datasets.has({ datasetId: id })).toBe(false);
    expect(await datasets.has({ datasetId: csv.id })).toBe(false);
  });

  async function chat(): Promise<string> {
    const dataset = await datasets.create({ name: "chats", dataType: "chat" });
    await examples.createChat({
      datasetId: dataset.id,
      messages: [{ type: "human", data: { content: "hi" } }],
      answer: { type: "ai", data: { content: "hello" } },
    });
    return dataset.id;
  }
};
