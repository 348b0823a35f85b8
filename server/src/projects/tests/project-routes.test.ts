import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { anyText } from "../../../tests/support/matchers.ts";
import { call, runOwnServer, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

test("a project is created, updated, read with statistics, and deleted", async () => {
  const server = await runServer();
  const body = { name: "p", description: null, extra: { metadata: { a: 1 } } };
  const created = await call(server, "POST /sessions", { body });
  expect(created).toMatchObject({
    status: 200,
    json: { ...body, id: anyText(), tenant_id: anyText(), start_time: anyText(), end_time: null },
  });
  const path = `/sessions/${textOf(created.json["id"])}`;
  const changes = { name: null, extra: null, description: "d", end_time: "2026-11-21T10:11:12Z" };
  expect((await call(server, `PATCH ${path}`, { body: changes })).json).toMatchObject({
    name: "p",
    description: "d",
    extra: body.extra,
    end_time: "2026-11-21T10:11:12.000000Z",
  });
  await call(server, "POST /runs", { body: wireRun({ session_name: "p", error: "boom" }) });
  const stats = { run_count: 1, error_rate: 1 };
  expect((await call(server, `GET ${path}?include_stats=true`)).json).toMatchObject(stats);
  expect((await call(server, "GET /sessions?name=p&include_stats=true")).json[0]).toMatchObject(
    stats,
  );
  expect((await call(server, `GET ${path}?include_stats=false`)).json).not.toHaveProperty(
    "run_count",
  );
  expect(await call(server, `DELETE ${path}`)).toMatchObject({
    status: 200,
    json: { id: anyText() },
  });
  expect(await call(server, `DELETE ${path}`)).toMatchObject({ status: 404 });
});

test("the statistics of an experiment are those of its results, with the usage of all runs", async () => {
  const server = await runServer();
  const dataset = await call(server, "POST /datasets", { body: { name: "asked" } });
  const reference_dataset_id = textOf(dataset.json["id"]);
  await call(server, "POST /sessions", { body: { name: "tried", reference_dataset_id } });
  const root = wireRun({ session_name: "tried" });
  const usage_metadata = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  const post = [
    root,
    wireRun({ parent: root, session_name: "tried", run_type: "llm", outputs: { usage_metadata } }),
    wireRun({ parent: root, session_name: "tried", error: "tried again" }),
  ];
  await call(server, "POST /runs/batch", { body: { post } });
  const { json } = await call(server, "GET /sessions?name=tried&include_stats=true");
  expect(json[0]).toMatchObject({ run_count: 1, error_rate: 0, total_tokens: 7 });
});

test("the settings are those of the tenant of the projects", async () => {
  const server = await runOwnServer();
  const { json } = await call(server, "POST /sessions", { body: { name: "p" } });
  expect(await call(server, "GET /api/v1/settings")).toMatchObject({
    status: 200,
    json: { id: json["tenant_id"], display_name: anyText(), tenant_handle: null },
  });
});

test("a name that is taken is 409 without upsert, and returns the same project with it", async () => {
  const server = await runServer();
  const created = await call(server, "POST /sessions", { body: { name: "p" } });
  expect(await call(server, "POST /sessions", { body: { name: "p" } })).toMatchObject({
    status: 409,
    json: { detail: "Session with this name already exists." },
  });
  const again = await call(server, "POST /sessions?upsert=true", {
    body: { name: "p", description: "d" },
  });
  expect(again.json["id"]).toEqual(created.json["id"]);
  expect(again.json).toMatchObject({ description: "d" });
});

test("projects are listed by name or newest first, and each page continues after the last one", async () => {
  const server = await runServer();
  for (const [name, day] of [
    ["b", "03"],
    ["a", "01"],
    ["c", "02"],
  ] as const) {
    const body = { name, start_time: `2026-11-${day}T00:00:00Z` };
    await call(server, "POST /sessions", { body });
  }
  const names = async (query: string): Promise<readonly unknown[]> =>
    ((await call(server, `GET /sessions?${query}`)).json as unknown as readonly Json[]).map(
      ({ name }) => name,
    );
  expect(await names("")).toEqual(["a", "b", "c"]);
  expect(await names("sort_by_desc=true")).toEqual(["c", "b", "a"]);
  expect(await names("sort_by=start_time")).toEqual(["b", "c", "a"]);
  expect(await names("sort_by=start_time&sort_by_desc=false")).toEqual(["a", "c", "b"]);
  expect(await names("sort_by=start_time&limit=2&offset=1")).toEqual(["c", "a"]);
  expect(await call(server, "GET /sessions?sort_by=colour")).toMatchObject({ status: 422 });
});

test("malformed projects, filters and ids are rejected with 422", async () => {
  const server = await runServer();
  const id = randomUUID();
  const bodies = [{}, { name: "" }, { name: 1 }, { name: "p", extra: [] }, { name: "p", id: "x" }];
  const responses = [
    ...bodies.map((body) => call(server, "POST /sessions", { body })),
    call(server, `PATCH /sessions/${id}`, { body: { end_time: "soon" } }),
    call(server, "GET /sessions?metadata=[]"),
    call(server, "GET /sessions?metadata={"),
    call(server, "GET /sessions?reference_free=perhaps"),
    call(server, "GET /sessions?id=x"),
    call(server, "DELETE /sessions/x"),
  ];
  for (const { status, text } of await Promise.all(responses)) {
    expect([status, text]).toEqual([422, anyText()]);
  }
  expect(await call(server, `PATCH /sessions/${id}`, { body: {} })).toMatchObject({ status: 404 });
});

test("a project of a dataset that does not exist is refused", async () => {
  const server = await runServer();
  const reference_dataset_id = randomUUID();
  for (const query of ["", "?upsert=true"]) {
    const body = { name: "tried", reference_dataset_id };
    expect(await call(server, `POST /sessions${query}`, { body })).toMatchObject({
      status: 404,
      json: { detail: `Reference dataset not found: ${reference_dataset_id}` },
    });
  }
  expect((await call(server, "GET /sessions?name=tried")).json).toEqual([]);
});
