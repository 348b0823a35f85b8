import { connect } from "node:net";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "@millrace/server";
import { sendParserError } from "../safe-headers.ts";
import { JsonBoundsCheck } from "../../bodies/json-bounds.ts";
import { call, runOwnServer, runServer, textOf } from "../../../tests/support/running-server.ts";

const safe = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

test("every response has the headers that keep browsers from guessing, storing and sharing it", async () => {
  const server = await runServer();
  const targets = [
    "GET /info",
    "GET /sessions",
    "GET /nowhere",
    "POST /nowhere",
    "GET /runs/x",
    "POST /runs/batch",
    "GET /docs",
    "GET /docs/nowhere",
    "GET /openapi.json",
    "GET /%zz",
    "POST /feedback/tokens/x",
  ];
  for (const target of targets) {
    const { headers } = await call(server, target);
    expect([target, Object.fromEntries(headers)]).toMatchObject([target, safe]);
  }
  const refused = await call(server, "GET /info", { headers: { origin: "https://evil.example" } });
  expect([refused.status, Object.fromEntries(refused.headers)]).toMatchObject([403, safe]);
});

test("responses of Node's parser, or of Node itself, have the same headers", async () => {
  const server = await runOwnServer();
  const refusals: readonly (readonly [what: string, status: number, bytes: string])[] = [
    ["bytes that are not HTTP", 400, "NONSENSE\r\n\r\n"],
    ["without a Host", 400, "GET /info HTTP/1.1\r\nconnection: close\r\n\r\n"],
    ["of headers that are too long", 431, `GET /info HTTP/1.1\r\nx: ${"x".repeat(40_000)}\r\n\r\n`],
    ["of two lengths", 400, "GET /info HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
    ["of an unknown version", 400, "GET /info HTTP/3.9\r\nhost: localhost\r\n\r\n"],
    [
      "with an unknown expectation",
      417,
      "GET /info HTTP/1.1\r\nhost: localhost\r\nexpect: wonders\r\n\r\n",
    ],
  ];
  for (const [what, status, bytes] of refusals) {
    const response = await exchange(server.url, bytes);
    expect([what, response]).toEqual([what, expect.stringMatching(`^HTTP/1\\.1 ${status} `)]);
    expect(response).toContain('{"detail":');
    expectSafe(response);
  }
});

test("a response to request headers that arrive too slowly has the same headers", () => {
  const socket = new PassThrough();
  sendParserError(
    Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }),
    socket as unknown as Socket,
  );
  const response = String(socket.read());
  expect(response).toMatch(/^HTTP\/1\.1 408 /);
  expectSafe(response);
});

test("a response while the server closes has the same headers, and closes its connection", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const bytes = "GET /sessions HTTP/1.1\r\nhost: localhost\r\n";
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(bytes);
  // Its response shows that the server has read the beginning of the other request as well.
  await call(server, "GET /info");
  const closed = server.close();
  const refuses = (): Promise<boolean> =>
    fetch(`${server.url}/info`).then(
      async (response) => {
        await response.text();
        return false;
      },
      () => true,
    );
  await expect.poll(refuses, { interval: 5 }).toBe(true);
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.write("\r\n");
  await once(socket, "end");
  await closed;
  // On a busy machine, the second for which the last requests are served may be over.
  expect(answer).toMatch(/^HTTP\/1\.1 (?:200|503) /);
  expect(answer.toLowerCase()).toContain("connection: close\r\n");
  expectSafe(answer);
});

test("the live feed has the same headers", async () => {
  const server = await runServer();
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const feed = await fetch(`${server.url}/ui/live`, { signal: ended.signal });
  expect(feed.headers.get("content-type")).toContain("text/event-stream");
  expect(Object.fromEntries(feed.headers)).toMatchObject(safe);
});

function expectSafe(response: string): void {
  for (const [name, value] of Object.entries(safe)) {
    expect(response.toLowerCase()).toContain(`${name}: ${value}\r\n`);
  }
}

test("a body with too large a Content-Length is rejected at once, and the connection ends properly", async () => {
  const server = await runServer();
  const size = 48 * 1_048_576;
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const faults: unknown[] = [];
  socket.on("error", (cause) => faults.push(cause));
  socket.write(
    `POST /runs/batch HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${size}\r\n\r\n{"post":[`,
  );
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  // The server ends its side although most of the body was never sent.
  await once(socket, "end");
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
  expect(text.toLowerCase()).toContain("connection: close");
  expect(faults).toEqual([]);
});

test("a request without a key may send 64 KiB, and one with an invalid token is rejected before its body is read", async () => {
  const server = await runOwnServer();
  const unread = await exchange(
    server.url,
    "POST /feedback/tokens/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50000\r\n\r\n",
  );
  expect(unread).toMatch(/^HTTP\/1\.1 404 /);
  const run = "7b6d5b46-96ee-4b86-b0f8-0a2e22f5a4b2";
  const created = await call(server, "POST /feedback/tokens", {
    body: { run_id: run, feedback_key: "k" },
  });
  const path = new URL(textOf(created.json["url"])).pathname;
  const large = { comment: "x".repeat(70_000) };
  expect((await call(server, `POST ${path}`, { body: large })).status).toBe(413);
  const small = { comment: "x".repeat(60_000) };
  expect((await call(server, `POST ${path}`, { body: small })).status).toBe(200);
});

test("a body with more values than any request needs is rejected before it is parsed", async () => {
  const server = await runServer();
  const body = `{"id":[${'"x",'.repeat(200_000)}"x"]}`;
  const response = await call(server, "POST /runs/query", { body });
  expect(response.status).toBe(413);
  expect(response.text).toContain("more than 150000 values");
});

test("a body that inflates to hundreds of times its length is rejected, ordinary regular data is not", async () => {
  const server = await runServer();
  const headers = { "content-encoding": "gzip" };
  const blanks = Buffer.alloc(8 * 1_048_576, 0x20);
  const bomb = await call(server, "POST /runs/query", { body: gzipSync(blanks), headers });
  expect(bomb.status).toBe(413);
  expect(bomb.text).toContain("decompresses to more than 500 times");
  const text = randomBytes(512).toString("hex").repeat(6_000);
  const regular = gzipSync(JSON.stringify({ name: "p", description: text }));
  const taken = await call(server, "POST /sessions", { body: regular, headers });
  expect(taken.status).toBe(200);
});

test("values and depth are counted across chunks, and not inside strings", () => {
  const text = Buffer.from(String.raw`{"a":[1,"[[,,\"[,\\",{"b":null}],"c":"\\"}`);
  for (let size = 1; size <= text.length; size += 1) {
    const check = new JsonBoundsCheck({ valuesMax: 7, depthMax: 3 });
    for (let at = 0; at < text.length; at += size) {
      check.push(text.subarray(at, at + size));
    }
    expect(() => check.push(Buffer.from(",1"))).toThrow("more than 7 values");
  }
  const deep = new JsonBoundsCheck({ valuesMax: 100, depthMax: 3 });
  deep.push(Buffer.from("[[["));
  expect(() => deep.push(Buffer.from("["))).toThrow("3 levels");
});

/** Sends bytes and returns everything that is received. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.write(bytes);
  await once(socket, "end");
  return text;
}
