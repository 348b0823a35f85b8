import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf } from "../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";

const inputsOf = async (fixture: DatasetFixture, query = ""): Promise<unknown[]> => {
  const { json } = await fixture.call(`GET /ui/datasets/${fixture.id}/examples?${query}`);
  return itemsOf(json).map((one) => one["inputs"]);
};

test("a preview has the beginning of each payload and its whole length", async () => {
  const fixture = await DatasetFixture.open();
  const text = "é".repeat(5_000);
  await fixture.add({
    inputs: { text },
    outputs: { a: 1 },
    metadata: { k: "v" },
    split: ["x", "y"],
  });
  const { json } = await fixture.call(`GET /ui/datasets/${fixture.id}/examples`);
  expect(json).toMatchObject([
    {
      inputs: { text: `{"text":"${text}"}`.slice(0, 400), chars: 5_011 },
      outputs: { text: '{"a":1}', chars: 7 },
      splits: ["x", "y"],
      attachment_count: 0,
      source_run_id: null,
    },
  ]);
});

test("previews are filtered, sorted and paged like examples, as of any version", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.addMany([
    { inputs: { n: 1 }, split: "train" },
    { inputs: { n: 2 }, split: "test" },
  ]);
  const id = await fixture.add({ inputs: { n: 3 }, metadata: { hard: true } });
  await fixture.call(`DELETE /examples/${id}`);
  const [, second = ""] = await fixture.versions();
  const text = (n: number) => ({ text: `{"n":${n}}`, chars: 7 });
  expect(await inputsOf(fixture)).toEqual([text(1), text(2)]);
  expect(await inputsOf(fixture, "splits=test")).toEqual([text(2)]);
  expect(await inputsOf(fixture, "limit=1&offset=1")).toEqual([text(2)]);
  expect(await inputsOf(fixture, `as_of=${second}`)).toHaveLength(3);
  const metadata = encodeURIComponent('{"hard":true}');
  expect(await inputsOf(fixture, `as_of=${second}&metadata=${metadata}`)).toEqual([text(3)]);
});

test("a diff counts all differences and returns a page of them, before and after", async () => {
  const fixture = await DatasetFixture.open();
  const gone = await fixture.add({ inputs: { n: "gone" } });
  const changed = await fixture.add({ inputs: { n: "old" } });
  await fixture.add({ inputs: { n: "same" } });
  await fixture.call(`PATCH /examples/${changed}`, { body: { inputs: { n: "new" } } });
  await fixture.call(`DELETE /examples/${gone}`);
  await fixture.addMany([{ inputs: { n: 1 } }, { inputs: { n: 2 } }]);
  const [, , from = ""] = await fixture.versions();
  const path = `/ui/datasets/${fixture.id}/diff?from=${from}&to=latest`;
  const counts = { added: 2, modified: 1, removed: 1 };
  const text = (value: string) => ({ text: `{"n":"${value}"}` });
  expect((await fixture.call(`GET ${path}&limit=2`)).json).toMatchObject({
    counts,
    changes: [
      { id: gone, kind: "removed", before: { inputs: text("gone") }, after: null },
      {
        id: changed,
        kind: "modified",
        before: { inputs: text("old") },
        after: { inputs: text("new") },
      },
    ],
  });
  const added = await fixture.call(`GET ${path}&kind=added`);
  expect(added.json).toMatchObject({ counts, changes: [{ before: null }, { before: null }] });
  expect(itemsOf(added.json["changes"]!)).toHaveLength(2);
  expect((await fixture.call(`GET ${path}&kind=moved`)).status).toBe(422);
});

test("a diff has the number of its later version; the first version is compared with an empty dataset", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.addMany([{ inputs: { n: 1 } }, { inputs: { n: 2 } }]);
  await fixture.add({ inputs: { n: 3 } });
  const [first = "", second = ""] = await fixture.versions();
  const path = `/ui/datasets/${fixture.id}/diff`;
  expect((await fixture.call(`GET ${path}?from_empty=true&to=${first}`)).json).toMatchObject({
    number: 1,
    counts: { added: 2, modified: 0, removed: 0 },
  });
  expect((await fixture.call(`GET ${path}?from=${first}&to=${second}`)).json).toMatchObject({
    number: 2,
    counts: { added: 1, modified: 0, removed: 0 },
  });
});

test("an import stores valid rows as one version, and returns why the others were rejected", async () => {
  const schema = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
  const fixture = await DatasetFixture.open({ inputs_schema_definition: schema });
  const taken = randomUUID();
  const body = [
    { inputs: { q: "one" }, split: "train", id: taken },
    { inputs: { q: 2 } },
    { outputs: { a: 1 } },
    7,
    { inputs: { q: "two" }, metadata: { row: 4 }, source_run_id: randomUUID() },
  ];
  const response = await fixture.call(`POST /ui/datasets/${fixture.id}/import`, { body });
  expect(response).toMatchObject({
    status: 200,
    json: {
      count: 2,
      rejected: [
        { index: 1, reason: "inputs/q must be string" },
        { index: 2, reason: "the row: inputs are missing" },
        { index: 3, reason: containing("the row is") },
      ],
    },
  });
  expect(await fixture.versions()).toEqual([response.json["as_of"]]);
  expect(await fixture.listOf("inputs")).toEqual([{ q: "one" }, { q: "two" }]);
  expect(await fixture.listOf("id")).not.toContain(taken);
  await fixture.call(`POST /ui/datasets/${fixture.id}/import`, { body });
  expect(await fixture.list()).toHaveLength(4);
});

test("an import without valid rows creates no version", async () => {
  const fixture = await DatasetFixture.open();
  const response = await fixture.call(`POST /ui/datasets/${fixture.id}/import`, { body: [{}, {}] });
  expect(response.json).toMatchObject({ count: 0, rejected: [{ index: 0 }, { index: 1 }] });
  expect(await fixture.versions()).toEqual([]);
  const many = Array.from({ length: 10_001 }, () => ({ inputs: {} }));
  const refused = await fixture.call(`POST /ui/datasets/${fixture.id}/import`, { body: many });
  expect(refused.status).toBe(413);
});

test.each(["/ui/datasets/ID/import", "/examples/bulk", "/runs/batch"])(
  "a list is rejected as soon as it is too long, not after all of it was read: %s",
  async (path) => {
    const fixture = await DatasetFixture.open();
    const target = `POST ${path.replace("ID", fixture.id)}`;
    const list = `[${"1,".repeat(100_001)}!`;
    const body = path === "/runs/batch" ? `{"post":${list.replace("!", "1]")}}` : list;
    expect(await fixture.call(target, { body })).toMatchObject({ status: 413 });
  },
);

test("the routes for the UI need a key like the others, and return no other tenant's dataset", async () => {
  const server = await runServer({ apiKeys: ["k"] });
  const headers = { "x-api-key": "k" };
  const created = await call(server, "POST /datasets", { headers, body: { name: "d" } });
  const path = `/ui/datasets/${JSON.stringify(created.json["id"]).slice(1, -1)}`;
  for (const target of [`GET ${path}/examples`, `GET ${path}/diff`, `POST ${path}/import`]) {
    expect(
      (await call(server, target, { body: target.startsWith("P") ? [] : undefined })).status,
    ).toBe(401);
  }
  const other = `/ui/datasets/${randomUUID()}`;
  for (const target of [`GET ${other}/examples`, `GET ${other}/diff`, `POST ${other}/import`]) {
    const body = target.startsWith("P") ? [] : undefined;
    expect((await call(server, target, { headers, body })).status).toBe(404);
  }
});
