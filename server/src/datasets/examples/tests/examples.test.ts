import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../../tests/support/dataset-fixture.ts";
import { anyText, containing } from "../../../../tests/support/matchers.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

test("an example is created, read, partly updated, and deleted", async () => {
  const fixture = await DatasetFixture.open();
  const body = {
    dataset_id: fixture.id,
    id: randomUUID(),
    inputs: { q: 1 },
    outputs: { a: 2 },
    metadata: { m: 3 },
    created_at: "2026-01-02T03:04:05.678901Z",
    source_run_id: randomUUID(),
  };
  const created = await fixture.call("POST /examples", { body });
  expect(created).toMatchObject({
    status: 200,
    json: {
      ...body,
      metadata: { m: 3, dataset_split: ["base"] },
      name: `#${body.id.slice(0, 4)} @ d`,
      modified_at: anyText(),
      attachment_urls: null,
    },
  });
  const path = `/examples/${body.id}`;
  expect((await fixture.call(`GET ${path}`)).json).toEqual(created.json);
  expect((await fixture.call(`GET ${path}?dataset=${fixture.id}`)).json).toEqual(created.json);
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  expect(await fixture.call(`GET ${path}?dataset=${other.id}`)).toMatchObject({ status: 404 });

  await fixture.call(`PATCH ${path}`, { body: { inputs: { q: 9 }, outputs: null } });
  expect((await fixture.call(`GET ${path}`)).json).toMatchObject({
    inputs: { q: 9 },
    outputs: { a: 2 },
    created_at: body.created_at,
  });
  const versions = await fixture.versions();
  await fixture.call(`PATCH ${path}`, { body: { inputs: { q: 9 } } });
  await fixture.call(`PATCH ${path}`, { body: {} });
  expect(await fixture.versions()).toEqual(versions);
  const cleared = await fixture.call(`PATCH ${path}`, { body: { outputs: null, overwrite: true } });
  expect(cleared.json).toMatchObject({ inputs: { q: 9 }, outputs: null });

  expect(
    (await fixture.call(`PATCH ${path}`, { body: { dataset_id: other.id } })).json,
  ).toMatchObject({ dataset_id: other.id, name: `#${body.id.slice(0, 4)} @ other` });
  expect(await fixture.list()).toEqual([]);
  expect(await other.listOf("id")).toEqual([body.id]);
  expect((await fixture.call(`DELETE ${path}`)).json).toEqual({ id: body.id });
  expect(await fixture.call(`DELETE ${path}`)).toMatchObject({ status: 404 });
  expect(await fixture.call(`PATCH ${path}`, { body: {} })).toMatchObject({ status: 404 });
});

test("payloads are returned byte for byte: large numbers, NUL, lone surrogates, equal names", async () => {
  const fixture = await DatasetFixture.open();
  const inputs = String.raw`{"n":123456789012345678901234567890.10, "nul":"\u0000","lone":"\ud800","n":1e400}`;
  const id = randomUUID();
  const one = `{"dataset_id":"${fixture.id}","id":"${id}","inputs":${inputs},"outputs":{"x" : 1}}`;
  await fixture.call("POST /examples/bulk", { body: `[${one}]` });
  for (const target of [`GET /examples/${id}`, `GET /examples?dataset=${fixture.id}`]) {
    const { text } = await fixture.call(target);
    expect(text).toContain(`"inputs":${inputs},"outputs":{"x" : 1},`);
  }
  expect((await fixture.call(`GET /datasets/${fixture.id}/jsonl`)).text).toContain(inputs);
});

test("a list of examples is returned in its order; repeating it changes nothing, a different one is 409", async () => {
  const fixture = await DatasetFixture.open();
  const ids = Array.from({ length: 300 }, () => randomUUID());
  const body = ids.map((id, n) => ({ dataset_id: fixture.id, id, inputs: { n } }));
  const created = await fixture.call("POST /examples/bulk", { body });
  expect(itemsOf(created.json).map(({ id }) => id)).toEqual(ids);
  expect(await fixture.listOf("id", { limit: "1000" })).toEqual(ids);
  expect((await fixture.call("POST /examples/bulk", { body })).json).toEqual(created.json);
  expect(await fixture.versions()).toHaveLength(1);
  const changed = [
    ...body.slice(0, 2),
    { ...body[2], inputs: { n: -1 } },
    { ...body[3], id: randomUUID() },
  ];
  expect(await fixture.call("POST /examples/bulk", { body: changed })).toMatchObject({
    status: 409,
    json: { detail: containing(String(ids[2])) },
  });
  const twice = [
    { ...body[0], id: "11111111-1111-4111-8111-111111111111" },
    { ...body[1], id: "11111111-1111-4111-8111-111111111111" },
  ];
  expect(await fixture.call("POST /examples/bulk", { body: twice })).toMatchObject({ status: 409 });
  expect((await fixture.call(`GET /examples/count?dataset=${fixture.id}`)).json).toBe(300);

  const updates = ids.slice(0, 3).map((id, n) => ({ id, outputs: { n } }));
  expect((await fixture.call("PATCH /examples/bulk", { body: updates })).json).toMatchObject({
    count: 3,
    example_ids: ids.slice(0, 3),
  });
  expect(await fixture.listOf("outputs", { limit: "3" })).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
  const faulty = [
    { id: ids[4], outputs: { n: 4 } },
    { id: randomUUID(), outputs: {} },
  ];
  expect(await fixture.call("PATCH /examples/bulk", { body: faulty })).toMatchObject({
    status: 404,
  });
  expect((await fixture.call(`GET /examples/${ids[4]}`)).json["outputs"]).toBeNull();
  expect(await fixture.versions()).toHaveLength(2);
  expect((await fixture.call("POST /examples/bulk", { body: [] })).json).toEqual([]);
});

