import type { ExampleWriteEngine } from "../example-engine.ts";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngines } from "../../../../tests/support/repository-engines.ts";
import type { RepositoryEngine } from "../../../../tests/support/repository-engines.ts";
import { sql } from "kysely";
import type { CheckedFilter } from "../../../filter/checker.ts";
import { TokenKeys } from "../../../storage/sqlite/token-keys.ts";
import type { ExampleFilter, ExampleQuery, ExampleDraft } from "../example.ts";
import { exampleQueries } from "../example-queries.ts";
import { ExampleReader } from "../example-reader.ts";
import { ExampleWriter } from "../example-writer.ts";
import { SchemaChecks } from "../schemas/schema-checks.ts";
import { UploadWriter } from "../../imports/upload-writer.ts";
import { createQueryBuilder } from "../../../storage/query.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import { plainDatasetFields } from "../../../../tests/support/dataset-draft.ts";

// The repositories of examples are written once. The same tests run on SQLite and on PostgreSQL, compiled to
// WebAssembly, and at the end each of their queries has run on PostgreSQL.

/** NUL and half of a surrogate pair, which a text column can't store, and what looks like SQL. */
const strangeText = `<b>'; DROP TABLE examples; --\u0000\ud800"\\u0000 \u00e9`;

const [tenantId, otherId, datasetId] = [randomUUID(), randomUUID(), randomUUID()];
/** What the engine of these tests compiles it to does not depend on the text. */
const condition: CheckedFilter = { kind: "search", text: "x" };
/** The columns of a dataset that no query reads alone. */
const toBody = (): string => JSON.stringify(plainDatasetFields);
const { engines, findUnused } = createEngines();

interface Row {
  readonly key: number;
  readonly id: string;
  readonly position?: number;
  readonly from?: number;
  readonly to?: number | null;
  readonly created?: number;
  readonly sourceRunId?: string | null;
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly metadata?: object;
  readonly attachments?: readonly unknown[];
  readonly datasetId?: string;
}

