import { randomUUID } from "node:crypto";
import { parseServerInfo } from "millrace/model";
import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import { anyText } from "../../../tests/support/matchers.ts";

test("/info has what the SDK reads", async () => {
  const server = await runServer();
  const { json, status } = await call(server, "GET /api/v1/info/?");
  expect(status).toBe(200);
  expect(parseServerInfo(json)).toMatchObject({
    version: "0.18.0",
    batchLimit: 1_000,
    batchBytes: 20_971_520,
    multipart: true,
    gzip: true,
    resolvesLatestCommit: true,
  });
});

test("the root path returns the server and its addresses", async () => {
  const server = await runServer();
  expect((await call(server, "GET /")).json).toMatchObject({
    name: "millrace",
    endpoint: server.url,
  });
});

test("a missing run is 404, a malformed id 422, an unknown path 404", async () => {
  const server = await runServer();
  expect(await call(server, `GET /runs/${randomUUID()}`)).toMatchObject({
    status: 404,
    json: { detail: "Run not found" },
  });
  expect(await call(server, "GET /runs/run-1")).toMatchObject({ status: 422 });
  expect(await call(server, "GET /wibble")).toMatchObject({
    status: 404,
    json: { detail: "there is no GET /wibble" },
  });
});

test("a run is returned in the wire format", async () => {
  const server = await runServer();
  const root = wireRun();
  const run = wireRun({
    parent: root,
    micros: someMicros + 7,
    name: "child",
    run_type: "llm",
    start_time: "2026-11-21T10:11:12.345685Z",
    end_time: "2026-11-21T10:11:13.000001Z",
    inputs: { q: 1 },
    outputs: { a: 2 },
    extra: { metadata: { k: "v" } },
    events: [{ name: "new_token" }],
    tags: ["x", "y"],
    serialized: { lc: 1 },
    session_name: "evals",
    wibble: "kept",
  });
  await call(server, "POST /runs/batch", { body: { post: [root, run] } });
  const { json } = await call(server, `GET /runs/${run.id}`);
  expect(json).toMatchObject({
    ...run,
    status: "success",
    parent_run_ids: [root.id],
    child_run_ids: [],
    error: null,
    first_token_time: null,
    reference_example_id: null,
  });
});

test("text that is HTML or SQL is returned unchanged", async () => {
  const server = await runServer();
  const text = `<script>alert(1)</script>'; DROP TABLE runs; --"\\\u0000\u2028`;
  const run = wireRun({
    name: text,
    session_name: text,
    inputs: { [text]: text },
    tags: [text],
    error: text,
  });
  await call(server, "POST /runs", { body: run });
  const response = await call(server, `GET /runs/${run.id}`);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(response.json).toMatchObject({
    name: text,
    session_name: text,
    inputs: { [text]: text },
    tags: [text],
    error: text,
  });
});

test("lone surrogates and NULs survive from POST to GET, escape by escape", async () => {
  const server = await runServer();
  const id = randomUUID();
  const body = `{"id":"${id}","name":"\\uD800\\u0000n","inputs":{"t":"a\\u0000b\\ud83d\\uDE00\\udfff"}}`;
  expect((await call(server, "POST /runs", { body })).status).toBe(202);
  const { text } = await call(server, `GET /runs/${id}`);
  expect(text).toContain('"name":"\\uD800\\u0000n"');
  expect(text).toContain('"inputs":{"t":"a\\u0000b\\ud83d\\uDE00\\udfff"}');
});

test("start times keep their microseconds, as text and as milliseconds", async () => {
  const server = await runServer();
  const [asText, asNumber] = [randomUUID(), randomUUID()];
  await call(server, "POST /runs", {
    body: { id: asText, start_time: "2026-11-21T10:11:12.345678+00:00" },
  });
  await call(server, "POST /runs", { body: { id: asNumber, start_time: 1_795_255_872_345.678 } });
  const starts = await Promise.all(
    [asText, asNumber].map(
      async (id) => (await call(server, `GET /runs/${id}`)).json["start_time"],
    ),
  );
  expect(starts).toEqual(["2026-11-21T10:11:12.345678Z", "2026-11-21T10:11:12.345678Z"]);
});

const names = (json: Json): unknown =>
  (json["runs"] as unknown as { name: string }[]).map(({ name }) => name);

test("a query filters, orders, selects, and pages by cursor", async () => {
  const server = await runServer();
  const post = Array.from({ length: 5 }, (_, index) =>
    wireRun({
      name: `run-${index}`,
      micros: someMicros + index,
      session_name: index < 4 ? "p" : "q",
      inputs: { index },
    }),
  );
  await call(server, "POST /runs/batch", { body: { post } });
  const projects = await call(server, "GET /sessions?name=p");
  const session = [projects.json[0]?.["id"]];
  const body = {
    session,
    limit: 3,
    select: ["id", "name"],
    order: null,
    cursor: null,
    filter: null,
  };
  const first = await call(server, "POST /runs/query", { body });
  expect(first.status).toBe(200);
  expect(names(first.json)).toEqual(["run-3", "run-2", "run-1"]);
  expect(Object.keys(first.json["runs"]?.[0] ?? {})).toEqual(["id", "name"]);
  const cursor = first.json["cursors"]?.["next"];
  const second = await call(server, "POST /runs/query", { body: { ...body, cursor } });
  expect(names(second.json)).toEqual(["run-0"]);
  expect(second.json["cursors"]).toEqual({ next: null, prev: null });
  const ascending = await call(server, "POST /runs/query", {
    body: { session, order: "asc", limit: 1 },
  });
  expect(names(ascending.json)).toEqual(["run-0"]);
});

