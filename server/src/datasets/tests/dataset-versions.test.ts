import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../tests/support/matchers.ts";

test("every write creates a version, and as_of reads the state at a time or a tag", async () => {
  const fixture = await DatasetFixture.open();
  const id = await fixture.add({ inputs: { n: 1 } });
  await fixture.call(`PATCH /examples/${id}`, { body: { inputs: { n: 2 } } });
  await fixture.addMany([{ inputs: { n: 10 } }, { inputs: { n: 11 } }]);
  await fixture.call(`DELETE /examples/${id}`);
  const [first = "", second = "", third = "", fourth = "", ...rest] = await fixture.versions();
  expect(rest).toEqual([]);
  expect([first, second, third, fourth].toSorted()).toEqual([first, second, third, fourth]);

  const inputsAt = (asOf: string) => fixture.listOf("inputs", { as_of: asOf });
  expect(await inputsAt(first)).toEqual([{ n: 1 }]);
  expect(await inputsAt(second)).toEqual([{ n: 2 }]);
  expect(await inputsAt(third)).toEqual([{ n: 10 }, { n: 11 }, { n: 2 }]);
  expect(await inputsAt(fourth)).toEqual([{ n: 10 }, { n: 11 }]);
  expect(await inputsAt("latest")).toEqual([{ n: 10 }, { n: 11 }]);
  expect(await inputsAt("1999-01-01T00:00:00Z")).toEqual([]);
  expect(await inputsAt(third.replace("Z", "+00:00"))).toHaveLength(3);
  expect((await fixture.call(`GET /examples/${id}?as_of=${first}`)).json).toMatchObject({
    inputs: { n: 1 },
    modified_at: first,
  });
  expect(await fixture.call(`GET /examples/${id}`)).toMatchObject({ status: 404 });
  const count = (asOf: string) =>
    fixture.call(`GET /examples/count?dataset=${fixture.id}&as_of=${encodeURIComponent(asOf)}`);
  expect((await count(third)).json).toBe(3);

  const put = (body: object) => fixture.call(`PUT /datasets/${fixture.id}/tags`, { body });
  expect((await put({ as_of: second, tag: "prod" })).json).toEqual({
    as_of: second,
    tags: ["prod"],
  });
  expect(await inputsAt("prod")).toEqual([{ n: 2 }]);
  await put({ as_of: "latest", tag: "prod" });
  expect(await inputsAt("prod")).toEqual([{ n: 10 }, { n: 11 }]);
  expect((await fixture.call(`GET /datasets/${fixture.id}/version?tag=prod`)).json).toEqual({
    as_of: fourth,
    tags: ["latest", "prod"],
  });
  expect((await fixture.call(`GET /datasets/${fixture.id}/version?as_of=${third}`)).json).toEqual({
    as_of: third,
    tags: [],
  });
  expect((await fixture.call(`GET /examples/${id}?as_of=prod`)).status).toBe(404);
});

test("an unknown tag is always 404; a time before all versions is too", async () => {
  const fixture = await DatasetFixture.open();
  const id = await fixture.add();
  const path = `/datasets/${fixture.id}`;
  const targets = [
    `GET /examples?dataset=${fixture.id}&as_of=nope`,
    `GET /examples/count?dataset=${fixture.id}&as_of=nope`,
    `GET /examples/${id}?as_of=nope`,
    `GET ${path}/version?tag=nope`,
    `GET ${path}/version?as_of=1999-01-01T00:00:00Z`,
    `GET ${path}/splits?as_of=nope`,
    `GET ${path}/versions/diff?from_version=nope&to_version=latest`,
    `GET ${path}/csv?as_of=nope`,
    `GET ${path}/jsonl?as_of=nope`,
    `GET ${path}/openai_ft?as_of=nope`,
  ];
  const responses = await Promise.all(targets.map((target) => fixture.call(target)));
  for (const [index, { status, text }] of responses.entries()) {
    expect([targets[index], status, text]).toEqual([
      targets[index],
      404,
      containing("Dataset version not found"),
    ]);
  }
  const tag = { as_of: "nope", tag: "t" };
  expect(await fixture.call(`PUT ${path}/tags`, { body: tag })).toMatchObject({ status: 404 });
  const index = await fixture.call(`POST ${path}/index`, { body: { tag: "nope" } });
  expect(index).toMatchObject({ status: 404 });
});

test("a diff lists added, changed and removed examples, in either direction", async () => {
  const fixture = await DatasetFixture.open();
  const [kept, changed, removed] = [await fixture.add(), await fixture.add(), await fixture.add()];
  const before = (await fixture.versions()).at(-1) ?? "";
  await fixture.call(`PATCH /examples/${changed}`, { body: { outputs: { a: 1 } } });
  await fixture.call(`DELETE /examples/${removed}`);
  const added = await fixture.add();
  const diff = async (from: string, to: string) =>
    (
      await fixture.call(
        `GET /datasets/${fixture.id}/versions/diff?${new URLSearchParams({ from_version: from, to_version: to }).toString()}`,
      )
    ).json;
  expect(await diff(before, "latest")).toEqual({
    examples_added: [added],
    examples_modified: [changed],
    examples_removed: [removed],
  });
  expect(await diff("latest", before)).toEqual({
    examples_added: [removed],
    examples_modified: [changed],
    examples_removed: [added],
  });
  const none = { examples_added: [], examples_modified: [], examples_removed: [] };
  expect(await diff("latest", "latest")).toEqual(none);
  expect(await diff("1999-01-01T00:00:00Z", before)).toMatchObject({
    examples_added: [kept, changed, removed],
  });
});

