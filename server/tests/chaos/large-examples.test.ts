import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { pack } from "../../dist/datasets/examples/large-examples.js";
import type { ReceivedExample } from "../../dist/datasets/examples/large-examples.js";
import { openReader } from "../../dist/storage/sqlite/open-database.js";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";
import { DatasetFixture, itemsOf, textOf } from "../support/dataset-fixture.ts";
import { temporaryFolder } from "../support/running-server.ts";
import { plainDatasetFields } from "../support/dataset-draft.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Long enough for a body that is parsed and written on other threads. */
const padding = "x".repeat(300);
const listOf = (count: number, dataset_id: string) =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    dataset_id,
    inputs: { index, padding },
    outputs: { a: index },
  }));

test("a large list is one version, is returned in its order, and repeating it changes nothing", async () => {
  const fixture = await DatasetFixture.open();
  const list = listOf(2_000, fixture.id);
  const created = await fixture.call("POST /examples/bulk", { body: list });
  expect(itemsOf(created.json).map(({ id }) => id)).toEqual(list.map(({ id }) => id));
  const again = await fixture.call("POST /examples/bulk", { body: list });
  expect(again.text).toBe(created.text);
  expect(await fixture.versions()).toHaveLength(1);
  expect(await fixture.listOf("id", { limit: "3" })).toEqual(list.slice(0, 3).map(({ id }) => id));
  const { json } = await fixture.call(`GET /datasets/${fixture.id}`);
  expect(json["example_count"]).toBe(2_000);
  const other = list.with(1_999, { ...list[1_999]!, outputs: { a: -1 } });
  const refused = await fixture.call("POST /examples/bulk", { body: other });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain(list[1_999]?.id);
});

test("a large list with one bad example or change leaves everything unchanged", async () => {
  const fixture = await DatasetFixture.open({
    inputs_schema_definition: { properties: { index: { type: "number" } } },
  });
  const list = listOf(2_000, fixture.id);
  const bad = list.with(1_999, { ...list[1_999]!, inputs: { index: "none" } as never });
  const misfit = await fixture.call("POST /examples/bulk", { body: bad });
  expect([misfit.status, misfit.text]).toEqual([
    422,
    expect.stringContaining(list[1_999]?.id ?? "?"),
  ]);
  expect(await fixture.list()).toEqual([]);
  expect((await fixture.call("POST /examples/bulk", { body: list })).status).toBe(200);
  const changes = list.map(({ id }) => ({ id, outputs: { a: padding } }));
  const unknown = randomUUID();
  const missing = await fixture.call("PATCH /examples/bulk", {
    body: changes.with(1_500, { id: unknown, outputs: { a: "" } }),
  });
  expect([missing.status, missing.text]).toEqual([404, expect.stringContaining(unknown)]);
  const twice = await fixture.call("PATCH /examples/bulk", { body: [...changes, changes[0]] });
  expect([twice.status, twice.text]).toEqual([
    422,
    expect.stringContaining("occurs twice in the list"),
  ]);
  expect(await fixture.versions()).toHaveLength(1);
  const changed = await fixture.call("PATCH /examples/bulk", { body: changes });
  expect(changed.json["count"]).toBe(2_000);
  const [before, after] = await fixture.versions();
  const asOf = async (as_of: string) => (await fixture.list({ as_of, limit: "1" }))[0]?.["outputs"];
  expect([await asOf(before!), await asOf(after!)]).toEqual([{ a: 0 }, { a: padding }]);
  const { json } = await fixture.call(`GET /datasets/${fixture.id}`);
  expect(json["example_count"]).toBe(2_000);
});

test("attachments of a large form are stored, and stay through a large update", async () => {
  const fixture = await DatasetFixture.open();
  const form = new FormData();
  const ids = Array.from({ length: 300 }, () => randomUUID());
  for (const id of ids) {
    form.append(id, new Blob(["{}"], { type: "application/json" }));
    form.append(`${id}.inputs`, new Blob([JSON.stringify({ padding })]));
    form.append(`${id}.attachment.note`, new Blob([padding.repeat(3)], { type: "text/plain" }));
  }
  const target = `/v1/platform/datasets/${fixture.id}/examples`;
  const created = await fixture.call(`POST ${target}`, { body: form });
  expect([created.status, created.json["count"], created.json["existing_count"]]).toEqual([
    201, 300, 0,
  ]);
  const body = ids.map((id) => ({ id, outputs: { padding: padding.repeat(4) } }));
  expect((await fixture.call("PATCH /examples/bulk", { body })).status).toBe(200);
  const { json } = await fixture.call(`GET /examples/${ids[299]}`);
  const url = json["attachment_urls"]?.["attachment.note"]?.["presigned_url"];
  expect(await (await fetch(textOf(url))).text()).toBe(padding.repeat(3));
  expect(json["outputs"]).toEqual({ padding: padding.repeat(4) });
});

