import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { SignedLinks } from "../../http/signed-links.ts";
import { serverLimits } from "../../model/options.ts";
import { DatasetFixture, textOf } from "../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const json = (value: unknown): Blob =>
  new Blob([JSON.stringify(value)], { type: "application/json" });

/** A form as `fetch` sends it: parts with file names and without lengths. */
function formOf(parts: Readonly<Record<string, Blob>>): FormData {
  const form = new FormData();
  Object.entries(parts).forEach(([name, blob]) => form.append(name, blob));
  return form;
}

const urlsOf = async (fixture: DatasetFixture, id: string) =>
  (await fixture.call(`GET /examples/${id}`)).json["attachment_urls"];

const fileOf = async (fixture: DatasetFixture, id: string, name: string): Promise<Response> =>
  fetch(textOf((await urlsOf(fixture, id))?.[`attachment.${name}`]?.["presigned_url"]));

test("a form creates examples with attachments, and updates them: add, replace, rename, retain", async () => {
  const fixture = await DatasetFixture.open();
  const [first, second] = [randomUUID(), randomUUID()];
  const path = `/v1/platform/datasets/${fixture.id}/examples`;
  const parts = {
    [first]: json({ metadata: { m: 1 }, split: ["s"], created_at: "2026-01-01T00:00:00Z" }),
    [`${first}.inputs`]: json({ q: 1 }),
    [`${first}.outputs`]: json({ a: 1 }),
    [`${first}.attachment.a.txt`]: new Blob(["one"], { type: "text/plain; length=3" }),
    [`${first}.attachments.b"\r\nX: y`]: new Blob([new Uint8Array([0, 255])], {
      type: "image/png",
    }),
    [second]: json({}),
    [`${second}.inputs`]: json({ q: 2 }),
  };
  const created = await fixture.call(`POST /api/v1${path.slice(3)}`, { body: formOf(parts) });
  const [version] = await fixture.versions();
  expect(created).toMatchObject({
    status: 201,
    json: { count: 2, example_ids: [first, second], as_of: version },
  });
  expect((await fixture.call(`GET /examples/${first}`)).json).toMatchObject({
    inputs: { q: 1 },
    outputs: { a: 1 },
    metadata: { m: 1, dataset_split: ["s"] },
    created_at: "2026-01-01T00:00:00.000000Z",
    attachment_urls: { "attachment.a.txt": { mime_type: "text/plain" } },
  });
  expect(await urlsOf(fixture, second)).toBeNull();
  expect(await (await fileOf(fixture, first, "a.txt")).text()).toBe("one");
  const odd = await fileOf(fixture, first, 'b"\r\nX: y');
  expect([...new Uint8Array(await odd.arrayBuffer())]).toEqual([0, 255]);
  // Repeating the request changes nothing; different bytes under the same id are a conflict.
  expect(await fixture.call(`POST ${path}`, { body: formOf(parts) })).toMatchObject({
    status: 201,
  });
  expect(await fixture.versions()).toHaveLength(1);
  const others = {
    ...parts,
    [`${first}.attachment.a.txt`]: new Blob(["two"], { type: "text/plain" }),
  };
  expect(await fixture.call(`POST ${path}`, { body: formOf(others) })).toMatchObject({
    status: 409,
  });

  const patch = (body: Readonly<Record<string, Blob>>) =>
    fixture.call(`PATCH ${path}`, { body: formOf({ [first]: json({}), ...body }) });
  const added = await patch({
    [`${first}.attachment.c`]: new Blob(["see"], { type: "text/html" }),
    [`${first}.attachment.a.txt`]: new Blob(["two"], { type: "text/plain" }),
  });
  expect(added).toMatchObject({ status: 201, json: { count: 1, example_ids: [first] } });
  expect(Object.keys((await urlsOf(fixture, first)) ?? {})).toHaveLength(3);
  expect(await (await fileOf(fixture, first, "a.txt")).text()).toBe("two");
  const operations = { rename: { c: "d" }, retain: ["a.txt"] };
  await patch({ [`${first}.attachments_operations`]: json(operations) });
  expect(Object.keys((await urlsOf(fixture, first)) ?? {}).toSorted()).toEqual([
    "attachment.a.txt",
    "attachment.d",
  ]);
  // The earlier version still has its attachments.
  const then = await fixture.call(`GET /examples/${first}?as_of=${version}`);
  expect(Object.keys(then.json["attachment_urls"] ?? {})).toHaveLength(2);
  const page = await fileOf(fixture, first, "d");
  expect(page.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  expect(page.headers.get("content-disposition")).toBe("attachment");

  // Without `retain`, a renaming keeps the others; an empty list removes them.
  const namesAfter = async (change: object) => {
    await fixture.call(`PATCH /examples/${first}`, { body: { attachments_operations: change } });
    return Object.keys((await urlsOf(fixture, first)) ?? {}).toSorted();
  };
  expect(await namesAfter({ rename: { d: "e" } })).toEqual(["attachment.a.txt", "attachment.e"]);
  expect(await namesAfter({ rename: {} })).toEqual(["attachment.a.txt", "attachment.e"]);
  expect(await namesAfter({ rename: { e: "d" }, retain: [] })).toEqual(["attachment.d"]);

  const unknown = await patch({
    [`${first}.attachments_operations`]: json({ retain: ["nope"] }),
  });
  expect([unknown.status, unknown.text]).toEqual([422, containing("nope")]);
});

test("a malformed form is rejected as a whole; the error names the part", async () => {
  const fixture = await DatasetFixture.open();
  const id = randomUUID();
  const path = `POST /v1/platform/datasets/${fixture.id}/examples`;
  const good = { [id]: json({}), [`${id}.inputs`]: json({}) };
  const forms: readonly (readonly [Readonly<Record<string, Blob>>, string])[] = [
    [{ x: json({}) }, "does not begin with the id"],
    [{ [`${id}x`]: json({}) }, "does not begin with the id"],
    [{ [`${id}.inputs`]: json({}) }, `the part ${id} is missing`],
    [{ [id]: json({}) }, "inputs are missing"],
    [{ ...good, [`${id}.wibble`]: json({}) }, "must be named"],
    [{ ...good, [`${id}.outputs`]: json([]) }, "outputs"],
    [{ ...good, [`${id}.outputs`]: new Blob(["{"]) }, "not JSON"],
    [{ ...good, [`${id}.attachment.a`]: new Blob(["x"], { type: "a/b; length=7" }) }, "announces"],
  ];
  for (const [parts, reason] of forms) {
    const response = await fixture.call(path, { body: formOf(parts) });
    expect([response.status, response.text]).toEqual([422, containing(reason)]);
  }
  expect(await fixture.call(path, { body: "{}" })).toMatchObject({ status: 422 });
  const bomb = gzipSync(Buffer.alloc(25 * 1_048_576));
  const headers = { "content-encoding": "gzip", "content-type": "multipart/form-data; boundary=x" };
  expect((await fixture.call(path, { body: bomb, headers })).status).toBeGreaterThanOrEqual(413);
  expect(await fixture.versions()).toEqual([]);
  const foreign = { body: formOf(good) };
  expect(
    await fixture.call(`POST /v1/platform/datasets/${randomUUID()}/examples`, foreign),
  ).toMatchObject({ status: 404 });
});

test("a signed URL gives access to one file until it expires, and no other URL does", () => {
  let now = 1_000_000;
  const links = new SignedLinks(() => now);
  const request = { baseUrl: "http://127.0.0.1:1984" };
  const target = { kind: "example", blob: 7, mimeType: "a/b" } as const;
  const url = new URL(links.createUrl(request, target));
  const token = url.searchParams.get("token") ?? "";
  expect(url.origin).toBe("http://127.0.0.1:1984");
  expect(links.readTarget(token)).toEqual(target);
  now += serverLimits.signedMs + 1;
  expect(() => links.readTarget(token)).toThrow(/expired/);
  const [text = "", signature = ""] = token.split(".");
  const claim = Buffer.from(JSON.stringify({ target: { ...target, blob: 8 }, untilMs: now * 2 }));
  for (const forged of [
    "",
    ".",
    text,
    `${text}.`,
    `${text}.x`,
    `${claim.toString("base64url")}.${signature}`,
  ]) {
    expect(() => links.readTarget(forged)).toThrow("there is no such attachment");
  }
  expect(() => new SignedLinks(() => 0).readTarget(token)).toThrow("there is no such attachment");
});

test("servers with the same secret accept the signed URLs of each other", () => {
  const [one, other] = [1, 1].map((byte) => new SignedLinks(Date.now, Buffer.alloc(32, byte)));
  const target = { kind: "example", blob: 7, mimeType: "a/b" } as const;
  const url = new URL(String(one?.createUrl({ baseUrl: "http://a" }, target)));
  expect(other?.readTarget(url.searchParams.get("token") ?? "")).toEqual(target);
});

test("attachments of runs can be read through their URLs, without a key", async () => {
  const server = await runServer({ apiKeys: ["k"] });
  const headers = { "x-api-key": "k" };
  const run = wireRun({ name: "with a file" });
  const text = JSON.stringify(run);
  const form = new FormData();
  form.append(
    `post.${run.id}`,
    new Blob([text], { type: `application/json; length=${Buffer.byteLength(text)}` }),
  );
  form.append(
    `attachment.${run.id}.page`,
    new Blob(["<b>"], { type: "text/html; charset=utf-8; length=3" }),
  );
  await call(server, "POST /runs/multipart", { body: form, headers });
  const read = await call(server, `GET /runs/${run.id}`, { headers });
  const query = await call(server, "POST /runs/query", { body: { id: [run.id] }, headers });
  for (const one of [read.json, query.json["runs"]?.[0]]) {
    const file = one?.["s3_urls"]?.["attachment.page"];
    expect(file).toMatchObject({ mime_type: "text/html; charset=utf-8" });
    const response = await fetch(textOf(file?.["presigned_url"]));
    expect([response.status, await response.text()]).toEqual([200, "<b>"]);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  }
  expect(await call(server, "GET /attachments?token=x")).toMatchObject({ status: 404 });
});