test("deleted examples stay in earlier versions, unless they are hard-deleted", async () => {
  const fixture = await DatasetFixture.open();
  const [soft, hard] = [await fixture.add(), await fixture.add()];
  const before = (await fixture.versions()).at(-1) ?? "";
  const removed = await fixture.call(
    `DELETE /examples?example_ids=${soft}&example_ids=${randomUUID()}`,
  );
  expect(removed.json).toEqual({ count: 1, example_ids: [soft] });
  const path = "POST /v1/platform/datasets/examples/delete";
  const body = { example_ids: [hard], hard_delete: true };
  expect((await fixture.call(path, { body })).json).toEqual({ count: 1, example_ids: [hard] });
  expect(await fixture.call(path, { body })).toMatchObject({ status: 404 });
  expect(await fixture.listOf("id", { as_of: before })).toEqual([soft]);
  expect((await fixture.call(`GET /datasets/${fixture.id}`)).json["example_count"]).toBe(0);
  await fixture.call(`POST /api/v1/platform/datasets/examples/delete`, {
    body: { example_ids: [soft], hard_delete: true },
  });
  expect(await fixture.listOf("id", { as_of: before })).toEqual([]);
});

test("examples are found by id, metadata, text and filter, in each order, with selected members", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.addMany([
    { inputs: { q: "Alpha Beta" }, metadata: { lang: "de", tags: ["x", "y"], deep: { n: 1 } } },
    { inputs: { q: "gamma" }, outputs: { a: "ALPHA" }, metadata: { lang: "en" } },
    { inputs: { q: 'quote " and <b>' }, metadata: { lang: null, flag: true } },
  ]);
  const [first = "", second = "", third = ""] = (await fixture.listOf("id")).map(textOf);
  const metadata = (value: object) => ({ metadata: JSON.stringify(value) });
  const finds = async (query: Record<string, string>) => fixture.listOf("id", query);
  expect(await finds(metadata({ lang: "de" }))).toEqual([first]);
  expect(await finds(metadata({ tags: ["y"], deep: { n: 1 } }))).toEqual([first]);
  expect(await finds(metadata({ tags: ["z"] }))).toEqual([]);
  expect(await finds(metadata({ flag: true, lang: null }))).toEqual([third]);
  expect(await finds({ full_text_contains: "alpha" })).toEqual([first, second]);
  expect(await finds({ full_text_contains: 'quote " and' })).toEqual([third]);
  expect(await finds({ filter: 'has(metadata, \'{"lang": "en"}\')' })).toEqual([second]);
  expect(await finds({ filter: 'and(eq(split, "base"), search("gamma"))' })).toEqual([second]);
  expect(await fixture.call(`GET /examples?dataset=${fixture.id}&filter=eq(`)).toMatchObject({
    status: 422,
    json: { detail: containing("filter: ") },
  });
  const byIds = await fixture.call(`GET /examples?id=${first}&id=${third}&id=${randomUUID()}`);
  expect(itemsOf(byIds.json).map(({ id }) => id)).toEqual([first, third]);
  expect((await fixture.call(`GET /examples/count?id=${first}&id=${third}`)).json).toBe(2);

  expect(await finds({ order: "id" })).toEqual([first, second, third].toSorted());
  expect(await finds({ order: "recently_created", limit: "1", offset: "2" })).toEqual([third]);
  const shuffled = await finds({ order: "random", random_seed: "0.5" });
  expect(shuffled.map(textOf).toSorted()).toEqual([first, second, third].toSorted());
  expect(await finds({ order: "random", random_seed: "0.5" })).toEqual(shuffled);

  expect((await fixture.list({ limit: "1" }))[0]).not.toHaveProperty("attachment_urls");
  const [chosen] = await fixture.list({ select: "metadata", limit: "1" });
  expect(Object.keys(chosen ?? {}).toSorted()).toEqual(
    ["created_at", "dataset_id", "id", "inputs", "metadata", "modified_at", "name"].toSorted(),
  );
  expect(await fixture.list({ limit: "0" })).toEqual([]);
});