/** A store with a dataset, and drafts of examples in parts. */
async function openStore(folder: string) {
  const store = await openSqliteStore(folder);
  onTestFinished(() => store.close());
  return { store, tenantId: store.defaultTenantId };
}
const draftsOf = (datasetId: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    useSourceRunIo: false,
    draft: {
      id: randomUUID(),
      hasGeneratedId: false,
      datasetId,
      sourceRunId: null,
      inputs: JSON.stringify({ index, padding }),
      outputs: null,
      metadata: '{"dataset_split":["base"]}',
      attachments: [{ name: "f", mimeType: "text/plain", bytes: new Uint8Array([1, 2]) }],
    },
  }));
const partsOf = (drafts: readonly ReceivedExample[]) =>
  Array.from({ length: drafts.length / 100 }, (_, at) =>
    pack(drafts.slice(at * 100, (at + 1) * 100)),
  );

/** Counts all rows of examples, visible or not. */
function countRows(folder: string): Record<string, number> {
  const db = openReader(join(folder, "millrace.db"));
  const count = (from: string) =>
    Number(db.prepare(`SELECT count(*) FROM ${from}`).raw().all().flat()[0]);
  const tables = ["examples", "example_blobs", "example_places_new", "dataset_versions"];
  const counts = Object.fromEntries(tables.map((table) => [table, count(table)]));
  const noted = count("settings WHERE key = 'staged_examples'");
  db.close();
  return { ...counts, noted };
}
const nothing = {
  examples: 0,
  example_blobs: 0,
  example_places_new: 0,
  dataset_versions: 0,
  noted: 0,
};

async function waitUntil(isSo: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!isSo() && Date.now() < end) {
    await wait(2);
  }
  expect(isSo()).toBe(true);
}

test("staged rows are invisible, and those of a server that ended in between are erased", async () => {
  const folder = await temporaryFolder();
  const { store, tenantId } = await openStore(folder);
  const id = randomUUID();
  await store.write.datasets.create(tenantId, {
    ...plainDatasetFields,
    id,
    name: "d",
    createdMicros: 1,
  });
  const drafts = draftsOf(id, 20_000);
  const writing = store.write.largeExamples.create(tenantId, partsOf(drafts)).then(
    () => "written",
    (cause: unknown) => (cause instanceof Error ? cause.message : cause),
  );
  await waitUntil(() => (countRows(folder)["examples"] ?? 0) > 0);
  expect(await store.read.examples.count(tenantId, { datasetId: id, versionTime: null })).toBe(0);
  const first = drafts[0]!.draft.id;
  expect(await store.read.examples.findDatasetId(tenantId, first)).toBeUndefined();
  await store.close();
  expect(await writing).toBe("the server is closing");
  const left = countRows(folder);
  expect([left["examples"], left["noted"]]).toEqual([expect.any(Number), 1]);
  expect(left["examples"]).toBeGreaterThan(0);
  const { store: next } = await openStore(folder);
  expect(countRows(folder)).toEqual(nothing);
  expect((await next.read.datasets.find(tenantId, id))?.versionMicros).toBeNull();
});

test("a large write that fails midway erases what it had staged", async () => {
  const folder = await temporaryFolder();
  const { store, tenantId } = await openStore(folder);
  const id = randomUUID();
  await store.write.datasets.create(tenantId, {
    ...plainDatasetFields,
    id,
    name: "d",
    createdMicros: 1,
  });
  const drafts = draftsOf(id, 2_000);
  const last = drafts[1_999]!;
  const broken = { ...last, draft: { ...last.draft, runAttachments: ["none"] } };
  const writing = store.write.largeExamples.create(tenantId, partsOf(drafts.with(1_999, broken)));
  await expect(writing).rejects.toMatchObject({ status: 404 });
  expect(countRows(folder)).toEqual(nothing);
});

