import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngines } from "../../../tests/support/repository-engines.ts";
import type { RepositoryEngine } from "../../../tests/support/repository-engines.ts";
import { LongWrite } from "../../storage/long-write.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import type { DatasetDraft, DatasetFields, DatasetQuery, DatasetUpdate } from "../dataset.ts";
import { datasetDeletions, datasetQueries } from "../dataset-queries.ts";
import { DatasetReader } from "../dataset-reader.ts";
import { toDatasetColumns } from "../dataset-row.ts";
import { CurrentAuthor } from "../version-author.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import { DatasetWriter } from "../dataset-writer.ts";
import { SchemaChecks } from "../examples/schemas/schema-checks.ts";
import { draftDataset } from "../../../tests/support/dataset-draft.ts";

// The repositories of datasets are written once. The same tests run on SQLite and on PostgreSQL, compiled to
// WebAssembly, and at the end each of their queries has run on PostgreSQL.

/** NUL and half of a surrogate pair, which a text column can't store, and what looks like SQL. */
const strangeText = `<b>'; DROP TABLE datasets; --\u0000\ud800"\\u0000 \u00e9`;

const [tenantId, otherId] = [randomUUID(), randomUUID()];
const { engines, findUnused } = createEngines();
const [missing, conflict] = [{ status: 404 }, { status: 409 }];

