import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";
import type { Dataset } from "../../src/model/resources/dataset.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import type { DatasetResources } from "../support/dataset-resources.ts";

const server = useServer();

const resources = (): DatasetResources => createDatasetResources(server.url);
const newName = (): string => `d ${randomUUID()}`;
const newDataset = ({ datasets }: DatasetResources): Promise<Dataset> =>
  datasets.create({ name: newName() });

describe("datasets", () => {
  test("a dataset is created, read by id and name, updated and deleted", async () => {
    const { datasets } = resources();
    const name = `<script>'; DROP TABLE datasets; --"\u0000 ${randomUUID()}`;
    const created = await datasets.create({
      name,
      description: `${name}\ud800`,
      dataType: "chat",
      inputsSchema: { type: "object", [name]: true },
      metadata: { camelCase: name },
    });
    expect(created).toMatchObject({
      name,
      description: `${name}\ud800`,
      dataType: "chat",
      inputsSchema: { type: "object", [name]: true },
      metadata: { camelCase: name },
    });
    expect(await datasets.read({ datasetId: created.id })).toMatchObject({ id: created.id, name });
    const found = await datasets.read({ datasetName: created.name });
    expect(found.id).toBe(created.id);
    expect(await datasets.has({ datasetName: name })).toBe(true);
    const changed = await datasets.update({
      datasetId: created.id,
      inputsSchema: null,
      description: "d",
    });
    expect(changed).not.toHaveProperty("inputsSchema");
    expect(await datasets.read({ datasetId: created.id })).toMatchObject({
      name,
      description: "d",
      dataType: "chat",
    });
    expect(await datasets.url({ datasetName: name })).toBe(
      `http://host.test/o/${created.tenantId}/datasets/${created.id}`,
    );
    await datasets.delete({ datasetName: name });
    expect(await datasets.has({ datasetName: name })).toBe(false);
    await expect(datasets.read({ datasetId: created.id })).rejects.toThrow(
      `Dataset[id=${created.id}] not found`,
    );
  });

  test("a taken name is a conflict", async () => {
    const { datasets } = resources();
    const name = newName();
    await datasets.create({ name });
    await expect(datasets.create({ name })).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("a list respects its filters, offset and limit", async () => {
    const { datasets } = resources();
    const label = randomUUID();
    const created = await Promise.all(
      Array.from({ length: 105 }, (_, n) =>
        datasets.create({ name: `${label} ${n}`, metadata: { odd: n % 2 === 1 } }),
      ),
    );
    const count = async (filter: object): Promise<number> =>
      (await datasets.list({ nameContains: label, ...filter }).toArray()).length;
    expect(await count({})).toBe(105);
    expect(await count({ limit: 101 })).toBe(101);
    expect(await count({ offset: 100 })).toBe(5);
    expect(await count({ metadata: { odd: true } })).toBe(52);
    expect(await count({ dataType: "llm" })).toBe(0);
    expect(await count({ datasetIds: created.slice(0, 3).map(({ id }) => id) })).toBe(3);
    await datasets.deleteMany(created.map(({ id }) => id));
    expect(await count({})).toBe(0);
  });

  test("a CSV becomes a dataset, from a path and from a stream", async () => {
    const { datasets, examples } = resources();
    const folder = await mkdtemp(join(tmpdir(), "millrace-csv-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, `${newName()}.csv`);
    const rows = Array.from({ length: 2_500 }, (_, n) => `"q ""${n}"", \nline",${n}`);
    const csv = `\ufeffquestion,answer\r\n${rows.join("\r\n")}\r\n`;
    await writeFile(path, csv);
    const columns = { inputKeys: ["question"], outputKeys: ["answer"] };
    const ofPath = await datasets.createFromCsv({ file: path, ...columns });
    expect(path).toContain(ofPath.name);
    async function* stream() {
      for (let at = 0; at < csv.length; at += 1_000) {
        yield csv.slice(at, at + 1_000);
      }
    }
    const name = newName();
    const file = stream();
    const ofStream = await datasets.createFromCsv({ file, name, description: "d", ...columns });
    for (const { id } of [ofPath, ofStream]) {
      expect(await examples.count({ datasetId: id })).toBe(2_500);
      const [example] = await examples.list({ datasetId: id, limit: 1 }).toArray();
      expect(example?.inputs["question"]).toMatch(/^q "\d+", \nline$/);
    }
    const wrong = datasets.createFromCsv({ file: path, name: newName(), inputKeys: ["nope"] });
    await expect(wrong).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining("nope") as string,
    });
  });
});

describe("versions and splits", () => {
  test("each write creates a version, which can still be read by time and by tag", async () => {
    const all = resources();
    const { datasets, examples } = all;
    const { id } = await newDataset(all);
    const first = await examples.create({ datasetId: id, inputs: { n: 1 } });
    const [one] = await datasets.listVersions({ datasetId: id, limit: 1 }).toArray();
    await datasets.tag({ datasetId: id, asOf: one?.asOf ?? "", tag: "v1" });
    const second = await examples.create({ datasetId: id, inputs: { n: 2 }, split: ["test"] });
    await examples.update(first.id, { inputs: { n: 10 } });
    await examples.delete(second.id);
    const versions = await datasets.listVersions({ datasetId: id }).toArray();
    expect(versions.length).toBeGreaterThanOrEqual(4);
    expect(await datasets.readVersion({ datasetId: id, tag: "v1" })).toMatchObject({
      asOf: one?.asOf,
    });
    expect(await datasets.readVersion({ datasetId: id, asOf: new Date() })).toMatchObject({
      asOf: versions[0]?.asOf,
    });
    expect(await datasets.diff({ datasetId: id, fromVersion: "v1", toVersion: "latest" })).toEqual({
      examplesAdded: [],
      examplesModified: [first.id],
      examplesRemoved: [],
    });
    const [, beforeDelete] = versions;
    expect(
      await datasets.diff({
        datasetId: id,
        fromVersion: beforeDelete?.asOf ?? "",
        toVersion: versions[0]?.asOf ?? "",
      }),
    ).toMatchObject({ examplesRemoved: [second.id] });
    const inputsAt = async (asOf: string | undefined) =>
      (await examples.list({ datasetId: id, asOf }).toArray())
        .map(({ inputs }) => Number(inputs["n"]))
        .toSorted((left, right) => left - right);
    expect(await inputsAt("v1")).toEqual([1]);
    expect(await inputsAt(beforeDelete?.asOf)).toEqual([2, 10]);
    expect(await inputsAt(undefined)).toEqual([10]);
    expect(await examples.read(first.id, { asOf: "v1" })).toMatchObject({ inputs: { n: 1 } });
    expect(await examples.count({ datasetId: id, asOf: beforeDelete?.asOf })).toBe(2);
    await expect(examples.list({ datasetId: id, asOf: "v9" }).toArray()).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("v9") as string,
    });
  });

  test("examples join and leave splits", async () => {
    const all = resources();
    const { datasets, examples } = all;
    const { id, name } = await newDataset(all);
    const { exampleIds } = await examples.createMany({
      datasetId: id,
      examples: [{ inputs: { n: 0 } }, { inputs: { n: 1 }, split: "test" }],
    });
    const [base = "", other = ""] = exampleIds;
    expect(await datasets.listSplits({ datasetName: name })).toEqual(["base", "test"]);
    await datasets.updateSplits({ datasetId: id, splitName: "hard", exampleIds: [base, other] });
    expect((await examples.read(other)).splits.toSorted()).toEqual(["hard", "test"]);
    await datasets.updateSplits({
      datasetId: id,
      splitName: "test",
      exampleIds: [other],
      remove: true,
    });
    expect(await datasets.listSplits({ datasetId: id })).toEqual(["base", "hard"]);
    const hard = await examples.list({ datasetId: id, splits: ["hard"] }).toArray();
    expect(hard.map((example) => example.id).toSorted()).toEqual([base, other].toSorted());
    expect(await examples.count({ datasetId: id, splits: ["base", "test"] })).toBe(1);
  });
});
