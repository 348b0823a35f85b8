import { expect } from "vitest";
import { laterThanNow } from "./story-context.ts";
import type { Story } from "./story-context.ts";

export const tellExamples: Story = async ({ client, endpoint, checkEffect, recordTrace }) => {
  const { datasets, examples } = client;
  const { rootId } = await recordTrace();
  const { id: datasetId } = await datasets.create({ name: "of the examples" });
  const full = {
    inputs: { q: 1 },
    outputs: { a: 1 },
    metadata: { kind: "k" },
    split: ["train", "test"],
    sourceRunId: rootId,
    createdAt: new Date("2026-11-21T10:11:12.345Z"),
  };
  const one = await examples.create({ datasetId, ...full });
  const { exampleIds } = await examples.createMany({
    datasetId,
    examples: [
      { ...full, inputs: { q: 2 } },
      { inputs: { q: 3 }, split: "train" },
    ],
  });
  await examples.createMany({
    datasetId,
    examples: [{ sourceRunId: rootId, useSourceRunIo: true }],
  });
  const checked = await examples.upload([{ inputs: { q: 4 } }], {
    datasetId,
    dryRun: true,
  });
  const picture = { mimeType: "image/png", data: Buffer.from([137, 80, 78, 71]) };
  const withFile = await examples.create({ datasetId, ...full, attachments: { picture } });
  const asOf = (await datasets.readVersion({ datasetId: datasetId, asOf: laterThanNow() })).asOf;
  await examples.createChat({
    datasetId,
    messages: [{ role: "user", content: "hi" }],
    answer: { role: "assistant", content: "hello" },
  });
  const read = await examples.read(one.id, { asOf });
  const filter = {
    datasetId,
    ids: [one.id, ...exampleIds],
    asOf,
    splits: ["train"],
    metadata: { kind: "k" },
    filter: 'and(eq(metadata_key, "kind"), eq(metadata_value, "k"))',
  };
  const found = await examples
    .list({ ...filter, inlineS3Urls: true, includeAttachments: true, limit: 5 })
    .toArray();
  await examples.list({ datasetName: "of the examples", offset: 1, inlineS3Urls: false }).toArray();
  const count = await examples.count(filter);
  await checkEffect(async () => {
    expect(checked).toMatchObject({ read: 1, created: 1, rejected: 0 });
    expect(read).toMatchObject({ inputs: { q: 1 }, metadata: { kind: "k" } });
    expect(read.splits.toSorted()).toEqual(["test", "train"]);
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set([one.id, exampleIds[0]]));
    expect(count).toBe(2);
    const [, attachment] = Object.entries(withFile.attachments ?? {})[0]!;
    expect(Buffer.from(await examples.readAttachment(attachment))).toEqual(picture.data);
  });
  if (withFile.attachments === undefined) {
    // With sample responses, an attachment has no file, so any address will do.
    await examples.readAttachment({ presignedUrl: `${endpoint}/info` });
  }
  const change = { inputs: { q: 7 }, outputs: { a: 7 }, metadata: { kind: "l" }, split: "valid" };
  await examples.update(one.id, change);
  await examples.update(withFile.id, {
    attachments: { other: picture },
    retainAttachments: [],
    renameAttachments: { picture: "photo" },
  });
  await examples.updateMany({
    examples: exampleIds.map((id) => ({ id, ...change })),
  });
  await examples.updateMany({
    datasetId,
    examples: [{ id: withFile.id, attachments: { third: picture } }],
  });
  await checkEffect(async () => {
    expect(await examples.read(one.id)).toMatchObject({ inputs: { q: 7 }, splits: ["valid"] });
    expect(await examples.read(exampleIds[1]!)).toMatchObject({ outputs: { a: 7 } });
    const names = Object.keys((await examples.read(withFile.id)).attachments ?? {});
    expect(names.toSorted()).toEqual(["other", "photo", "third"]);
  });
  await examples.delete(one.id);
  await examples.deleteMany([exampleIds[0]!]);
  await examples.deleteMany(exampleIds.slice(1), { hardDelete: true });
  await checkEffect(async () => {
    await expect(examples.read(one.id)).rejects.toMatchObject({ status: 404 });
    expect(await examples.read(one.id, { asOf })).toMatchObject({ inputs: { q: 1 } });
    expect(await examples.count({ datasetId })).toBe(3);
  });
};