test("inputs, outputs and attachments are copied from the source run", async () => {
  const fixture = await DatasetFixture.open();
  const run = wireRun({ inputs: { from: "run" }, outputs: { to: "run" } });
  const form = new FormData();
  const part = (value: object): Blob => {
    const text = JSON.stringify(value);
    return new Blob([text], { type: `application/json; length=${text.length}` });
  };
  form.append(`post.${run.id}`, part(run));
  form.append(`attachment.${run.id}.pic`, new Blob(["bytes"], { type: "text/plain; length=5" }));
  expect((await fixture.call("POST /runs/multipart", { body: form })).status).toBe(202);
  const id = await fixture.add({
    inputs: null,
    source_run_id: run.id,
    use_source_run_io: true,
    use_source_run_attachments: ["pic"],
  });
  const { json } = await fixture.call(`GET /examples/${id}`);
  expect(json).toMatchObject({
    inputs: { from: "run" },
    outputs: { to: "run" },
    source_run_id: run.id,
  });
  const file = json["attachment_urls"]?.["attachment.pic"];
  expect(file).toMatchObject({ mime_type: "text/plain" });
  expect(await (await fetch(textOf(file?.["presigned_url"]))).text()).toBe("bytes");
  const missing = { dataset_id: fixture.id, source_run_id: randomUUID(), use_source_run_io: true };
  expect(await fixture.call("POST /examples", { body: missing })).toMatchObject({
    status: 404,
    json: { detail: containing("source run") },
  });
});

test("a malformed example is rejected with 422, and nothing of its request is written", async () => {
  const fixture = await DatasetFixture.open();
  const good = { dataset_id: fixture.id, inputs: {} };
  const bodies: readonly (readonly [unknown, string])[] = [
    ["{", "not JSON"],
    ["[]", "an object"],
    [{ inputs: {} }, "dataset_id is missing"],
    [{ ...good, dataset_id: "x" }, "dataset_id is not a UUID"],
    [{ dataset_id: fixture.id }, "inputs are missing"],
    [{ ...good, inputs: [] }, "inputs must be a JSON object"],
    [{ ...good, outputs: "x" }, "outputs must be a JSON object"],
    [{ ...good, metadata: 1 }, "metadata must be a JSON object"],
    [{ ...good, id: "x" }, "id is not a UUID"],
    [{ ...good, split: [] }, "split"],
    [{ ...good, split: "" }, "split"],
    [{ ...good, split: ["a", 1] }, "split"],
    [{ ...good, created_at: "soon" }, "created_at"],
    [{ ...good, source_run_id: "x" }, "source_run_id"],
    [{ ...good, use_source_run_io: true }, "source_run_id is missing"],
    [`{"dataset_id":"${fixture.id}","inputs":${'{"a":'.repeat(600)}1${"}".repeat(600)}}`, "levels"],
  ];
  for (const [body, reason] of bodies) {
    const response = await fixture.call("POST /examples", { body });
    expect([response.status, response.text]).toEqual([422, containing(reason)]);
  }
  const bulk = await fixture.call("POST /examples/bulk", { body: [good, { ...good, inputs: 1 }] });
  expect([bulk.status, bulk.text]).toEqual([422, containing("example 1: inputs")]);
  const targets: Record<string, string> = {
    "GET /examples": "dataset or id is missing",
    "GET /examples?dataset=x": "dataset is not a UUID",
    "GET /examples?id=x": "id is not a UUID",
    [`GET /examples?id=${randomUUID()}&as_of=tag`]: "pass dataset too",
    [`GET /examples?dataset=${fixture.id}&limit=-1`]: "limit",
    [`GET /examples?dataset=${fixture.id}&limit=NaN`]: "limit",
    [`GET /examples?dataset=${fixture.id}&limit=1001`]: "limit",
    [`GET /examples?dataset=${fixture.id}&order=x`]: "order",
    [`GET /examples?dataset=${fixture.id}&select=x`]: "select",
    [`GET /examples?dataset=${fixture.id}&random_seed=x`]: "random_seed",
    "GET /examples/x": "example id",
    "DELETE /examples": "example_ids",
  };
  for (const [target, reason] of Object.entries(targets)) {
    const response = await fixture.call(target);
    expect([target, response.status, response.text]).toEqual([target, 422, containing(reason)]);
  }
  expect(
    itemsOf((await fixture.call(`GET /examples?dataset=${fixture.id}&limit=101`)).json),
  ).toEqual([]);
  expect(await fixture.versions()).toEqual([]);
});

test("a body over the limit is rejected with 413, and so is one that inflates beyond it", async () => {
  const fixture = await DatasetFixture.open();
  const zeros = Buffer.alloc(25 * 1_048_576, 0x20);
  for (const target of ["POST /examples", "POST /examples/bulk"]) {
    expect(await fixture.call(target, { body: zeros })).toMatchObject({ status: 413 });
    const bomb = { body: gzipSync(zeros), headers: { "content-encoding": "gzip" } };
    expect(await fixture.call(target, bomb)).toMatchObject({ status: 413 });
  }
});
