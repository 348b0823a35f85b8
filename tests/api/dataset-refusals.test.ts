import { describe, expect, test } from "vitest";
import type { DatasetKey } from "../../src/api/datasets/dataset-key.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const token = "2f0e0d0c-0b0a-4908-8706-050403020100";

describe("refused before anything is sent", () => {
  const fails = (failures: readonly Promise<unknown>[]) =>
    Promise.allSettled(failures).then((outcomes) =>
      expect(outcomes).toMatchObject(
        failures.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
      ),
    );

  test("every call requires exactly one of id and name", async () => {
    const server = await mswServer();
    const { datasets } = createDatasetResources(server.endpoint);
    const calls = (key: DatasetKey): readonly (() => unknown)[] => [
      () => datasets.read(key),
      () => datasets.has(key),
      () => datasets.delete(key),
      () => datasets.url(key),
      () => datasets.share(key),
      () => datasets.unshare(key),
      () => datasets.readShare(key),
      () => datasets.index(key),
      () => datasets.search({ ...key, inputs: {} }),
      () => datasets.diff({ ...key, fromVersion: "a", toVersion: "b" }),
      () => datasets.listSplits(key),
      () => datasets.updateSplits({ ...key, splitName: "s", exampleIds: [id] }),
      () => datasets.readVersion({ ...key, tag: "t" }),
      () => datasets.tag({ ...key, asOf: "a", tag: "t" }),
      () => datasets.listVersions(key),
      () => datasets.exportOpenAi(key),
      () => datasets.exportCsv(key),
      () => datasets.exportJsonl(key),
    ];
    const refusals: readonly (readonly [object, string])[] = [
      [{}, "Must provide either datasetName or datasetId"],
      [
        { datasetId: id, datasetName: "d" },
        "Must provide either datasetName or datasetId, not both",
      ],
      [
        { datasetId: "d-1" },
        'Invalid UUID for dataset id: "d-1". Pass the id as the server returned it: 32 hexadecimal digits grouped 8-4-4-4-12',
      ],
      [{ datasetName: "" }, "The name of a dataset must be a non-empty string"],
    ];
    for (const [key, message] of refusals) {
      for (const call of calls(key as DatasetKey)) {
        const failed = { code: "VALIDATION", message };
        await expect((async () => call())()).rejects.toMatchObject(failed);
      }
    }
    expect(server.requests).toEqual([]);
  });

  test("invalid names, types, columns, versions, tags, splits, ids and limits", async () => {
    const server = await mswServer();
    const { datasets } = createDatasetResources(server.endpoint);
    const never = new Date(Number.NaN);
    const file = Buffer.from("q\n");
    await fails([
      datasets.create({ name: "" }),
      datasets.create({ name: 7 as unknown as string }),
      datasets.create({ name: "d", dataType: "csv" as "kv" }),
      datasets.create({ name: "d", id: "d" }),
      datasets.createFromCsv({ file, name: "d", inputKeys: [] }),
      datasets.createFromCsv({ file, name: "d", inputKeys: [""] }),
      datasets.createFromCsv({ file, name: "d", inputKeys: ["q"], outputKeys: [""] }),
      datasets.createFromCsv({ file, inputKeys: ["q"] }),
      datasets.createFromCsv({ file: "no/such.csv", inputKeys: ["q"] }),
      datasets.createFromCsv({ file: new URL("https://h.test/a.csv"), inputKeys: ["q"] }),
      datasets.createFromCsv({ file: undefined as unknown as string, inputKeys: ["q"] }),
      datasets.update({ datasetId: "d", name: "e" }),
      datasets.update({ datasetId: id }),
      datasets.update({ datasetId: id, name: "" }),
      datasets.deleteMany(["d"]),
      datasets.readVersion({ datasetId: id } as Parameters<typeof datasets.readVersion>[0]),
      datasets.readVersion({ datasetId: id, tag: "t", asOf: "a" } as unknown as {
        datasetId: string;
        tag: string;
      }),
      datasets.readVersion({ datasetId: id, tag: "" }),
      datasets.readVersion({ datasetId: id, asOf: never }),
      datasets.tag({ datasetId: id, asOf: "a", tag: "" }),
      datasets.tag({ datasetId: id, asOf: "", tag: "t" }),
      datasets.diff({ datasetId: id, fromVersion: never, toVersion: "b" }),
      datasets.diff({ datasetId: id, fromVersion: "a" } as Parameters<typeof datasets.diff>[0]),
      datasets.listSplits({ datasetId: id, asOf: "" }),
      datasets.updateSplits({ datasetId: id, splitName: "", exampleIds: [id] }),
      datasets.updateSplits({ datasetId: id, splitName: "s", exampleIds: [] }),
      datasets.updateSplits({ datasetId: id, splitName: "s", exampleIds: ["e"] }),
      ...[0, 101, -1, 1.5, Number.NaN].map((limit) =>
        datasets.search({ datasetId: id, inputs: {}, limit }),
      ),
    ]);
    for (const limit of [0, -1, Number.NaN, "100" as unknown as number]) {
      expect(() => datasets.list({ limit })).toThrow(/^limit must be/);
      expect(() => datasets.listVersions({ datasetId: id, limit })).toThrow(/^limit must be/);
      expect(() => datasets.listSharedExamples(token, { limit })).toThrow(/^limit must be/);
    }
    for (const offset of [-1, 0.5, Number.NaN]) {
      expect(() => datasets.list({ offset })).toThrow(/^offset must be/);
    }
    expect(() => datasets.list({ datasetIds: ["x"] })).toThrow('Invalid UUID for dataset id: "x"');
    expect(() => datasets.listSharedExamples(token, { exampleIds: ["x"] })).toThrow("example id");
    expect(server.requests).toEqual([]);
  });

  test("lists of no ids are empty, and send no request", async () => {
    const server = await mswServer();
    const { datasets } = createDatasetResources(server.endpoint);
    expect(await datasets.list({ datasetIds: [] }).toArray()).toEqual([]);
    expect(await datasets.listSharedExamples(token, { exampleIds: [] }).toArray()).toEqual([]);
    expect(await datasets.countSharedExamples(token, { exampleIds: [] })).toBe(0);
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const { datasets } = createDatasetResources(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      datasets.create({ name: "d", signal }),
      datasets.createFromCsv({ file: "package.json", inputKeys: ["q"], signal }),
      datasets.read({ datasetId: id, signal }),
      datasets.has({ datasetId: id, signal }),
      datasets.update({ datasetId: id, name: "d", signal }),
      datasets.delete({ datasetId: id, signal }),
      datasets.deleteMany([id], { signal }),
      datasets.url({ datasetName: "d", signal }),
      datasets.share({ datasetId: id, signal }),
      datasets.readShared(token, { signal }),
      datasets.clone(token, { signal }),
      datasets.search({ datasetId: id, inputs: {}, signal }),
      datasets.list({ signal }).toArray(),
      datasets.listVersions({ datasetId: id, signal }).toArray(),
      datasets.listSharedExamples(token, { signal }).toArray(),
      datasets.exportOpenAi({ datasetId: id, signal }).toArray(),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});