describe.each(engines)("examples on %s", (_engine, open) => {
  let engine: RepositoryEngine;

  beforeAll(async () => {
    engine = await open();
  });

  beforeEach(async () => {
    await engine.exec(`DELETE FROM datasets; DELETE FROM dataset_versions; DELETE FROM examples;
      DELETE FROM example_blobs;
      INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, version_us, example_count, is_ready, body)
        VALUES ('${datasetId}', '${tenantId}', '"d"', 1, 1, 20, 0, 1, '${toBody()}'),
          ('hidden', '${tenantId}', '"h"', 1, 1, 20, 0, 2, '${toBody()}')`);
  });

  afterAll(() => engine.close());

  const toSql = (value: string | null): string =>
    value === null ? "NULL" : `'${value.replaceAll("'", "''")}'`;
  const insert = async (...rows: readonly Row[]) => {
    for (const row of rows) {
      const { key, id, from = 20, to = null, attachments } = row;
      const { inputs = {}, outputs = null, metadata = {} } = row;
      await engine.exec(`INSERT INTO examples (key, tenant_id, dataset_id, id, position, created_us, from_us, to_us,
          source_run_id, inputs, outputs, metadata, attachments)
        VALUES (${key}, '${tenantId}', '${row.datasetId ?? datasetId}', '${id}', ${row.position ?? key},
          ${row.created ?? key}, ${from}, ${to ?? "NULL"}, ${toSql(row.sourceRunId ?? null)},
          ${toSql(JSON.stringify(inputs))}, ${outputs === null ? "NULL" : toSql(JSON.stringify(outputs))},
          ${toSql(JSON.stringify(metadata))}, ${attachments ? toSql(JSON.stringify(attachments)) : "NULL"})`);
    }
    await engine.indexExamples();
  };
  const createReader = () =>
    new ExampleReader(engine.db, {
      tokenCipher: TokenKeys.createRandom(),
      search: {
        compile: () => sql<boolean>`e.position > 1`,
        match: async (_scope, { terms }) => {
          expect(terms).toEqual(["none"]);
          return [];
        },
      },
    });
  const toQuery = (filter: Partial<ExampleFilter>, rest: Partial<ExampleQuery>): ExampleQuery => ({
    filter: { versionTime: null, datasetId, ...filter },
    order: "id",
    isDescending: false,
    seed: 0,
    limit: 100,
    offset: 0,
    ...rest,
  });
  const list = async (
    filter: Partial<ExampleFilter> = {},
    rest: Partial<ExampleQuery> = {},
    tenant = tenantId,
  ): Promise<string> => {
    const found = await createReader().list(tenant, toQuery(filter, rest));
    return found.map(({ id }) => id).join("");
  };

  test("are read back as they are stored, in the version of a time", async () => {
    const id = randomUUID();
    const attachments = [{ name: "f", mimeType: "text/plain", blob: 7 }];
    const content = { inputs: { a: strangeText }, metadata: { dataset_split: ["base"] } };
    await insert(
      { key: 1, id, from: 10, to: 20, ...content, outputs: { o: 1 }, attachments },
      { key: 2, id, position: 1, from: 20, created: 1, ...content, sourceRunId: "run" },
      { key: 3, id: "staged", from: 30, to: 0 },
      { key: 4, id: "h", datasetId: "hidden" },
    );
    const current = {
      id,
      datasetId,
      datasetName: "d",
      createdMicros: 1,
      modifiedMicros: 20,
      sourceRunId: "run",
      inputs: JSON.stringify(content.inputs),
      outputs: null,
      metadata: JSON.stringify(content.metadata),
      attachments: [],
      position: 1,
    };
    const reader = createReader();
    expect(await reader.find(tenantId, id, null)).toEqual(current);
    expect(await reader.find(tenantId, id, 25)).toEqual(current);
    expect(await reader.find(tenantId, id, 10)).toEqual({
      ...current,
      modifiedMicros: 10,
      sourceRunId: null,
      outputs: '{"o":1}',
      attachments,
    });
    expect(await reader.find(tenantId, id, 9)).toBeUndefined();
    expect(await reader.find(otherId, id, null)).toBeUndefined();
    expect(await reader.find(tenantId, "h", null)).toBeUndefined();
    expect(await reader.findDatasetId(tenantId, id)).toBe(datasetId);
    expect(await reader.findDatasetId(tenantId, "staged")).toBeUndefined();
    expect(await reader.listSources(tenantId, ["run", "other"])).toEqual(["run"]);
    expect(await reader.listSources(otherId, ["run"])).toEqual([]);
    const [preview] = await reader.preview(tenantId, toQuery({ versionTime: 10 }, {}), 4);
    expect(preview).toEqual({
      id,
      createdMicros: 1,
      modifiedMicros: 10,
      sourceRunId: null,
      inputs: { text: '{"a"', chars: current.inputs.length },
      outputs: { text: '{"o"', chars: 7 },
      metadata: { text: '{"da', chars: current.metadata.length },
      splits: ["base"],
      attachmentCount: 1,
    });
  });

  test("are listed and counted by filter", async () => {
    await insert(
      {
        key: 1,
        id: "a",
        inputs: { q: "Where is it?" },
        metadata: { team: "x", n: { deep: [1, 2] } },
      },
      {
        key: 2,
        id: "b",
        outputs: { o: `"${strangeText}` },
        metadata: { dataset_split: ["base", "t"] },
      },
      { key: 3, id: "c", metadata: { dataset_split: [`"t${strangeText}`], team: "x" } },
      { key: 4, id: "d", from: 10, to: 20 },
    );
    const count = (filter: Partial<ExampleFilter>) =>
      createReader().count(tenantId, { versionTime: null, datasetId, ...filter });
    const expectFound = async (filter: Partial<ExampleFilter>, ids: string) => {
      expect(await list(filter)).toBe(ids);
      expect(await count(filter)).toBe(ids.length);
      const previews = await createReader().preview(tenantId, toQuery(filter, {}), 1);
      expect(previews.map(({ id }) => id).join("")).toBe(ids);
    };
    await expectFound({}, "abc");
    await expectFound({ versionTime: 10 }, "d");
    await expectFound({ versionTime: 99 }, "abc");
    await expectFound({ ids: ["a", "c", "d"] }, "ac");
    await expectFound({ ids: [] }, "");
    await expectFound({ splits: ["t", "none"] }, "b");
    await expectFound({ splits: ["base", "t"] }, "b");
    await expectFound({ metadata: { team: "x" } }, "ac");
    await expectFound({ metadata: { n: { deep: [2] } } }, "a");
    await expectFound({ metadata: { n: { deep: [3] } } }, "");
    await expectFound({ texts: ["WHERE IS"] }, "a");
    await expectFound({ texts: [strangeText] }, "b");
    await expectFound({ texts: ["where", "no"] }, "");
    await expectFound({ condition, splits: ["t"] }, "b");
    expect(await list({}, {}, otherId)).toBe("");
    const { datasetId: _all, ...everywhere } = { datasetId, versionTime: null, ids: ["a"] };
    expect(await createReader().count(tenantId, everywhere)).toBe(1);
    expect(await createReader().listSplits(tenantId, datasetId, null)).toHaveLength(3);
    expect(await createReader().listSplits(tenantId, datasetId, 10)).toEqual([]);
  });

  test("are listed in each order, and in pages", async () => {
    await insert(
      { key: 1, id: "c", from: 20, created: 3 },
      { key: 2, id: "a", from: 10, created: 3 },
      { key: 3, id: "b", from: 20, created: 1 },
    );
    expect(await list({}, { order: "recent", isDescending: true })).toBe("cba");
    expect(await list({}, { order: "recent" })).toBe("acb");
    expect(await list({}, { order: "recently_created", isDescending: true })).toBe("cab");
    expect(await list({}, { order: "id", isDescending: true })).toBe("cba");
    expect(await list({}, { order: "id", limit: 1, offset: 1 })).toBe("b");
    expect(await list({}, { order: "written" })).toBe("cab");
    expect(await list({}, { order: "written", after: "c" })).toBe("ab");
    expect(await list({}, { order: "written", after: "a", isDescending: true })).toBe("c");
    expect(await list({ texts: ["{}"] }, { order: "written", after: "a" })).toBe("b");
    await expect(list({}, { order: "written", after: "x" })).rejects.toMatchObject({ status: 404 });
    const shuffled = await list({}, { order: "random", seed: 4_000_000_000 });
    expect(shuffled.split("").toSorted().join("")).toBe("abc");
    expect(await list({}, { order: "random", seed: 4_000_000_000 })).toBe(shuffled);
  });

  test("are exported in pages that end after as many bytes", async () => {
    const rows = [1, 2, 3, 4].map((key) => ({ key, id: `${key}`, inputs: { x: "y".repeat(100) } }));
    await insert(...rows, { key: 5, id: "5", metadata: { dataset_split: ["s"] } });
    const read = async (after: number, bytesMax: number, rest: object = {}) => {
      const page = { datasetId, versionTime: null, after, limit: 10, bytesMax, ...rest };
      const found = await createReader().page(tenantId, page);
      return found.map(({ id }) => id).join("");
    };
    expect(await read(0, 1_000_000)).toBe("12345");
    expect(await read(0, 1)).toBe("1");
    expect(await read(1, 111)).toBe("23");
    expect(await read(0, 1_000_000, { limit: 2 })).toBe("12");
    expect(await read(0, 1_000_000, { versionTime: 19 })).toBe("");
    expect(await read(0, 1_000_000, { versionTime: 20 })).toBe("12345");
    expect(await read(0, 1_000_000, { splits: ["s"] })).toBe("5");
    expect(await read(5, 1_000_000)).toBe("");
  });

  test("are searched if the dataset is indexed; the newest are found where none matches", async () => {
    await insert({ key: 1, id: "a" }, { key: 2, id: "b" });
    const search = async (terms: readonly string[], expression?: CheckedFilter) => {
      const found = await createReader().search(tenantId, {
        datasetId,
        terms,
        limit: 10,
        ...(expression && { condition: expression }),
      });
      return found.map(({ id }) => id).join("");
    };
    await expect(search([])).rejects.toMatchObject({ status: 400 });
    await engine.exec(`UPDATE datasets SET index_json = '{"tag":"latest","micros":null}'`);
    expect(await search(["none"])).toBe("ab");
    expect(await search([], condition)).toBe("b");
  });

  const draft = (rest: Partial<ExampleDraft> = {}): ExampleDraft => ({
    id: randomUUID(),
    hasGeneratedId: false,
    datasetId,
    sourceRunId: null,
    inputs: JSON.stringify({ text: strangeText }),
    outputs: null,
    metadata: "{}",
    ...rest,
  });
  const schemas = new SchemaChecks();
  /** Rows whose words the index was told of. */
  const indexed: { added: number; removed: number }[] = [];
  const writeEngine: ExampleWriteEngine = {
    assignKeys: async () => ((await readNumber("SELECT max(key) FROM examples")) ?? 0) + 1,
    indexNewIds: () => engine.indexExamples(),
    updateTextIndex: (_dataset, { added, removed }) => {
      indexed.push({ added: added.length, removed: removed.length });
    },
    copyRunFile: async (_owner, runKey, name) =>
      runKey === "run" ? { name, mimeType: "text/run", blob: 99 } : undefined,
    deleteMany: (_tenantId, ids, mode) =>
      new LongWrite(
        (function* () {
          yield;
          return [...ids, mode];
        })(),
      ),
  };
  const readNumber = async (selected: string): Promise<number | null> => {
    const query = createQueryBuilder<object>().selectNoFrom(
      sql<number | null>`(${sql.raw(selected)})`.as("n"),
    );
    return (await engine.db.first(query))?.n ?? null;
  };
  const parts = {
    keys: {
      keyOf: (_kind: string, _tenantId: string, id: string) => id,
      assignQualifiedKey: async (_kind: string, owner: string, id: string) => `${id}/${owner}`,
    },
    tokenCipher: TokenKeys.createRandom(),
    schemaChecks: schemas,
    engine: writeEngine,
  };
  const createWriter = () => new ExampleWriter(engine.db, parts);
  const findNewest = async (id: string) => {
    const found = await createReader().find(tenantId, id, null);
    if (found === undefined) {
      throw new Error(`there is no example ${id}`);
    }
    return found;
  };
  const readSize = () => readNumber(`SELECT example_count FROM datasets WHERE id = '${datasetId}'`);

  test("are created as one version, and an identical one only once", async () => {
    indexed.length = 0;
    const [first, second] = [
      draft(),
      draft({ hasGeneratedId: true, outputs: '{"o":1}', createdMicros: 500 }),
    ];
    const { datasets, existingTimes } = await createWriter().create(tenantId, [
      first,
      { ...first },
      second,
    ]);
    const micros = datasets[datasetId]?.micros ?? 0;
    expect(micros).toBeGreaterThanOrEqual(500);
    expect(existingTimes).toEqual({});
    expect(indexed).toEqual([{ added: 2, removed: 0 }]);
    expect(await readSize()).toBe(2);
    expect(await findNewest(first.id)).toMatchObject({
      inputs: first.inputs,
      outputs: null,
      createdMicros: micros,
      modifiedMicros: micros,
    });
    expect(await findNewest(second.id)).toMatchObject({ outputs: '{"o":1}', createdMicros: 500 });

    const again = await createWriter().create(tenantId, [{ ...first, metadata: " {} " }]);
    expect(again).toEqual({
      datasets: { [datasetId]: { name: "d", micros } },
      existingTimes: { [first.id]: { createdMicros: micros, modifiedMicros: micros } },
    });
    const other = { ...first, inputs: '{"text":"other"}' };
    await expect(createWriter().create(tenantId, [other])).rejects.toMatchObject({
      status: 409,
      message: `different examples with these ids already exist: ${first.id}`,
    });
    const hidden = draft({ datasetId: "hidden" });
    await expect(createWriter().create(tenantId, [hidden])).rejects.toMatchObject({ status: 404 });
    await expect(createWriter().check(otherId, datasetId, [])).rejects.toMatchObject({
      status: 404,
    });
    expect(await createWriter().check(tenantId, datasetId, [first])).toEqual({});
    expect(await readSize()).toBe(2);
  });

  test("have files of their own and of their run, which are compared byte for byte", async () => {
    const file = { name: "f", mimeType: "text/plain", bytes: Buffer.from("one") };
    const example = draft({ attachments: [file], runAttachments: ["r"], sourceRunId: "run" });
    await createWriter().create(tenantId, [example]);
    const stored = await findNewest(example.id);
    const [, { blob } = { blob: 0 }] = stored.attachments;
    expect(stored.attachments).toEqual([
      { name: "r", mimeType: "text/run", blob: 99 },
      { name: "f", mimeType: "text/plain", blob },
    ]);
    expect(Buffer.from((await createReader().findBlob(blob)) ?? []).toString()).toBe("one");

    const { existingTimes } = await createWriter().create(tenantId, [example]);
    expect(Object.keys(existingTimes)).toEqual([example.id]);
    const changed = { ...example, attachments: [{ ...file, bytes: Buffer.from("two") }] };
    await expect(createWriter().create(tenantId, [changed])).rejects.toMatchObject({ status: 409 });
    const missing = draft({ runAttachments: ["r"], sourceRunId: "unknown" });
    await expect(createWriter().create(tenantId, [missing])).rejects.toMatchObject({ status: 404 });

    await engine.exec(`UPDATE example_blobs SET checksum = checksum + 1 WHERE key = ${blob}`);
    await expect(createReader().findBlob(blob)).rejects.toMatchObject({ status: 500 });
    expect(await createReader().findBlob(blob + 1)).toBeUndefined();
  });

  test("are updated in a new version, and moved to another dataset", async () => {
    const [first, second] = [draft(), draft()];
    const { datasets } = await createWriter().create(tenantId, [first, second]);
    const created = datasets[datasetId]?.micros ?? 0;
    const unchanged = await createWriter().update(tenantId, [
      { id: first.id, inputs: first.inputs },
    ]);
    expect(unchanged.datasets[datasetId]?.micros).toBe(created);

    const { position } = await findNewest(first.id);
    const file = { name: "n", mimeType: "text/plain", bytes: Buffer.from("new") };
    await createWriter().update(
      tenantId,
      [{ id: first.id, inputs: '{"a":2}', splits: ["s"], attachments: [file] }],
      datasetId,
    );
    const changed = await findNewest(first.id);
    expect(changed).toMatchObject({
      inputs: '{"a":2}',
      metadata: '{"dataset_split":["s"]}',
      attachments: [{ name: "n" }],
      createdMicros: created,
      position,
    });
    expect(changed.modifiedMicros).toBeGreaterThan(created);
    expect(await createReader().find(tenantId, first.id, created)).toMatchObject({
      inputs: first.inputs,
    });

    await engine.exec("UPDATE datasets SET is_ready = 1 WHERE id = 'hidden'");
    await createWriter().update(tenantId, [{ id: second.id, datasetId: "hidden" }]);
    expect((await findNewest(second.id)).datasetId).toBe("hidden");
    expect(await readSize()).toBe(1);
    for (const [id, inDataset] of [
      [randomUUID(), undefined],
      [second.id, datasetId],
    ] as const) {
      const update = createWriter().update(tenantId, [{ id, inputs: "{}" }], inDataset);
      await expect(update).rejects.toMatchObject({ status: 404 });
    }
    const deletion = await createWriter().deleteMany(tenantId, ["a", "a", "b"], "soft");
    expect(deletion.finish()).toEqual(["a", "b", "soft"]);
  });

  test("are uploaded in parts, and belong to no version until the upload ends", async () => {
    const [uploads, id] = [new UploadWriter(engine.db, parts), randomUUID()];
    const upload = {
      id,
      createdMicros: 40,
      name: "u",
      description: null,
      dataType: "kv",
      inputsSchema: null,
      outputsSchema: null,
      extra: null,
      transformations: null,
      externallyManaged: false,
      baselineExperimentId: null,
    } as const;
    await uploads.begin(tenantId, upload);
    const row = { inputs: "{}", outputs: null, metadata: "{}" };
    await uploads.extend(tenantId, id, [row, row]);
    await uploads.extend(tenantId, id, [row]);
    expect(await list({ datasetId: id })).toBe("");
    await uploads.end(tenantId, id);
    expect(await createReader().count(tenantId, { datasetId: id, versionTime: 40 })).toBe(3);
    await expect(uploads.end(tenantId, id)).rejects.toMatchObject({ status: 404 });
    await uploads.begin(tenantId, { ...upload, id: randomUUID(), name: "v" });
  });

  // SQLite's long writes run these queries one by one, in `SqliteExampleRows`.
  test("are found, ended and erased by their rows", async () => {
    const { db } = engine;
    const ids = JSON.stringify(["a", "h", "none"]);
    await insert(
      { key: 1, id: "a", from: 10, to: 20 },
      { key: 2, id: "a", position: 1, from: 20 },
      { key: 3, id: "b" },
      { key: 4, id: "h", datasetId: "hidden" },
    );
    const rows = (await db.all(exampleQueries.findRows, { tenantId, ids })).toSorted(
      (left, right) => left.key - right.key,
    );
    expect(rows.map((row) => [row.key, row.id, row.dataset_id, row.is_current])).toEqual([
      [1, "a", datasetId, 0],
      [2, "a", datasetId, 1],
      [4, "h", "hidden", 0],
    ]);
    const after = (position: number, limit: number) =>
      db.all(exampleQueries.listCurrent, { datasetId, after: position, limit });
    expect((await after(0, 1)).map(({ key }) => key)).toEqual([2]);
    expect((await after(1, 9)).map(({ key }) => key)).toEqual([3]);
    expect(await db.all(exampleQueries.listKeys, { datasetId, limit: 2 })).toHaveLength(2);

    expect(await db.run(exampleQueries.endAll, { keys: "[2,3]", micros: 30 })).toBe(2);
    await engine.exec(`UPDATE datasets SET version_us = 30 WHERE id = '${datasetId}'`);
    expect(await list()).toBe("");
    expect(await list({ versionTime: 29 })).toBe("ab");

    const owner = { tenant_id: tenantId, bytes: Buffer.from("x"), checksum: null };
    await db.run(exampleQueries.insertFile, { ...owner, dataset_id: datasetId, example_id: "a" });
    await db.run(exampleQueries.insertFile, { ...owner, dataset_id: "hidden", example_id: "a" });
    await db.run(exampleQueries.insertFile, { ...owner, dataset_id: datasetId, example_id: "b" });
    const erased = async (keys: string, from: string | null) =>
      db.run(exampleQueries.eraseFiles, { keys, datasetId: from });
    expect(await erased("[1,2]", datasetId)).toBe(1);
    expect(await erased("[1,2]", null)).toBe(1);
    expect(await db.run(exampleQueries.erase, { keys: "[1,2]" })).toBe(2);
    expect(await readNumber("SELECT count(*) FROM example_blobs")).toBe(1);
    expect(await list({ versionTime: 29 })).toBe("b");
  });
});

test("each query of examples has run on PostgreSQL", () => {
  expect(findUnused({ exampleQueries })).toEqual([]);
});
