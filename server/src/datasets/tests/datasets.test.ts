import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";
import { anyText, containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";

const hostile = `<script>alert(1)</script>'; DROP TABLE datasets; --\r\nX-Evil: 1 \u0000\ud800 "ü"`;

test("a dataset is created, read, listed by each filter, updated and deleted", async () => {
  const server = await runServer();
  const body = {
    name: "Alpha",
    description: "first",
    data_type: "chat",
    extra: { source: "sdk", metadata: { team: "a", nested: { x: [1] } } },
  };
  const created = await call(server, "POST /datasets", { body });
  expect(created).toMatchObject({
    status: 200,
    json: {
      ...body,
      id: anyText(),
      tenant_id: anyText(),
      created_at: anyText(),
      modified_at: anyText(),
      example_count: 0,
      session_count: 0,
      last_session_start_time: null,
      metadata: body.extra.metadata,
    },
  });
  const id = textOf(created.json["id"]);
  await call(server, "POST /datasets", { body: { name: "beta" } });
  await call(server, "POST /sessions", { body: { name: "run 1", reference_dataset_id: id } });
  const metadata = encodeURIComponent(JSON.stringify({ nested: { x: [1] } }));
  const queries: Record<string, string[]> = {
    "": ["Alpha", "beta"],
    "name=Alpha": ["Alpha"],
    "name=alpha": [],
    "name_contains=LPH": ["Alpha"],
    [`id=${id}`]: ["Alpha"],
    [`id=${randomUUID()}`]: [],
    "data_type=chat": ["Alpha"],
    "data_type=chat&data_type=kv": ["Alpha", "beta"],
    [`metadata=${metadata}`]: ["Alpha"],
    "sort_by=name": ["beta", "Alpha"],
    "sort_by=name&sort_by_desc=false": ["Alpha", "beta"],
    "sort_by=session_count": ["Alpha", "beta"],
    "sort_by=name&limit=1&offset=1": ["Alpha"],
    "limit=0": [],
  };
  for (const [query, names] of Object.entries(queries)) {
    const { json } = await call(server, `GET /datasets?${query}`);
    expect([query, itemsOf(json).map((one) => textOf(one["name"]))]).toEqual([query, names]);
  }
  const changed = await call(server, `PATCH /datasets/${id}`, {
    body: { name: "gamma", metadata: { team: "b" } },
  });
  expect(changed.json).toMatchObject({
    name: "gamma",
    description: "first",
    session_count: 1,
    metadata: { team: "b" },
    extra: { source: "sdk", metadata: { team: "b" } },
  });
  expect(await call(server, `GET /datasets/${id}`)).toMatchObject({ json: changed.json });
  const emptied = await call(server, `PATCH /datasets/${id}`, {
    body: { description: null, metadata: null },
  });
  expect(emptied.json).toMatchObject({ name: "gamma", description: null, metadata: {} });
  expect(await call(server, `DELETE /datasets/${id}`)).toMatchObject({ status: 200, json: { id } });
  for (const target of [`GET /datasets/${id}`, `DELETE /datasets/${id}`]) {
    expect(await call(server, target)).toMatchObject({
      status: 404,
      json: { detail: "Dataset not found" },
    });
  }
});

test("only an experiment on the dataset can be its baseline", async () => {
  const fixture = await DatasetFixture.open();
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  const create = async (body: object): Promise<string> =>
    textOf((await fixture.call("POST /sessions", { body })).json["id"]);
  const experiment = await create({ name: "tried", reference_dataset_id: fixture.id });
  const elsewhere = await create({ name: "elsewhere", reference_dataset_id: other.id });
  const project = await create({ name: "plain" });
  const path = `PATCH /datasets/${fixture.id}`;
  const pin = async (id: string | null) =>
    fixture.call(path, { body: { baseline_experiment_id: id } });
  expect((await pin(experiment)).json).toMatchObject({ baseline_experiment_id: experiment });
  const unknown = randomUUID();
  const refusals = {
    [unknown]: `baseline_experiment_id: there is no experiment ${unknown}`,
    [elsewhere]: `baseline_experiment_id: ${elsewhere} is not an experiment on this dataset`,
    [project]: `baseline_experiment_id: ${project} is not an experiment on this dataset`,
  };
  for (const [id, detail] of Object.entries(refusals)) {
    expect(await pin(id)).toMatchObject({ status: 422, json: { detail } });
  }
  expect((await fixture.call(`GET /datasets/${fixture.id}`)).json).toMatchObject({
    baseline_experiment_id: experiment,
  });
  expect((await pin(null)).json).toMatchObject({ baseline_experiment_id: null });
});

test("a name that is taken is a conflict, on creation and on renaming", async () => {
  const fixture = await DatasetFixture.open();
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  const taken = { status: 409, json: { detail: "Dataset with this name already exists." } };
  expect(await fixture.call("POST /datasets", { body: { name: "d" } })).toMatchObject(taken);
  expect(await fixture.call(`PATCH /datasets/${other.id}`, { body: { name: "d" } })).toMatchObject(
    taken,
  );
  expect(
    await fixture.call("POST /datasets", { body: { name: "third", id: fixture.id } }),
  ).toMatchObject({ status: 409 });
});

test("deleting a dataset deletes its examples, and leaves other datasets unchanged", async () => {
  const fixture = await DatasetFixture.open();
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  const [gone, kept] = [await fixture.add(), await other.add()];
  const query = `dataset_ids=${fixture.id}&dataset_ids=${randomUUID()}`;
  expect(await fixture.call(`DELETE /datasets?${query}`)).toMatchObject({
    status: 200,
    json: { dataset_ids: [fixture.id] },
  });
  expect(await fixture.call(`GET /examples/${gone}`)).toMatchObject({ status: 404 });
  expect(await fixture.call(`GET /examples/${kept}`)).toMatchObject({ status: 200 });
  expect(await fixture.call(`DELETE /datasets?${query}`)).toMatchObject({ status: 404 });
});

test("HTML, SQL, NUL, lone surrogates and line breaks are stored and returned unchanged", async () => {
  const fixture = await DatasetFixture.open({ name: hostile, description: hostile });
  expect((await fixture.call(`GET /datasets/${fixture.id}`)).json).toMatchObject({
    name: hostile,
    description: hostile,
  });
  const query = new URLSearchParams({ name_contains: "'; DROP TABLE datasets; --" });
  expect(itemsOf((await fixture.call(`GET /datasets?${query.toString()}`)).json)).toHaveLength(1);
  const id = await fixture.add({
    inputs: { [hostile]: hostile },
    outputs: { out: [hostile] },
    metadata: { [hostile]: hostile },
    split: [hostile],
  });
  const { json } = await fixture.call(`GET /examples/${id}`);
  expect(json).toMatchObject({
    inputs: { [hostile]: hostile },
    outputs: { out: [hostile] },
    metadata: { [hostile]: hostile, dataset_split: [hostile] },
  });
  expect((await fixture.call(`GET /datasets/${fixture.id}/splits`)).json).toEqual([hostile]);
  const version = (await fixture.versions()).at(-1);
  const body = { as_of: version, tag: hostile };
  expect((await fixture.call(`PUT /datasets/${fixture.id}/tags`, { body })).json).toEqual({
    as_of: version,
    tags: ["latest", hostile],
  });
});

test("a shared dataset can be read through its token without a key until it is unshared", async () => {
  const server = await runServer({ apiKeys: ["k"] });
  const headers = { "x-api-key": "k" };
  const { json } = await call(server, "POST /datasets", { body: { name: "d" }, headers });
  const id = textOf(json["id"]);
  const body = { dataset_id: id, inputs: { q: 1 }, metadata: { a: 1 } };
  const example = (await call(server, "POST /examples", { body, headers })).json;
  const path = `/datasets/${id}/share`;
  expect((await call(server, `GET ${path}`, { headers })).text).toBe("null");
  const shared = await call(server, `PUT ${path}`, { headers });
  expect(shared.json).toEqual({ dataset_id: id, share_token: anyText() });
  expect((await call(server, `PUT ${path}`, { headers })).json).toEqual(shared.json);
  expect((await call(server, `GET ${path}`, { headers })).json).toEqual(shared.json);

  const token = textOf(shared.json["share_token"]);
  const dataset = (await call(server, `GET /public/${token}/datasets`)).json;
  expect(dataset).toMatchObject({ id, name: "d", example_count: 1 });
  expect(dataset).not.toHaveProperty("tenant_id");
  const examples = await call(server, `GET /public/${token}/examples?id=${textOf(example["id"])}`);
  expect(examples.json).toMatchObject([{ id: example["id"], inputs: { q: 1 } }]);
  expect((await call(server, `GET /public/${token}/examples?id=${randomUUID()}`)).json).toEqual([]);
  expect((await call(server, `GET /public/${token}/examples/count`)).json).toBe(1);
  expect(await call(server, `GET /datasets/${id}`)).toMatchObject({ status: 401 });

  expect(await call(server, `DELETE ${path}`, { headers })).toMatchObject({ status: 200 });
  for (const what of ["datasets", "examples", "examples/count"]) {
    expect(await call(server, `GET /public/${token}/${what}`)).toMatchObject({ status: 404 });
  }
});

test("another tenant's datasets and examples are 404, and stay unchanged", async () => {
  const { me: mine, you: theirs } = await twoTenants();
  const created = await mine("POST /datasets", { name: "d" });
  const id = textOf(created.json["id"]);
  const body = { dataset_id: id, inputs: { q: 1 } };
  const exampleId = textOf((await mine("POST /examples", body)).json["id"]);
  await mine(`POST /datasets/${id}/index`, {});
  const version = textOf((await mine(`GET /datasets/${id}/versions`)).json[0]?.["as_of"]);
  const before = [
    (await mine(`GET /datasets/${id}`)).text,
    (await mine(`GET /examples/${exampleId}`)).text,
  ];
  const tries: readonly (readonly [string, unknown?])[] = [
    [`GET /datasets/${id}`],
    [`PATCH /datasets/${id}`, { name: "stolen" }],
    [`DELETE /datasets/${id}`],
    [`DELETE /datasets?dataset_ids=${id}`],
    [`GET /datasets/${id}/share`],
    [`PUT /datasets/${id}/share`],
    [`DELETE /datasets/${id}/share`],
    [`GET /datasets/${id}/versions`],
    [`GET /datasets/${id}/version`],
    [`GET /datasets/${id}/versions/diff?from_version=latest&to_version=latest`],
    [`PUT /datasets/${id}/tags`, { as_of: version, tag: "t" }],
    [`GET /datasets/${id}/splits`],
    [`PUT /datasets/${id}/splits`, { split_name: "s", examples: [exampleId] }],
    [`GET /datasets/${id}/openai_ft`],
    [`GET /datasets/${id}/csv`],
    [`GET /datasets/${id}/jsonl`],
    [`POST /datasets/${id}/index`, {}],
    [`POST /datasets/${id}/search`, { inputs: { q: 1 } }],
    [`POST /datasets/${id}/runs`, { session_ids: [randomUUID()] }],
    [`GET /examples?dataset=${id}`],
    [`GET /examples/count?dataset=${id}`],
    [`GET /examples/${exampleId}`],
    [`GET /examples/${exampleId}?dataset=${id}`],
    ["POST /examples", body],
    ["POST /examples/bulk", [body]],
    [`PATCH /examples/${exampleId}`, { inputs: { q: 2 } }],
    ["PATCH /examples/bulk", [{ id: exampleId, inputs: { q: 2 } }]],
    [`DELETE /examples/${exampleId}`],
    [`DELETE /examples?example_ids=${exampleId}`],
    ["POST /v1/platform/datasets/examples/delete", { example_ids: [exampleId], hard_delete: true }],
  ];
  for (const [target, tried] of tries) {
    expect([target, (await theirs(target, tried)).status]).toEqual([target, 404]);
  }
  expect((await theirs(`GET /examples?id=${exampleId}`)).json).toEqual([]);
  expect((await theirs("GET /datasets")).json).toEqual([]);
  expect([
    (await mine(`GET /datasets/${id}`)).text,
    (await mine(`GET /examples/${exampleId}`)).text,
  ]).toEqual(before);
  // A name or id of one tenant is available to others.
  expect(await theirs("POST /datasets", { name: "d" })).toMatchObject({ status: 200 });
});

test("bad arguments are rejected with 422, and the error names them", async () => {
  const fixture = await DatasetFixture.open();
  const { id } = fixture;
  const tries: readonly (readonly [string, string, unknown?])[] = [
    ["GET /datasets/x", "dataset id"],
    ["GET /datasets?id=x", "id is not a UUID"],
    ["GET /datasets?limit=-1", "limit"],
    ["GET /datasets?limit=NaN", "limit"],
    ["GET /datasets?limit=1001", "limit"],
    ["GET /datasets?offset=-1", "offset"],
    ["GET /datasets?data_type=x", "data_type"],
    ["GET /datasets?sort_by=x", "sort_by"],
    ["GET /datasets?metadata=[]", "metadata"],
    ["DELETE /datasets", "dataset_ids"],
    ["POST /datasets", "name", {}],
    ["POST /datasets", "name", { name: "" }],
    ["POST /datasets", "data_type", { name: "x", data_type: "csv" }],
    ["POST /datasets", "id", { name: "x", id: "x" }],
    ["POST /datasets", "created_at", { name: "x", created_at: "soon" }],
    [`PATCH /datasets/${id}`, "name", { name: "" }],
    [`GET /datasets/${id}/versions?limit=-1`, "limit"],
    [`GET /datasets/${id}/version?as_of=latest&tag=latest`, "not both"],
    [`GET /datasets/${id}/versions/diff?from_version=latest`, "to_version"],
    [`PUT /datasets/${id}/tags`, "latest", { as_of: "latest", tag: "latest" }],
    [`PUT /datasets/${id}/tags`, "time", { as_of: "latest", tag: "2026-01-01T00:00:00Z" }],
    [`PUT /datasets/${id}/splits`, "split_name", { split_name: "", examples: [randomUUID()] }],
    [`PUT /datasets/${id}/splits`, "examples", { split_name: "s", examples: [] }],
    [`PUT /datasets/${id}/splits`, "UUID", { split_name: "s", examples: ["x"] }],
    [`POST /datasets/${id}/search`, "inputs", {}],
    [`POST /datasets/${id}/search`, "limit", { inputs: {}, limit: 0 }],
    [`POST /datasets/${id}/runs`, "session_ids", { session_ids: [] }],
    [`POST /datasets/${id}/runs`, "session_ids", { session_ids: ["x"] }],
    [`POST /datasets/${id}/runs?format=csv`, "format", { session_ids: [randomUUID()] }],
    ["GET /public/x/datasets", "share token"],
  ];
  for (const [target, reason, body] of tries) {
    const response = await fixture.call(target, { body });
    expect([target, response.status, response.text]).toEqual([target, 422, containing(reason)]);
  }
});
