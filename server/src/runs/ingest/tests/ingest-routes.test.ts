import { randomBytes, randomUUID } from "node:crypto";
import { request } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { hasZstd } from "../../../bodies/read-body.ts";
import { call, runServer } from "../../../../tests/support/running-server.ts";
import { multipart, multipartType, wireRun } from "../../../../tests/support/wire-runs.ts";
import { containing } from "../../../../tests/support/matchers.ts";

const limit = 25_165_824;

test("a run is accepted once; repeating it is a conflict, as clients expect", async () => {
  const server = await runServer();
  const run = wireRun();
  expect(await call(server, "POST /runs", { body: run })).toMatchObject({
    status: 202,
    json: { accepted: 1, duplicates: 0, rejected: [] },
  });
  expect(await call(server, "POST /runs", { body: run })).toMatchObject({
    status: 409,
    json: { error: "Conflict: payload already received" },
  });
});

test("the same PATCH twice is a conflict, a different PATCH is not", async () => {
  const server = await runServer();
  const id = randomUUID();
  const statuses: number[] = [];
  for (const name of ["a", "a", "b"]) {
    // Sequential: the second request is the repetition.
    statuses.push((await call(server, `PATCH /runs/${id}`, { body: { name } })).status);
  }
  expect(statuses).toEqual([202, 409, 202]);
});

test("an invalid run in a single-run request is rejected with 400 and the reason", async () => {
  const server = await runServer();
  const body = wireRun({ parent_run_id: randomUUID() });
  expect(await call(server, "POST /runs", { body })).toMatchObject({
    status: 400,
    json: { detail: "dotted_order of a child run must have at least two segments, not one" },
  });
  expect(
    await call(server, `PATCH /runs/${randomUUID()}`, { body: { id: body.id } }),
  ).toMatchObject({ status: 400 });
  expect(await call(server, "PATCH /runs/run-1", { body: {} })).toMatchObject({
    status: 422,
    json: { detail: 'run id is not a UUID: "run-1"' },
  });
  expect(await call(server, "POST /runs", { body: "{" })).toMatchObject({ status: 422 });
});

test("a mixed batch gets 202 and lists what was rejected; one without a valid run gets 422", async () => {
  const server = await runServer();
  const good = wireRun();
  const bad = { ...wireRun(), start_time: "noon" };
  const reason = 'start_time is neither an ISO 8601 time nor epoch milliseconds: "noon"';
  const rejected = [{ id: bad.id, operation: "post", reason }];
  expect(
    await call(server, "POST /runs/batch", { body: { post: [good, bad, good] } }),
  ).toMatchObject({
    status: 202,
    json: { accepted: 1, duplicates: 1, rejected },
  });
  expect(await call(server, "POST /runs/batch", { body: { post: [bad] } })).toMatchObject({
    status: 422,
    json: { detail: [{ loc: ["body", "post", bad.id], msg: reason }], rejected },
  });
  expect(await call(server, "POST /runs/batch", { body: {} })).toMatchObject({ status: 202 });
});

test("a multipart request with a bad part keeps the valid runs", async () => {
  const server = await runServer();
  const [good, bad] = [wireRun({ name: "good" }), wireRun()];
  const body = multipart([
    { name: `post.${good.id}`, body: JSON.stringify(good) },
    { name: `post.${good.id}.inputs`, body: '{"q":"é\\ud800"}' },
    { name: `post.${bad.id}`, body: JSON.stringify(bad), length: null },
  ]);
  const headers = { "content-type": multipartType };
  expect(await call(server, "POST /runs/multipart", { body, headers })).toMatchObject({
    status: 202,
    json: { accepted: 1, rejected: [{ id: bad.id, operation: "post" }] },
  });
  const { text } = await call(server, `GET /runs/${good.id}`);
  expect(text).toContain('"inputs":{"q":"é\\ud800"}');
});

test.each(["text/plain", "multipart/form-data", "application/json"])(
  "a multipart request with content type %s is rejected",
  async (type) => {
    const server = await runServer();
    const headers = { "content-type": type };
    expect(await call(server, "POST /runs/multipart", { body: "x", headers })).toMatchObject({
      status: 422,
      json: {
        detail:
          "the content type must be multipart/form-data with a boundary of 1 to 70 characters",
      },
    });
  },
);

test("gzip is accepted on both paths", async () => {
  const server = await runServer();
  const [one, two] = [wireRun(), wireRun()];
  const asJson = gzipSync(JSON.stringify({ post: [one] }));
  const asParts = gzipSync(multipart([{ name: `post.${two.id}`, body: JSON.stringify(two) }]));
  const gzip = { "content-encoding": "gzip" };
  expect(await call(server, "POST /runs/batch", { body: asJson, headers: gzip })).toMatchObject({
    status: 202,
  });
  const headers = { ...gzip, "content-type": multipartType };
  expect(await call(server, "POST /runs/multipart", { body: asParts, headers })).toMatchObject({
    status: 202,
  });
  expect((await call(server, `GET /runs/${two.id}`)).status).toBe(200);
});

