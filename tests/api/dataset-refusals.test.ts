import { describe, expect, test } from "vitest";
import type { DatasetKey } from "../../src/api/dataset-key.ts";
import { datasetNounsAt } from "../support/dataset-nouns.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const token = "2f0e0d0c-0b0a-4908-8706-050403020100";

describe("what is refused before it is sent", () => {
  const fails = (failures: readonly Promise<unknown>[]) =>
    Promise.allSettled(failures).then((outcomes) =>
      expect(outcomes).toMatchObject(
        failures.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
      ),
    );

  test("every call takes one of id and name", async () => {
    const server = await mswServer();
    const { datasets } = datasetNounsAt(server.endpoint);
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
      [{ id, name: "d" }, "Must provide either datasetName or datasetId, not both"],
      [{ id: "d-1" }, 'Invalid UUID for dataset id: "d-1"'],
      [{ name: "" }, "The name of a dataset must be a text, not empty"],
    ];
    for (const [key, message] of refusals) {
      for (const call of calls(key as DatasetKey)) {
        const failed = { code: "VALIDATION", message };
        await expect((async () => call())()).rejects.toMatchObject(failed);
      }
    }
    expect(server.requests).toEqual([]);
  });

  test("names, types, columns, versions, tags, splits, ids and limits that are none", async () => {
    const server = await mswServer();
    const { datasets } = datasetNounsAt(server.endpoint);
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
      datasets.update("d", { name: "e" }),
      datasets.update(id, {}),
      datasets.update(id, { name: "" }),
      datasets.deleteMany(["d"]),
      datasets.readVersion({ id } as Parameters<typeof datasets.readVersion>[0]),
      datasets.readVersion({ id, tag: "t", asOf: "a" } as unknown as { id: string; tag: string }),
      datasets.readVersion({ id, tag: "" }),
      datasets.readVersion({ id, asOf: never }),
      datasets.tag({ id, asOf: "a", tag: "" }),
      datasets.tag({ id, asOf: "", tag: "t" }),
      datasets.diff({ id, fromVersion: never, toVersion: "b" }),
      datasets.diff({ id, fromVersion: "a" } as Parameters<typeof datasets.diff>[0]),
      datasets.listSplits({ id, asOf: "" }),
      datasets.updateSplits({ id, splitName: "", exampleIds: [id] }),
      datasets.updateSplits({ id, splitName: "s", exampleIds: [] }),
      datasets.updateSplits({ id, splitName: "s", exampleIds: ["e"] }),
      ...[0, 101, -1, 1.5, Number.NaN].map((limit) => datasets.search({ id, inputs: {}, limit })),
    ]);
    for (const limit of [0, -1, Number.NaN, "100" as unknown as number]) {
      expect(() => datasets.list({ limit })).toThrow(/^limit must be/);
      expect(() => datasets.listVersions({ id, limit })).toThrow(/^limit must be/);
      expect(() => datasets.listSharedExamples(token, { limit })).toThrow(/^limit must be/);
    }
    for (const offset of [-1, 0.5, Number.NaN]) {
      expect(() => datasets.list({ offset })).toThrow(/^offset must be/);
    }
    expect(() => datasets.list({ ids: ["x"] })).toThrow('Invalid UUID for dataset id: "x"');
    expect(() => datasets.listSharedExamples(token, { exampleIds: ["x"] })).toThrow("example id");
    expect(server.requests).toEqual([]);
  });

  test("lists of no ids are empty, and not asked for", async () => {
    const server = await mswServer();
    const { datasets } = datasetNounsAt(server.endpoint);
    expect(await datasets.list({ ids: [] }).toArray()).toEqual([]);
    expect(await datasets.listSharedExamples(token, { exampleIds: [] }).toArray()).toEqual([]);
    expect(await datasets.countSharedExamples(token, { exampleIds: [] })).toBe(0);
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const { datasets } = datasetNounsAt(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      datasets.create({ name: "d", signal }),
      datasets.createFromCsv({ file: "package.json", inputKeys: ["q"], signal }),
      datasets.read({ id, signal }),
      datasets.has({ id, signal }),
      datasets.update(id, { name: "d", signal }),
      datasets.delete({ id, signal }),
      datasets.deleteMany([id], { signal }),
      datasets.url({ name: "d", signal }),
      datasets.share({ id, signal }),
      datasets.readShared(token, { signal }),
      datasets.clone(token, { signal }),
      datasets.search({ id, inputs: {}, signal }),
      datasets.list({ signal }).toArray(),
      datasets.listVersions({ id, signal }).toArray(),
      datasets.listSharedExamples(token, { signal }).toArray(),
      datasets.exportOpenAi({ id, signal }).toArray(),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});
