import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { DatasetFixture, textOf } from "./support/dataset-fixture.ts";
import { twoTenants } from "./support/hub-tenants.ts";
import { call, runServer } from "./support/running-server.ts";
import { otlpRequest, otlpSpan } from "./support/otlp-spans.ts";
import { wireRun } from "./support/wire-runs.ts";

test("comparing two versions that do not exist is rejected, and the server keeps running", async () => {
  const fixture = await DatasetFixture.open();
  const path = `/datasets/${fixture.id}/versions/diff?from_version=one&to_version=other`;
  expect((await fixture.call(`GET ${path}`)).status).toBe(404);
  expect((await fixture.call("GET /info")).status).toBe(200);
});

test("a session named like a member of every object is rejected as not being a UUID", async () => {
  const fixture = await DatasetFixture.open();
  const body = { session_ids: ["constructor"], filters: {} };
  expect((await fixture.call(`POST /datasets/${fixture.id}/runs`, { body })).status).toBe(422);
});

test("examples can be filtered by as many splits as a URL can contain", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.add({ split: 'last "one"' });
  await fixture.add({ split: "other" });
  const query = new URLSearchParams({ dataset: fixture.id });
  Array.from({ length: 1_200 }, (_, index) => query.append("splits", String(index)));
  query.append("splits", 'last "one"');
  expect((await fixture.call(`GET /examples/count?${query.toString()}`)).text).toBe("1");
});

test("metadata too deep or too long for SQLite is rejected, also without a key", async () => {
  const fixture = await DatasetFixture.open();
  const { json } = await fixture.call(`PUT /datasets/${fixture.id}/share`);
  const lists = `{"a":${"[".repeat(300)}${"]".repeat(300)}}`;
  const objects = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;
  const long = JSON.stringify({ a: Array.from({ length: 300 }, () => 1) });
  for (const metadata of [lists, objects, long]) {
    const query = `metadata=${encodeURIComponent(metadata)}`;
    const path = `/public/${textOf(json["share_token"])}/examples`;
    expect((await fixture.call(`GET ${path}?${query}`)).status).toBe(422);
    expect((await fixture.call(`GET /sessions?${query}`)).status).toBe(422);
  }
});

test("runs can be filtered by as many ids and filters as a request may contain", async () => {
  const server = await runServer();
  const run = wireRun();
  await call(server, "POST /runs", { body: run });
  const ids = Array.from({ length: 9_999 }, () => randomUUID());
  const names = Array.from({ length: 3_200 }, () => '""').join(",");
  const filter = `or(eq(is_root, true), in(name, [${names}]))`;
  const filters = { filter, search_filter: filter, trace_filter: filter, tree_filter: filter };
  const body = { id: [...ids, run.id], session: ids, reference_example: ids, ...filters };
  const none = await call(server, "POST /runs/query", { body });
  expect(none).toMatchObject({ status: 200, json: { runs: [] } });
  expect((await call(server, "POST /runs/stats", { body })).status).toBe(200);
  const some = await call(server, "POST /runs/query", { body: { id: body.id, ...filters } });
  expect(some).toMatchObject({ status: 200, json: { runs: [{ id: run.id }] } });
});

test("a filter can contain as many values as its length allows, for every kind of field", async () => {
  const server = await runServer();
  const values = Array.from({ length: 3_200 }, () => '""').join(",");
  for (const field of ["metadata_key", "metadata_value", "feedback_value", "error", "tags"]) {
    const body = { filter: `in(${field}, [${values}])` };
    expect((await call(server, "POST /runs/query", { body })).status).toBe(200);
  }
});

test("a span whose attributes do not match their types does not affect other spans", async () => {
  const server = await runServer();
  const odd = { toString: 1, valueOf: 1 };
  const attributes = [
    { key: "langsmith.span.tags", value: { arrayValue: { values: [{ kvlistValue: {} }] } } },
    { key: "tag.tags", value: { stringValue: JSON.stringify([odd]) } },
    { key: "bytes", value: { bytesValue: odd } },
    { key: "double", value: { doubleValue: odd } },
  ];
  const body = otlpRequest([otlpSpan({ rest: { attributes } }), otlpSpan({ id: 2 })]);
  const headers = { "content-type": "application/json" };
  const response = await call(server, "POST /otel/v1/traces", { body, headers });
  expect(response).toMatchObject({ status: 200, text: "{}" });
  const deep = JSON.stringify(otlpRequest([otlpSpan({ rest: { name: "@" } })])).replace(
    '"@"',
    "[".repeat(100_000) + "]".repeat(100_000),
  );
  const refused = await call(server, "POST /otel/v1/traces", { body: deep, headers });
  expect(refused).toMatchObject({ status: 400 });
});

test("the fields of an upload are limited in total, even if they are small when compressed", async () => {
  const server = await runServer();
  const field = (name: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${"a".repeat(1_000_000)}\r\n`;
  const form = `${Array.from({ length: 20 }, (_, index) => field(`f${index}`)).join("")}--b--\r\n`;
  const headers = {
    "content-type": "multipart/form-data; boundary=b",
    "content-encoding": "gzip",
  };
  const response = await call(server, "POST /datasets/upload", { body: gzipSync(form), headers });
  expect(response.status).toBe(413);
});

test("a part whose headers contain a NUL or half a line break is rejected, and names no other attachment", async () => {
  const server = await runServer();
  const run = wireRun();
  await call(server, "POST /runs", { body: run });
  const part = (name: string, type: string): string =>
    `--b\r\nContent-Disposition: form-data; name="attachment.${run.id}.${name}"\r\nContent-Type: ${type}; length=1\r\n\r\nx\r\n`;
  const body = `${part("a\0b", "text/plain")}${part("c", "text/plain\rX-Evil: 1")}--b--\r\n`;
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const response = await call(server, "POST /runs/multipart", { body, headers });
  expect(response).toMatchObject({ status: 422, json: { accepted: 0 } });
});

test("a malformed URL is an error like any other", async () => {
  const server = await runServer();
  for (const path of ["/%", "/runs/%zz", `/repos/-/${"a".repeat(101)}`]) {
    expect((await call(server, `GET ${path}`)).json).toEqual({
      detail: expect.any(String) as string,
    });
  }
});

test("another tenant's run that names a trace is not a child in it, for its owner and for readers of its share", async () => {
  const { me, you, server } = await twoTenants();
  const root = wireRun();
  const [own, foreign] = [wireRun({ parent: root }), wireRun({ parent: root })];
  await me("POST /runs/batch", { post: [root, own] });
  await you("POST /runs/batch", { post: [foreign] });
  const children = { child_run_ids: [own.id], direct_child_run_ids: [own.id] };
  expect((await me(`GET /runs/${root.id}`)).json).toMatchObject(children);
  const { json } = await me(`PUT /runs/${root.id}/share`);
  const shared = await call(server, `GET /public/${textOf(json["share_token"])}/run`);
  expect(shared.json).toMatchObject(children);
});
