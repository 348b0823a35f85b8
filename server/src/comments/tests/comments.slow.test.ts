import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../dist/store/sqlite-store.js";
import {
  call,
  runOwnServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const toAuthor = (name: string) => ({ "x-millrace-author": encodeURIComponent(name) });

type Server = Parameters<typeof call>[0];

/** Stores a run and an example. */
async function createTargets(server: Server, headers: Readonly<Record<string, string>> = {}) {
  const run = wireRun({ session_name: "p" });
  await call(server, "POST /runs", { body: run, headers });
  const dataset = await call(server, "POST /datasets", { body: { name: "d" }, headers });
  const datasetId = textOf(dataset.json["id"]);
  const body = { dataset_id: datasetId, inputs: { q: 1 } };
  const example = await call(server, "POST /examples", { body, headers });
  return { run, datasetId, exampleId: textOf(example.json["id"]) };
}

test("people write under their names, and only the author sees a comment as their own", async () => {
  const server = await runOwnServer();
  const { run, exampleId } = await createTargets(server);
  const name = "Zoë \u202e ½";
  for (const target of [{ run_id: run.id }, { example_id: exampleId }]) {
    const id = randomUUID();
    const body = { id, ...target, text: "**why?**\n<script>" };
    const created = await call(server, "POST /ui/comments", { body, headers: toAuthor(name) });
    expect(created).toMatchObject({
      status: 200,
      json: { ...body, author: name, key_name: null, is_own: true, edited_at: null },
    });
    const path =
      "run_id" in target ? `/ui/comments?run=${run.id}` : `/ui/comments?example=${exampleId}`;
    const read = (as: string) => call(server, `GET ${path}`, { headers: toAuthor(as) });
    expect((await read(name)).json).toEqual({
      comments: [created.json],
      total: 1,
      key_name: null,
    });
    expect((await read("Bo")).json["comments"]?.[0]).toEqual({ ...created.json, is_own: false });
    const change = { body: { text: "x" }, headers: toAuthor("Bo") };
    expect((await call(server, `PATCH /ui/comments/${id}`, change)).status).toBe(403);
    expect((await call(server, `DELETE /ui/comments/${id}`, change)).status).toBe(403);
    const own = { body: { text: "x" }, headers: toAuthor(name) };
    expect((await call(server, `PATCH /ui/comments/${id}`, own)).json).toMatchObject({
      text: "x",
      edited_at: expect.any(String) as string,
    });
    expect((await call(server, `DELETE /ui/comments/${id}`, own)).json).toEqual({ id });
    expect((await read(name)).json["total"]).toBe(0);
  }
});

test("on a server with keys, the key's name is the author, and a key of the configuration has no name", async () => {
  const server = await runOwnServer({ apiKeys: ["given"] });
  const given = { "x-api-key": "given" };
  const created = await call(server, "POST /ui/keys", { body: { name: "laptop" }, headers: given });
  const laptop = { "x-api-key": textOf(created.json["key"]) };
  const { run } = await createTargets(server, laptop);
  const write = (headers: Readonly<Record<string, string>>) =>
    call(server, "POST /ui/comments", {
      body: { id: randomUUID(), run_id: run.id, text: "x" },
      headers,
    });
  expect((await write(laptop)).json).toMatchObject({ author: null, key_name: "laptop" });
  expect((await write({ ...laptop, ...toAuthor("Ada") })).json).toMatchObject({
    author: "Ada",
    key_name: "laptop",
  });
  expect((await write({ ...given, ...toAuthor("Ada") })).json).toMatchObject({
    author: "Ada",
    key_name: null,
  });
  expect(await write(given)).toMatchObject({
    status: 422,
    json: { detail: expect.stringContaining("a comment needs an author") as string },
  });
  const { json } = await call(server, `GET /ui/comments?run=${run.id}`, { headers: laptop });
  expect(json).toMatchObject({
    comments: [{ is_own: true }, { is_own: false }, { is_own: false }],
    total: 3,
    key_name: "laptop",
  });
});

test("what is too long, empty or names no single target is refused with the reason", async () => {
  const server = await runOwnServer();
  const { run, exampleId } = await createTargets(server);
  const write = (fields: object, headers: Readonly<Record<string, string>> = toAuthor("Ada")) =>
    call(server, "POST /ui/comments", {
      body: { id: randomUUID(), run_id: run.id, text: "x", ...fields },
      headers,
    });
  expect((await write({ text: "😀".repeat(10_000) })).status).toBe(200);
  const tooLong = await write({ text: "x".repeat(10_001) });
  expect(tooLong.status).toBe(422);
  expect(tooLong.text).toContain("10000");
  expect((await write({ text: " \n" })).status).toBe(422);
  expect((await write({ example_id: exampleId })).json["detail"]).toBe(
    "pass either run_id or example_id",
  );
  expect((await write({ run_id: "x" })).json["detail"]).toMatch(/^run_id is not a UUID/);
  expect((await write({ run_id: randomUUID() })).status).toBe(404);
  expect((await write({}, {})).json["detail"]).toMatch(/^a comment needs an author/);
  for (const name of ["%", encodeURIComponent(" a"), "%00", "x".repeat(65)]) {
    const { status, json } = await write({}, { "x-millrace-author": name });
    expect([status, json["detail"]]).toEqual([
      422,
      expect.stringMatching(/^x-millrace-author must be a percent-encoded name of 1 to 64/),
    ]);
  }
});

test("the runs of a trace that have comments are counted", async () => {
  const server = await runOwnServer();
  const { run } = await createTargets(server);
  const child = wireRun({ parent: run, session_name: "p" });
  await call(server, "POST /runs", { body: child });
  for (const runId of [child.id, child.id, run.id]) {
    await call(server, "POST /ui/comments", {
      body: { id: randomUUID(), run_id: runId, text: "x" },
      headers: toAuthor("Ada"),
    });
  }
  const { json } = await call(server, `GET /ui/traces/${run.id}/comments`);
  expect(json["runs"]).toHaveLength(2);
  expect(json["runs"]).toEqual(
    expect.arrayContaining([
      { run_id: child.id, count: 2 },
      { run_id: run.id, count: 1 },
    ]),
  );
});

test("comments are deleted with their run, with its project, and by retention", async () => {
  const store = await openSqliteStore(await temporaryFolder());
  const fixture = new StoreFixture(store);
  const { tenantId } = fixture;
  const author = { name: "Ada", key: null };
  const isStored = async (comment: { readonly id: string }) => {
    const change = store.write.comments.update(tenantId, { id: comment.id, author }, "y");
    return change.then(
      () => true,
      () => false,
    );
  };
  const write = (runId: string) =>
    store.write.comments.create(tenantId, {
      id: randomUUID(),
      target: { runId },
      text: "x",
      author,
    });
  const runs = Array.from({ length: 3 }, (_, index) =>
    wireRun({ session_name: index === 2 ? "kept" : "gone" }),
  );
  await fixture.send({ post: runs });
  const ofRuns = await Promise.all(runs.map(({ id }) => write(id)));
  await store.write.runs.deleteTrees(tenantId, [runs[0]?.id ?? ""]);
  expect(await Promise.all(ofRuns.map(isStored))).toEqual([false, true, true]);
  const [gone] = await store.read.projects.list(tenantId, {
    nameContains: "gone",
    limit: 1,
    offset: 0,
  });
  await store.write.projects.delete(tenantId, gone?.id ?? "");
  expect(await Promise.all(ofRuns.map(isStored))).toEqual([false, false, true]);
  await store.write.retention.set(tenantId, { projectId: null, days: 1 });
  await store.write.retention.sweep(Date.now() * 1_000 * 10, null);
  expect(await Promise.all(ofRuns.map(isStored))).toEqual([false, false, false]);
  await store.close();
});

test("comments on an example stay while a version has it, and go with its last content", async () => {
  const server = await runOwnServer();
  const { datasetId, exampleId } = await createTargets(server);
  const other = await call(server, "POST /examples", {
    body: { dataset_id: datasetId, inputs: { q: 2 } },
  });
  const otherId = textOf(other.json["id"]);
  const ids = [randomUUID(), randomUUID()];
  for (const [index, id] of [exampleId, otherId].entries()) {
    await call(server, "POST /ui/comments", {
      body: { id: ids[index], example_id: id, text: "x" },
      headers: toAuthor("Ada"),
    });
  }
  const isStored = async (id: string | undefined) =>
    (
      await call(server, `PATCH /ui/comments/${id}`, {
        body: { text: randomUUID() },
        headers: toAuthor("Ada"),
      })
    ).status === 200;
  await call(server, `PATCH /examples/${exampleId}`, { body: { outputs: { a: 1 } } });
  await call(server, `DELETE /examples/${exampleId}`);
  expect(await isStored(ids[0])).toBe(true);
  await call(server, "POST /v1/platform/datasets/examples/delete", {
    body: { example_ids: [exampleId], hard_delete: true },
  });
  expect(await isStored(ids[0])).toBe(false);
  expect(await isStored(ids[1])).toBe(true);
  await call(server, `DELETE /datasets/${datasetId}`);
  await expect.poll(() => isStored(ids[1]), { timeout: 20_000 }).toBe(false);
});