test("another write to the dataset waits until a large one ends", async () => {
  const folder = await temporaryFolder();
  const { store, tenantId } = await openStore(folder);
  const id = randomUUID();
  await store.write.datasets.create(tenantId, {
    ...plainDatasetFields,
    id,
    name: "d",
    createdMicros: 1,
  });
  const drafts = draftsOf(id, 2_000);
  const one = drafts[1_000]!.draft;
  const [large, small, second] = await Promise.allSettled([
    store.write.largeExamples.create(tenantId, partsOf(drafts)),
    store.write.examples.create(tenantId, [{ ...one, inputs: "{}", attachments: [] }]),
    store.write.largeExamples.create(tenantId, partsOf(drafts)),
  ]);
  const before = small.status === "fulfilled" ? [large, second] : [small];
  // Whichever write came second found the result of the first.
  for (const refused of before) {
    expect(refused).toMatchObject({ status: "rejected", reason: { status: 409 } });
  }
  const count = await store.read.examples.count(tenantId, { datasetId: id, versionTime: null });
  expect(count).toBe(small.status === "fulfilled" ? 1 : 2_000);
});

test("a split is set on many examples as one version, or on none if one does not exist", async () => {
  const fixture = await DatasetFixture.open();
  const list = listOf(1_000, fixture.id);
  await fixture.call("POST /examples/bulk", { body: list });
  const ids = list.map(({ id }) => id);
  const put = (examples: readonly string[], remove = false) =>
    fixture.call(`PUT /datasets/${fixture.id}/splits`, {
      body: { split_name: "test", examples, remove },
    });
  const unknown = randomUUID();
  const missing = await put([...ids, unknown]);
  expect([missing.status, missing.text]).toEqual([404, expect.stringContaining(unknown)]);
  expect(await fixture.versions()).toHaveLength(1);
  expect((await put([...ids, ...ids])).json).toEqual(ids);
  expect((await put(ids)).json).toEqual([]);
  expect((await put(ids.slice(1), true)).json).toEqual(ids.slice(1));
  expect(await fixture.versions()).toHaveLength(3);
  expect(await fixture.listOf("id", { splits: "test" })).toEqual(ids.slice(0, 1));
});

test("a hard deletion of many examples removes every version, and can be repeated", async () => {
  const folder = await temporaryFolder();
  const { store, tenantId } = await openStore(folder);
  const id = randomUUID();
  await store.write.datasets.create(tenantId, {
    ...plainDatasetFields,
    id,
    name: "d",
    createdMicros: 1,
  });
  const drafts = draftsOf(id, 1_000);
  await store.write.largeExamples.create(tenantId, partsOf(drafts));
  const ids = drafts.map(({ draft }) => draft.id);
  const change = { name: "test", exampleIds: ids, isRemoval: false };
  await store.write.largeExamples.updateSplits(tenantId, id, change);
  expect(countRows(folder)["examples"]).toBe(2_000);
  const half = ids.slice(0, 500);
  expect(await store.write.examples.deleteMany(tenantId, half, "hard")).toEqual(half);
  expect(await store.write.examples.deleteMany(tenantId, ids, "soft")).toEqual(ids.slice(500));
  expect(countRows(folder)).toMatchObject({ examples: 1_000, example_blobs: 500 });
  expect(await store.write.examples.deleteMany(tenantId, ids, "hard")).toEqual(ids.slice(500));
  expect(countRows(folder)).toMatchObject({ ...nothing, dataset_versions: 4 });
  expect((await store.read.datasets.find(tenantId, id))?.exampleCount).toBe(0);
  const again = store.write.examples.deleteMany(tenantId, ids, "hard");
  await expect(again).rejects.toMatchObject({ status: 404 });
});

test("a new schema and changes of examples take effect together, or not at all", async () => {
  const fixture = await DatasetFixture.open();
  const list = listOf(1_000, fixture.id);
  await fixture.call("POST /examples/bulk", { body: list });
  const schema = { properties: { index: { maximum: 998 } } };
  const patch = (index: number) =>
    fixture.call(`PATCH /datasets/${fixture.id}`, {
      body: {
        inputs_schema_definition: schema,
        patch_examples: { [list[999]!.id]: { inputs: { index } } },
      },
    });
  expect((await patch(999)).status).toBe(422);
  const { json } = await fixture.call(`GET /datasets/${fixture.id}`);
  expect(json["inputs_schema_definition"]).toBeNull();
  const { status, json: changed } = await patch(5);
  expect([status, changed["inputs_schema_definition"]]).toEqual([200, schema]);
  expect(await fixture.versions()).toHaveLength(2);
});