test.each([
  [{ filter: "eq(nam, 'a')" }, "filter: unknown field `nam`, did you mean `name`?"],
  [{ trace_filter: "x(name)" }, "trace_filter: unknown function `x`"],
  [{ tree_filter: "eq(name)" }, "tree_filter: expected , after the field of eq, found )"],
  [{ search_filter: "search('')" }, "search_filter: search takes a text that is not empty"],
  [
    { cursor: "wibble" },
    'cursor was not returned by this list: "wibble"; start again without a cursor',
  ],
  [{ session: ["p"] }, 'session is not a UUID: "p"'],
  [{ trace: "t" }, 'trace is not a UUID: "t"'],
  [{ start_time: "noon" }, 'start_time is neither an ISO 8601 time nor epoch milliseconds: "noon"'],
  [{ limit: 0 }, "must be >= 1"],
  [{ limit: "5" }, "must be a whole number or null"],
  [{ error: "yes" }, "must be true or false, or null"],
  [{ order: "up" }, 'must be "asc", "desc" or null'],
  ["[]", "must be an object"],
  ["{", "the body is not JSON"],
])("the query %j is rejected with the reason", async (body, message) => {
  const server = await runServer();
  const response = await call(server, "POST /runs/query", { body });
  expect(response.status).toBe(422);
  expect(JSON.stringify(response.json["detail"])).toContain(JSON.stringify(message).slice(1, -1));
});

test("queries and statistics refuse unknown members, and name them and the known ones", async () => {
  const server = await runServer();
  for (const target of ["POST /runs/query", "POST /api/v1/runs/stats"]) {
    const body = { projct_name: "p", limit: 1, filtr: 'eq(name, "x")' };
    const { status, json } = await call(server, target, { body });
    expect(status).toBe(422);
    expect(json).toMatchObject({ detail: [{ loc: ["body"] }] });
    expect(json["detail"]?.[0]?.["msg"]).toMatch(
      /^unknown members "projct_name" and "filtr"; known: session, id, trace, .*, cursor, /,
    );
    // Hints that the API of the hosted service knows are accepted.
    const hints = { skip_pagination: null, skip_prev_cursor: true, use_experimental_search: false };
    expect((await call(server, target, { body: hints })).status).toBe(200);
  }
});

test("a cursor is invalid in the other order", async () => {
  const server = await runServer();
  await call(server, "POST /runs/batch", { body: { post: [wireRun(), wireRun()] } });
  const { json } = await call(server, "POST /runs/query", { body: { limit: 1 } });
  const cursor = json["cursors"]?.["next"];
  expect(await call(server, "POST /runs/query", { body: { cursor, order: "asc" } })).toMatchObject({
    status: 422,
  });
});

test("statistics accept the same filters", async () => {
  const server = await runServer();
  const end_time = "2026-11-21T10:11:14.345678Z";
  await call(server, "POST /runs/batch", {
    body: { post: [wireRun({ end_time }), wireRun({ error: "boom" })] },
  });
  expect((await call(server, "POST /runs/stats", { body: {} })).json).toMatchObject({
    run_count: 2,
    latency_p50: 2,
    latency_p99: 2,
    error_rate: 0.5,
    last_run_start_time: "2026-11-21T10:11:12.345678Z",
  });
  expect((await call(server, "POST /runs/stats", { body: { error: true } })).json).toMatchObject({
    run_count: 1,
    error_rate: 1,
    latency_p50: null,
  });
});

test("a shared run can be read without a key until it is unshared", async () => {
  const server = await runServer({ apiKeys: ["secret"] });
  const headers = { "x-api-key": "secret" };
  const run = wireRun({ name: "shared" });
  await call(server, "POST /runs", { body: run, headers });
  const path = `/runs/${run.id}/share`;
  expect(await call(server, `GET ${path}`, { headers })).toMatchObject({
    status: 200,
    text: "null",
  });
  const { json } = await call(server, `PUT ${path}`, { headers });
  expect(json).toEqual({ run_id: run.id, share_token: anyText() });
  expect((await call(server, `GET ${path}`, { headers })).json).toEqual(json);
  const token = JSON.stringify(json["share_token"]).slice(1, -1);
  expect((await call(server, `GET /public/${token}/run`)).json).toMatchObject({ name: "shared" });
  expect(await call(server, `DELETE ${path}`, { headers })).toMatchObject({
    status: 200,
    text: "null",
  });
  expect(await call(server, `GET /public/${token}/run`)).toMatchObject({ status: 404 });
  expect(await call(server, `PUT /runs/${randomUUID()}/share`, { headers })).toMatchObject({
    status: 404,
  });
});

test("projects are found by name and by id", async () => {
  const server = await runServer();
  await call(server, "POST /runs", { body: wireRun({ session_name: "évals & more" }) });
  const found = await call(
    server,
    `GET /sessions?name=${encodeURIComponent("évals & more")}&limit=1&offset=0`,
  );
  expect(found.json[0]).toMatchObject({ name: "évals & more", tenant_id: anyText() });
  const id = JSON.stringify(found.json[0]?.["id"]).slice(1, -1);
  expect((await call(server, `GET /sessions/${id}`)).json).toEqual(found.json[0]);
  expect((await call(server, "GET /sessions?name=other")).json).toEqual([]);
  expect(await call(server, `GET /sessions/${randomUUID()}`)).toMatchObject({ status: 404 });
  expect(await call(server, "GET /sessions/p")).toMatchObject({ status: 422 });
  expect(await call(server, "GET /sessions?limit=x")).toMatchObject({ status: 422 });
});