test("versions are listed newest first, by page, by tag and by changed example", async () => {
  const fixture = await DatasetFixture.open();
  const id = await fixture.add();
  await fixture.add();
  await fixture.call(`DELETE /examples/${id}`);
  const versions = await fixture.versions();
  const path = `/datasets/${fixture.id}/versions`;
  await fixture.call(`PUT /datasets/${fixture.id}/tags`, {
    body: { as_of: versions[1], tag: "Release 1" },
  });
  const times = async (query: string) =>
    itemsOf((await fixture.call(`GET ${path}?${query}`)).json).map((one) => one["as_of"]);
  expect(await times("limit=2")).toEqual([versions[2], versions[1]]);
  expect(await times("limit=2&offset=2")).toEqual([versions[0]]);
  expect(await times("search=release")).toEqual([versions[1]]);
  expect(await times("search=late")).toEqual([versions[2]]);
  expect(await times(`example=${id}`)).toEqual([versions[2], versions[0]]);
  expect(await times(`example=${randomUUID()}`)).toEqual([]);
});

test("a write gets the requested time if that is after the newest version and recent", async () => {
  const fixture = await DatasetFixture.open();
  const moment = new Date(Date.now() - 1_000).toISOString();
  await fixture.add({ inputs: { n: 1 }, created_at: moment });
  await fixture.add({ inputs: { n: 2 }, created_at: "2001-01-01T00:00:00Z" });
  expect(await fixture.listOf("inputs", { as_of: moment })).toEqual([{ n: 1 }]);
  const [newest, oldest] = await fixture.list();
  expect(newest).toMatchObject({ created_at: "2001-01-01T00:00:00.000000Z" });
  expect(textOf(newest?.["modified_at"]) > textOf(oldest?.["modified_at"])).toBe(true);
});

test("splits are set on creation, listed for a version, and changed later", async () => {
  const fixture = await DatasetFixture.open();
  const plain = await fixture.add();
  const trained = await fixture.add({ split: "train" });
  const both = await fixture.add({ split: ["train", "test", "train"], metadata: { k: 1 } });
  const splitsOf = async (id: string) =>
    (await fixture.call(`GET /examples/${id}`)).json["metadata"]?.["dataset_split"];
  expect(await splitsOf(plain)).toEqual(["base"]);
  expect(await splitsOf(trained)).toEqual(["train"]);
  expect((await fixture.call(`GET /examples/${both}`)).json["metadata"]).toEqual({
    k: 1,
    dataset_split: ["train", "test"],
  });
  const path = `/datasets/${fixture.id}/splits`;
  expect((await fixture.call(`GET ${path}`)).json).toEqual(["base", "test", "train"]);
  const before = (await fixture.versions()).at(-1);

  const put = (body: object) => fixture.call(`PUT ${path}`, { body });
  const change = { split_name: "test", examples: [plain, both] };
  expect((await put(change)).json).toEqual([plain]);
  expect(await splitsOf(plain)).toEqual(["base", "test"]);
  expect((await put({ ...change, remove: true })).json).toEqual([plain, both]);
  expect((await fixture.call(`GET ${path}`)).json).toEqual(["base", "train"]);
  expect((await fixture.call(`GET ${path}?as_of=${before}`)).json).toEqual([
    "base",
    "test",
    "train",
  ]);
  expect(await fixture.versions()).toHaveLength(5);
  const unknown = { split_name: "x", examples: [plain, randomUUID()] };
  expect(await put(unknown)).toMatchObject({ status: 404 });
  expect(await splitsOf(plain)).toEqual(["base"]);

  expect(await fixture.listOf("id", { splits: "train" })).toHaveLength(2);
  const either = await fixture.call(`GET /examples?dataset=${fixture.id}&splits=base&splits=train`);
  expect(itemsOf(either.json)).toHaveLength(3);
  expect(await fixture.listOf("id", { splits: 'rain"' })).toEqual([]);

  // What was read can be written back, and new metadata keeps the splits.
  await fixture.call(`PATCH /examples/${both}`, { body: { metadata: { k: 2 } } });
  expect(await splitsOf(both)).toEqual(["train"]);
  const written = { metadata: { k: 3, dataset_split: ["a", "b"] } };
  await fixture.call(`PATCH /examples/${both}`, { body: written });
  expect((await fixture.call(`GET /examples/${both}`)).json["metadata"]).toEqual(written.metadata);
  await fixture.call(`PATCH /examples/${both}`, { body: { split: "c" } });
  expect((await fixture.call(`GET /examples/${both}`)).json["metadata"]).toEqual({
    k: 3,
    dataset_split: ["c"],
  });
});