describe.each(engines)("datasets on %s", (_engine, open) => {
  let engine: RepositoryEngine;
  const tokens = TokenKeys.createRandom();
  /** Datasets whose examples are erased in two steps. */
  const erasedOnce = new Set<string>();
  const updates: DatasetUpdate[] = [];

  beforeAll(async () => {
    engine = await open();
  });

  beforeEach(async () => {
    erasedOnce.clear();
    updates.length = 0;
    await engine.exec(`DELETE FROM datasets; DELETE FROM dataset_versions; DELETE FROM dataset_tags;
      DELETE FROM examples; DELETE FROM example_blobs; DELETE FROM projects; DELETE FROM comparatives;
      DELETE FROM comparative_experiments; DELETE FROM annotation_queues`);
  });

  afterAll(() => engine.close());

  const draft = (rest: Partial<DatasetDraft> = {}): DatasetDraft =>
    draftDataset({ createdMicros: 1_700_000_000_000_001, ...rest });
  const createReader = (keys = tokens) => new DatasetReader(engine.db, keys);
  const createWriter = (keys = tokens) =>
    new DatasetWriter(engine.db, {
      tokenCipher: keys,
      schemaChecks: new SchemaChecks(),
      keys: {
        keyOf: (_kind, _tenantId, id) => id,
        assignQualifiedKey: async (_kind, owner, id) => `${id}/${owner}`,
      },
      examples: {
        updateDataset: (_tenantId, update) => {
          updates.push(update);
          return new LongWrite(
            (function* updateDataset(): Generator<void, typeof update.dataset> {
              yield;
              return update.dataset;
            })(),
          );
        },
        eraseSome: (id) => erasedOnce.has(id) || !erasedOnce.add(id),
      },
      index: {
        begin: () => 7,
        extend: (_id, { afterKey, limit }) => (afterKey === 0 ? limit : undefined),
      },
    });
  const write = <Result>(call: (writer: DatasetWriter) => Promise<Result>): Promise<Result> =>
    engine.transact(() => call(createWriter()));
  const create = (rest: Partial<DatasetDraft> = {}, tenant = tenantId) =>
    write((writer) => writer.create(tenant, draft(rest)));
  const list = async (query: Partial<DatasetQuery> = {}): Promise<string[]> => {
    const found = await createReader().list(tenantId, {
      order: "name",
      isDescending: false,
      limit: 100,
      offset: 0,
      ...query,
    });
    return found.map(({ name }) => name);
  };
  const currentAuthor = new CurrentAuthor();
  const addVersion = (id: string, micros: number, added = 0) =>
    engine.transact(async () => {
      const versions = new DatasetVersions(engine.db, tokens, currentAuthor);
      await versions.addVersion(await versions.readDataset(tenantId, id), micros, added);
    });
  const insertExample = (
    datasetId: string,
    row: { readonly key: number; readonly id: string; readonly from: number; readonly to?: number },
  ) =>
    engine.exec(`INSERT INTO examples (key, tenant_id, dataset_id, id, position, created_us, from_us, to_us,
        inputs, metadata)
      VALUES (${row.key}, '${tenantId}', '${datasetId}', '${row.id}', ${row.key}, 1, ${row.from},
        ${row.to ?? "NULL"}, '{}', '{}')`);

  test("have versions with authors, each of whom is read for the versions until the next one", async () => {
    const { id } = await create();
    await addVersion(id, 10);
    const author = { name: strangeText, keyName: strangeText, client: "browser" };
    currentAuthor.author = author;
    await addVersion(id, 20);
    const read = (time: number | null, tenant = tenantId) =>
      createReader().readVersionAuthor(tenant, id, time);
    expect(await read(19)).toBeNull();
    expect(await read(20)).toEqual(author);
    expect(await read(null)).toEqual(author);
    expect(await read(9)).toBeNull();
    expect(await read(null, otherId)).toBeNull();
    currentAuthor.author = null;
  });

  test("are read back as they were created, whatever their texts contain", async () => {
    const fields: DatasetFields = draft({
      name: strangeText,
      description: strangeText,
      dataType: "chat",
      extra: { metadata: { [strangeText]: strangeText } },
      transformations: [{ a: strangeText }],
      externallyManaged: true,
      baselineExperimentId: randomUUID(),
    });
    const created = await create(fields);
    expect(created).toMatchObject({
      ...fields,
      tenantId,
      versionMicros: null,
      exampleCount: 0,
      experimentCount: 0,
      lastExperimentStartMicros: null,
      shareToken: null,
      index: null,
    });
    expect(await createReader().find(tenantId, created.id)).toEqual(created);
    expect(await createReader().find(otherId, created.id)).toBeUndefined();
    expect(await list({ name: strangeText })).toEqual([strangeText]);
  });

  test("keep a name and an id that are taken; another tenant's id gets a longer key", async () => {
    const { id } = await create();
    await expect(create()).rejects.toMatchObject({ ...conflict, message: /name/ });
    await expect(create({ id, name: "e" })).rejects.toMatchObject({ ...conflict, message: /id/ });
    expect(await create({ id }, otherId)).toMatchObject({ id, tenantId: otherId });
    expect(await createReader().find(otherId, `${id}/${otherId}`)).toBeDefined();
    expect(await list()).toEqual(["d"]);
  });

  test("are updated by a long write, which stores the fields at its end", async () => {
    const { id, ...rest } = await create();
    await create({ name: "taken" });
    const update = (fields: Partial<DatasetFields>, at = id) =>
      write((writer) => writer.update(tenantId, at, { fields, exampleChanges: [] }));
    await expect(update({ name: "taken" })).rejects.toMatchObject(conflict);
    await expect(update({}, randomUUID())).rejects.toMatchObject(missing);
    expect((await update({ name: "d" })).finish()).toMatchObject({ id, name: "d" });
    await update({ name: "e", inputsSchema: null });
    expect(
      updates.map(({ dataset, mustCheckExamples }) => [dataset.name, mustCheckExamples]),
    ).toEqual([
      ["d", false],
      ["e", true],
    ]);
    const changed = { ...draft({ ...rest, name: "e", extra: { a: 1 } }), id };
    const store = (micros: number) =>
      engine.transact(() =>
        engine.db.run(datasetQueries.update, {
          ...toDatasetColumns(changed),
          id,
          modified_us: micros,
        }),
      );
    await store(rest.modifiedMicros + 10);
    await store(5);
    expect(await createReader().find(tenantId, id)).toMatchObject({
      name: "e",
      extra: { a: 1 },
      modifiedMicros: rest.modifiedMicros + 11,
    });
  });

  test("are modified later with each version, even if a client has backdated it", async () => {
    const { id, modifiedMicros: micros } = await create();
    await addVersion(id, micros + 20);
    expect(await createReader().find(tenantId, id)).toMatchObject({ modifiedMicros: micros + 20 });
    const columns = { ...toDatasetColumns(draft()), id, modified_us: micros + 40 };
    await engine.transact(() => engine.db.run(datasetQueries.update, columns));
    await addVersion(id, micros + 30);
    expect(await createReader().find(tenantId, id)).toMatchObject({
      versionMicros: micros + 30,
      modifiedMicros: micros + 41,
    });
  });

  test("are listed by filter, in order and in pages, with their experiments", async () => {
    const metadata = { team: "a", deep: { x: 1 } };
    const { id } = await create({ name: "b1", extra: { metadata }, createdMicros: 3 });
    await create({ name: "A2", dataType: "llm", extra: { metadata: { team: "a" } } });
    await create({ name: `c${strangeText}`, createdMicros: 2 });
    await create({ name: "b1" }, otherId);
    await engine.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us, reference_dataset_id) VALUES
      ('p1', '${tenantId}', '"p1"', 5, '${id}'), ('p2', '${tenantId}', '"p2"', 9, '${id}'),
      ('p3', '${otherId}', '"p3"', 11, '${id}')`);
    expect(await list()).toEqual(["A2", "b1", `c${strangeText}`]);
    expect(await list({ limit: 1, offset: 1 })).toEqual(["b1"]);
    expect(await list({ name: "b1" })).toEqual(["b1"]);
    expect(await list({ nameContains: "a2" })).toEqual(["A2"]);
    expect(await list({ nameContains: strangeText })).toEqual([`c${strangeText}`]);
    expect(await list({ ids: [id, randomUUID()] })).toEqual(["b1"]);
    expect(await list({ ids: [] })).toEqual([]);
    expect(await list({ dataTypes: ["llm", "chat"] })).toEqual(["A2"]);
    expect(await list({ metadata: { team: "a" } })).toEqual(["A2", "b1"]);
    expect(await list({ metadata: { team: "a" }, offset: 1 })).toEqual(["b1"]);
    expect(await list({ metadata: { deep: { x: 1 } }, nameContains: "B" })).toEqual(["b1"]);
    const bySession = { order: "last_session_start_time" } as const;
    expect((await list({ ...bySession, isDescending: true }))[0]).toBe("b1");
    expect((await list({ ...bySession, isDescending: false }))[0]).toBe("b1");
    expect((await list({ order: "session_count" }))[2]).toBe("b1");
    expect((await list({ order: "created_at" }))[0]).toBe(`c${strangeText}`);
    const orders = ["example_count", "modified_at"] as const;
    for (const order of orders) {
      expect((await list({ order })).toSorted()).toEqual((await list()).toSorted());
    }
    expect(await createReader().find(tenantId, id)).toMatchObject({
      experimentCount: 2,
      lastExperimentStartMicros: 9,
    });
  });

  test("have versions, which are found by time and by tag", async () => {
    const { id } = await create({ createdMicros: 3 });
    const reader = createReader();
    const find = (asOf: Parameters<typeof reader.findVersion>[2], tenant = tenantId) =>
      reader.findVersion(tenant, id, asOf);
    const tag = (name: string, micros: number) =>
      write((writer) => writer.tag(tenantId, id, { asOf: { kind: "time", micros }, tag: name }));
    const latest = { kind: "tag", tag: "latest" } as const;
    expect(await find(latest)).toBeUndefined();
    await addVersion(id, 10, 2);
    await addVersion(id, 20, -1);
    expect(await reader.find(tenantId, id)).toMatchObject({
      versionMicros: 20,
      modifiedMicros: 20,
      exampleCount: 1,
    });
    expect(await tag(strangeText, 15)).toEqual({ micros: 10, tags: [strangeText] });
    await expect(tag("none", 9)).rejects.toMatchObject(missing);
    await tag("b", 10);
    expect(await tag("a", 20)).toEqual({ micros: 20, tags: ["latest", "a"] });
    expect(await tag("b", 25)).toEqual({ micros: 20, tags: ["latest", "a", "b"] });
    expect(await find({ kind: "tag", tag: strangeText })).toEqual({
      micros: 10,
      tags: [strangeText],
    });
    expect(await find({ kind: "time", micros: 9 })).toBeUndefined();
    expect(await find({ kind: "time", micros: 19 })).toMatchObject({ micros: 10 });
    expect(await find(latest)).toMatchObject({ micros: 20 });
    expect(await find(latest, otherId)).toBeUndefined();
    const listVersions = async (query: { search?: string; exampleId?: string }, limit = 10) => {
      const page = { limit, offset: 10 - limit };
      const found = await reader.listVersions(tenantId, id, { ...query, ...page });
      return found.map(({ micros }) => micros);
    };
    const exampleId = randomUUID();
    await insertExample(id, { key: 1, id: exampleId, from: 10, to: 15 });
    expect(await listVersions({})).toEqual([20, 10]);
    expect(await listVersions({}, 9)).toEqual([10]);
    expect(await listVersions({ search: "LATE" })).toEqual([20]);
    expect(await listVersions({ search: strangeText.toUpperCase() })).toEqual([]);
    expect(await listVersions({ search: "DROP table" })).toEqual([10]);
    expect(await listVersions({ search: "B" })).toEqual([20, 10]);
    expect(await reader.listVersions(otherId, id, { limit: 9, offset: 0 })).toEqual([]);
    await engine.indexExamples();
    expect(await listVersions({ exampleId })).toEqual([10]);
    expect(await listVersions({ exampleId, search: "latest" })).toEqual([]);
  });

  test("differ between two versions by the examples that were added, changed and removed", async () => {
    const { id } = await create();
    await addVersion(id, 10);
    await addVersion(id, 20);
    await insertExample(id, { key: 1, id: "kept", from: 10 });
    await insertExample(id, { key: 2, id: "removed", from: 10, to: 20 });
    await insertExample(id, { key: 3, id: "changed", from: 10, to: 20 });
    await insertExample(id, { key: 4, id: "changed", from: 20 });
    await insertExample(id, { key: 5, id: "added", from: 20 });
    await insertExample(id, { key: 6, id: "brief", from: 12, to: 14 });
    const diff = { added: ["added"], modified: ["changed"], removed: ["removed"] };
    const versionTimes = { from: 10, to: null };
    expect(await createReader().diff(tenantId, id, versionTimes)).toEqual(diff);
    expect(await createReader().diff(tenantId, id, { from: null, to: 10 })).toEqual({
      added: ["removed"],
      modified: ["changed"],
      removed: ["added"],
    });
    expect(await createReader().diff(otherId, id, versionTimes)).toMatchObject({ added: [] });
    expect(await createReader().countVersions(tenantId, id, 10)).toBe(1);
    expect(await createReader().countVersions(tenantId, id, null)).toBe(2);
    expect(await createReader().countVersions(otherId, id, null)).toBe(0);
    const page = { ...versionTimes, limit: 2, offset: 1 };
    expect(await createReader().diffPage(tenantId, id, page)).toEqual({
      countByKind: { removed: 1, modified: 1, added: 1 },
      changes: [
        { id: "changed", kind: "modified" },
        { id: "added", kind: "added" },
      ],
    });
  });

  test("are found by the token of their share, which is stored encrypted", async () => {
    const { id } = await create();
    const share = (keys = tokens) => engine.transact(() => createWriter(keys).share(tenantId, id));
    await expect(write((writer) => writer.share(otherId, id))).rejects.toMatchObject(missing);
    const token = await share();
    expect(await share()).toBe(token);
    const stranger = TokenKeys.createRandom();
    await expect(share(stranger)).rejects.toMatchObject(conflict);
    expect(await createReader().findShared(token)).toMatchObject({ id, shareToken: token });
    expect(await createReader(stranger).findShared(token)).toMatchObject({
      shareToken: { isHidden: true },
    });
    expect(await createReader().findShared(randomUUID())).toBeUndefined();
    await expect(write((writer) => writer.unshare(otherId, id))).rejects.toMatchObject(missing);
    await write((writer) => writer.unshare(tenantId, id));
    expect(await createReader().findShared(token)).toBeUndefined();
    expect(await createReader().find(tenantId, id)).toMatchObject({ shareToken: null });
  });

  test("are indexed for a search in steps", async () => {
    const { id } = await create();
    await addVersion(id, 10);
    await write((writer) =>
      writer.tag(tenantId, id, { asOf: { kind: "time", micros: 10 }, tag: "v1" }),
    );
    const begin = (tag: string) => write((writer) => writer.beginIndex(tenantId, id, tag));
    await expect(begin("none")).rejects.toMatchObject(missing);
    expect(await begin("v1")).toEqual({ afterKey: 0, lastKey: 7 });
    expect(await createReader().find(tenantId, id)).toMatchObject({
      index: { tag: "v1", micros: 10 },
    });
    const extend = (afterKey: number) =>
      write((writer) => writer.extendIndex(tenantId, id, { afterKey, lastKey: 7 }));
    expect(await extend(0)).toEqual({ afterKey: 1_000, lastKey: 7 });
    expect(await extend(1_000)).toBeUndefined();
    await begin("latest");
    expect(await createReader().find(tenantId, id)).toMatchObject({
      index: { tag: "latest", micros: null },
    });
  });

  test("are hidden when they are deleted, and erased with all that belongs to them", async () => {
    const { id } = await create();
    const { id: keptId } = await create({ name: "kept" });
    for (const [tenant, datasetId] of [
      [tenantId, id],
      [otherId, id],
      [tenantId, keptId],
    ] as const) {
      const comparativeId = randomUUID();
      await engine.exec(`INSERT INTO comparatives (tenant_id, id, dataset_id, name_json, created_us, modified_us, digest)
          VALUES ('${tenant}', '${comparativeId}', '${datasetId}', '"c"', 1, 1, 'x');
        INSERT INTO comparative_experiments (tenant_id, comparative_id, position, project_id)
          VALUES ('${tenant}', '${comparativeId}', 0, 'p');
        INSERT INTO annotation_queues (tenant_id, id, name_json, created_us, updated_us, default_dataset_id, body, digest)
          VALUES ('${tenant}', '${randomUUID()}', '"q"', 1, 1, '${datasetId}', '{}', 'x')`);
    }
    for (const [key, datasetId] of [id, keptId].entries()) {
      await addVersion(datasetId, 10);
      await write((writer) =>
        writer.tag(tenantId, datasetId, { asOf: { kind: "time", micros: 10 }, tag: "t" }),
      );
      await insertExample(datasetId, { key: key + 1, id: randomUUID(), from: 10 });
      await engine.exec(`INSERT INTO example_blobs (tenant_id, dataset_id, example_id, bytes)
        VALUES ('${tenantId}', '${datasetId}', 'e', 'b')`);
    }
    const remove = (tenant: string, ids: readonly string[]) =>
      write((writer) => writer.deleteMany(tenant, ids));
    await expect(remove(otherId, [id])).rejects.toMatchObject(missing);
    expect(await remove(tenantId, [id, id, randomUUID()])).toEqual([id]);
    expect(await list()).toEqual(["kept"]);
    await create({ name: "d" });
    const sweep = () => write((writer) => writer.sweep());
    expect([await sweep(), await sweep(), await sweep()]).toEqual([true, true, false]);
    await expect(create({ id, name: "again" })).resolves.toMatchObject({ id });
    const rows: number[] = [];
    for (const deletion of Object.values(datasetDeletions)) {
      rows.push(await engine.transact(() => engine.db.run(deletion, { id: keptId })));
    }
    expect(rows).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    const others = [datasetDeletions.comparatives, datasetDeletions.queueDefaults];
    for (const deletion of others) {
      expect(await engine.transact(() => engine.db.run(deletion, { id }))).toBe(0);
    }
  });
});

test("each query of datasets has run on PostgreSQL", () => {
  const unused = findUnused({ datasetQueries, datasetDeletions });
  // Uploads run these; they are tested through the server.
  const ofUploads = ["setReady", "listIncomplete", "findUnready"];
  expect(unused).toEqual(ofUploads.map((name) => `datasetQueries.${name}`));
});
