import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray } from "./langsmith/test-server.ts";
import { betweenVersions, doubles, inputsOf } from "./langsmith/doubles.ts";
import { versions, newVersions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("dataset-versions");

describe.each(versions)("versions of datasets with %s", (version) => {
  test("the difference of two versions lists added, changed and removed examples", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const before = await betweenVersions();
    const [, changed, removed] = examples.map(({ id }) => id);
    const added = await client.createExample({ n: 4 }, { double: 8 }, { datasetId: dataset.id });
    await client.updateExample(changed!, { outputs: { double: 5 } });
    await client.deleteExample(removed!);
    const after = await betweenVersions();
    const diff = await client.diffDatasetVersions({
      datasetId: dataset.id,
      fromVersion: before,
      toVersion: "latest",
    });
    expect(diff).toMatchObject({
      examples_added: [added.id],
      examples_modified: [changed],
      examples_removed: [removed],
    });
    const asOf = async (point: Date | string) =>
      inputsOf(await toArray(client.listExamples({ datasetId: dataset.id, asOf: point })));
    expect(await asOf(before)).toEqual(new Set(['{"n":1}', '{"n":2}', '{"n":3}']));
    expect(await asOf("latest")).toEqual(new Set(['{"n":1}', '{"n":2}', '{"n":4}']));
    const byName = await client.diffDatasetVersions({
      datasetName: dataset.name,
      fromVersion: before.toISOString(),
      toVersion: after,
    });
    expect(byName).toEqual(diff);
  });

  test("examples are added to and removed from splits, and earlier versions keep theirs", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const datasetId = dataset.id;
    const [first, second] = examples.map(({ id }) => id);
    await client.updateDatasetSplits({
      datasetId,
      splitName: "test",
      exampleIds: [first!, second!],
    });
    const during = await betweenVersions();
    await client.updateDatasetSplits({
      datasetName: dataset.name,
      splitName: "test",
      exampleIds: [second!],
      remove: true,
    });
    await client.updateDatasetSplits({ datasetId, splitName: "train", exampleIds: [second!] });
    expect(new Set(await client.listDatasetSplits({ datasetId }))).toEqual(
      new Set(["base", "test", "train"]),
    );
    expect(
      await client.listDatasetSplits({ datasetName: dataset.name, asOf: during }),
    ).not.toContain("train");
    const inSplit = async (split: string, asOf?: Date) =>
      (
        await toArray(client.listExamples({ datasetId, splits: [split], ...(asOf && { asOf }) }))
      ).map(({ id }) => id);
    expect(await inSplit("test")).toEqual([first]);
    expect(await inSplit("train")).toEqual([second]);
    expect(new Set(await inSplit("test", during))).toEqual(new Set([first, second]));
    expect((await client.readExample(first!)).metadata).toMatchObject({
      dataset_split: expect.arrayContaining(["test"]) as unknown,
    });
  });
});

test.each(newVersions)(
  "langsmith 0.10 tags a version, moves the tag, and reads by it (%s)",
  async (newer) => {
    const client = testServer.newest(newer);
    const { dataset } = await doubles(testServer.either("langsmith"), 2);
    const datasetId = dataset.id;
    const first = await client.readDatasetVersion({ datasetId, tag: "latest" });
    const time = await betweenVersions();
    await client.updateDatasetTag({ datasetId, asOf: first.as_of, tag: "good" });
    await client.createExample({ dataset_id: datasetId, inputs: { n: 3 }, outputs: { double: 6 } });
    const second = await client.readDatasetVersion({ datasetName: dataset.name, tag: "latest" });
    expect(second.as_of > first.as_of).toBe(true);
    expect((await client.readDatasetVersion({ datasetId, tag: "good" })).as_of).toBe(first.as_of);
    expect((await client.readDatasetVersion({ datasetId, asOf: time })).as_of).toBe(first.as_of);
    const tagged = () => toArray(client.listExamples({ datasetId, asOf: "good" }));
    expect(await tagged()).toHaveLength(2);
    await client.updateDatasetTag({ datasetName: dataset.name, asOf: second.as_of, tag: "good" });
    expect(await tagged()).toHaveLength(3);
    expect(
      await testServer.reader.datasets.readVersion({ datasetId: datasetId, tag: "good" }),
    ).toMatchObject({
      tags: expect.arrayContaining(["good", "latest"]) as unknown,
    });
    await expect(client.readDatasetVersion({ datasetId, tag: "nowhere" })).rejects.toThrow("404");
  },
);

test("langsmith 0.1 searches the examples of an indexed dataset by similarity, and by a filter", async () => {
  const client = testServer.old();
  const { id: datasetId, name: datasetName } = await client.createDataset(`likes ${Date.now()}`, {
    inputsSchema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
    },
  });
  await expect(client.similarExamples({ text: "Berlin" }, datasetId, 1)).rejects.toThrow("400");
  const texts = [
    "How many people live in Berlin?",
    "What colour is the sky?",
    "Who lives in Rome?",
  ];
  await client.createExamples({
    inputs: texts.map((text) => ({ text })),
    outputs: texts.map(() => ({})),
    metadata: [{ kind: "city" }, { kind: "nature" }, { kind: "city" }],
    datasetId,
  });
  await client.indexDataset({ datasetName, tag: "latest" });
  const similar = async (filter?: string) =>
    (
      await client.similarExamples({ text: "people live in Berlin" }, datasetId, 2, {
        ...(filter !== undefined && { filter }),
      })
    ).map(({ inputs }) => inputs as unknown);
  expect((await similar())[0]).toEqual({ text: texts[0] });
  expect(await similar()).toHaveLength(2);
  expect(await similar('eq(metadata.kind, "nature")')).toEqual([{ text: texts[1] }]);
});

testServer.expectAllCalled();