test.each([
  ["gzip", Buffer.from("not gzip"), 422, /^the body can't be decompressed: /],
  ["gzip", gzipSync("{}").subarray(0, 10), 422, /^the body can't be decompressed: /],
  [
    "br",
    Buffer.from("x"),
    415,
    /^unknown content encoding "br"; known are gzip, zstd and identity$/,
  ],
  ["gzip, gzip", Buffer.from("x"), 415, /^unknown content encoding/],
])(
  "a body with encoding %s that can't be decoded is rejected",
  async (encoding, body, status, detail) => {
    const server = await runServer();
    const headers = { "content-encoding": encoding };
    const response = await call(server, "POST /runs/batch", { body, headers });
    expect(response.status).toBe(status);
    expect(response.json["detail"]).toMatch(detail);
  },
);

test("zstd is accepted if Node supports it, otherwise rejected with 415 and the reason", async () => {
  const server = await runServer();
  const info = await call(server, "GET /info");
  expect(info.json["instance_flags"]).toMatchObject({ zstd_compression_enabled: hasZstd });
  const headers = { "content-encoding": "zstd" };
  const response = await call(server, "POST /runs/batch", { body: "x", headers });
  expect(response.status).toBe(hasZstd ? 422 : 415);
  expect(response.json["detail"]).toMatch(
    hasZstd ? /can't be decompressed/ : /^zstd needs Node 22\.15 or newer/,
  );
});

test("a body over the limit is 413, whether by Content-Length, as sent or inflated", async () => {
  const server = await runServer();
  const large = Buffer.alloc(limit + 1, 0x20);
  const announced = await call(server, "POST /runs/batch", { body: large });
  expect(announced).toMatchObject({
    status: 413,
    json: { detail: containing("the body is larger") },
  });
  // Random bytes between the whitespace: a body that inflates to hundreds of times its length would be rejected for
  // that.
  const inflated = await call(server, "POST /runs/batch", {
    body: gzipSync(Buffer.concat([large, randomBytes(1_048_576)])),
    headers: { "content-encoding": "gzip" },
  });
  expect(inflated).toMatchObject({
    status: 413,
    json: { detail: containing("the decompressed body") },
  });
  const chunked = await sendChunked(server.url, large);
  expect(chunked).toBe(413);
  expect((await call(server, "GET /info")).status).toBe(200);
});

test("a gzip bomb of ten gigabytes is stopped while it inflates", async () => {
  const server = await runServer();
  // One gzip member is ten mebibytes of zeros; a gzip stream may have many members.
  const member = gzipSync(Buffer.alloc(10 * 1_048_576));
  const body = Buffer.concat(Array.from({ length: 1_000 }, () => member));
  const startMs = process.memoryUsage().rss;
  const response = await call(server, "POST /runs/batch", {
    body,
    headers: { "content-encoding": "gzip" },
  });
  expect(response.status).toBe(413);
  expect(process.memoryUsage().rss - startMs).toBeLessThan(200 * 1_048_576);
});

test("routes work with and without prefix, slash, query and content type", async () => {
  const server = await runServer();
  const paths = ["/runs", "/runs/", "/api/v1/runs", "/api/v1/runs/", "/runs?", "/api/v1/runs?x=1"];
  const statuses = await Promise.all(
    paths.map(async (path) => {
      const headers = { "content-type": "text/plain;charset=UTF-8" };
      return (await call(server, `POST ${path}`, { body: wireRun(), headers })).status;
    }),
  );
  expect(statuses).toEqual(paths.map(() => 202));
});

test("a body without any content type is parsed as JSON", async () => {
  const server = await runServer();
  const run = wireRun({ name: "bare" });
  expect(await sendBare(server.url, JSON.stringify(run))).toBe(202);
  expect((await call(server, `GET /runs/${run.id}`)).json["name"]).toBe("bare");
});

test("a client that disconnects while sending a body causes no harm", async () => {
  const server = await runServer();
  await new Promise<void>((resolve) => {
    const sending = request(`${server.url}/runs/batch`, {
      method: "POST",
      headers: { "content-length": 1_000 },
    });
    sending.on("error", () => resolve());
    sending.write("{", () => sending.destroy());
    sending.on("close", () => resolve());
  });
  expect((await call(server, "POST /runs", { body: wireRun() })).status).toBe(202);
});

const sendBare = (url: string, body: string): Promise<number | undefined> =>
  send(url, "/runs", [Buffer.from(body)]);

const sendChunked = (url: string, body: Buffer): Promise<number | undefined> =>
  send(
    url,
    "/runs/batch",
    Array.from({ length: 30 }, (_, index) =>
      body.subarray(index * 1_000_000, (index + 1) * 1_000_000),
    ),
  );

function send(url: string, path: string, chunks: readonly Buffer[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sending = request(url + path, { method: "POST" }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    sending.on("error", reject);
    chunks.forEach((chunk) => sending.write(chunk));
    sending.end();
  });
}
