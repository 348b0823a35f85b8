import { startServer } from "@millrace/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { doubles, inputsOf } from "./langsmith/doubles.ts";
import { versions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("dataset-shares");

const tokenOf = (url: string): string => new URL(url).pathname.match(/[0-9a-f-]{36}/u)![0];

describe.each(versions)("shared datasets of %s", (version) => {
  test("a shared dataset can be read with its examples until it is unshared", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const { share_token: token, url } = await client.shareDataset(dataset.id);
    expect(tokenOf(url)).toBe(token);
    expect(await client.shareDataset(undefined, dataset.name)).toMatchObject({ url });
    for (const key of [[dataset.id], [undefined, dataset.name]] as const) {
      expect(await client.readDatasetSharedSchema(...key)).toMatchObject({
        dataset_id: dataset.id,
        share_token: token,
        url,
      });
    }
    expect(await client.readSharedDataset(token)).toMatchObject({
      id: dataset.id,
      name: dataset.name,
      description: "Twice as much",
    });
    expect(inputsOf(await client.listSharedExamples(token))).toEqual(inputsOf(examples));
    const [first] = examples;
    const one = await client.listSharedExamples(token, { exampleIds: [first!.id] });
    expect(one).toMatchObject([{ id: first!.id, outputs: first!.outputs as unknown }]);
    await client.unshareDataset(dataset.id);
    expect(await testServer.reader.datasets.readShare({ datasetId: dataset.id })).toBeUndefined();
    await expect(testServer.reader.datasets.readShared(token)).rejects.toThrow("404");
  });

  test("a public dataset is cloned under a new name", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const { url } = await client.shareDataset(dataset.id);
    const datasetName = unique("clone");
    await client.clonePublicDataset(url, { datasetName });
    const clone = await client.readDataset({ datasetName });
    expect(clone).toMatchObject({ description: "Twice as much", example_count: 3 });
    expect(clone.id).not.toBe(dataset.id);
    const copies = await toArray(client.listExamples({ datasetId: clone.id }));
    expect(inputsOf(copies)).toEqual(inputsOf(examples));
    expect(new Set(copies.map(({ outputs }) => JSON.stringify(outputs)))).toEqual(
      new Set(examples.map(({ outputs }) => JSON.stringify(outputs))),
    );
  });

  test("a public dataset of another server is cloned by its token", async () => {
    const otherServer = await startServer({ port: 0, dataDir: ":memory:" });
    onTestFinished(() => otherServer.close());
    const otherClient = testServer.either(version, otherServer.url);
    const { dataset, examples } = await doubles(otherClient, 2);
    const { share_token: token } = await otherClient.shareDataset(dataset.id);
    const client = testServer.either(version);
    await client.clonePublicDataset(token, { sourceApiUrl: otherServer.url });
    const { id: datasetId } = await client.readDataset({ datasetName: dataset.name });
    const copies = await toArray(client.listExamples({ datasetId }));
    expect(inputsOf(copies)).toEqual(inputsOf(examples));
    const again = client.clonePublicDataset(token, { sourceApiUrl: otherServer.url });
    await expect(again).rejects.toThrow(/409|already exists/u);
  });
});

testServer.expectAllCalled();
