import { HttpResponse, http as on } from "msw";
import { expect, test } from "vitest";
import { NetworkError } from "../../src/model/errors.ts";
import { createTestHttp } from "../support/api.ts";
import { destroyConnection, neverRespond, loopbackServer } from "../support/loopback-server.ts";
import { mswServer } from "../support/msw-server.ts";
import { serverTls } from "../support/tls.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const readRun = { path: { id } };

test("a call sends its key, workspace and extra headers, and a new request id", async () => {
  const server = await mswServer(on.get("*/info", () => HttpResponse.json({ version: "1.2.3" })));
  const connection = { apiKey: "k-1", workspaceId: "w-1", headers: { "x-extra": "e" } };
  const { http } = createTestHttp(server.endpoint, { connection });
  expect(await http.call("readInfo")).toEqual({ version: "1.2.3" });
  await http.call("readInfo");
  const [first, second] = server.requests.map(({ headers }) => Object.fromEntries(headers));
  expect(first).toMatchObject({ "x-api-key": "k-1", "x-tenant-id": "w-1", "x-extra": "e" });
  expect(first?.["x-request-id"]).toMatch(/^[\da-f-]{36}$/);
  expect(first?.["x-request-id"]).not.toBe(second?.["x-request-id"]);
});

test("path arguments are escaped, list queries repeat their key, undefined ones are omitted, bodies are JSON", async () => {
  const server = await mswServer(on.all("*", () => HttpResponse.json(null)));
  const { http } = createTestHttp(`${server.endpoint}/api/v1`);
  await http.call("readRun", {
    path: { id: "a/../b?c#d é\ud800" },
    query: { id: ["x", "y&z"], none: undefined, yes: true, limit: 5 },
  });
  await http.call("queryRuns", { json: { a: "<é>", b: undefined } });
  expect(server.requests).toMatchObject([
    {
      target:
        "GET /api/v1/runs/a%2F..%2Fb%3Fc%23d%20%C3%A9%EF%BF%BD?id=x&id=y%26z&yes=true&limit=5",
      body: undefined,
    },
    { target: "POST /api/v1/runs/query", body: { a: "<é>" } },
  ]);
});

test.each(["", ".", ".."])("a path argument %j is refused before anything is sent", async (bad) => {
  const server = await mswServer();
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("readRun", { path: { id: bad } })).rejects.toMatchObject({
    code: "VALIDATION",
  });
  expect(server.requests).toEqual([]);
});

test("a body that can't be JSON is refused before anything is sent", async () => {
  const server = await mswServer();
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("queryRuns", { json: { a: 1n } })).rejects.toMatchObject({
    code: "VALIDATION",
  });
  expect(server.requests).toEqual([]);
});

test.each([
  [400, "HTTP", false, ""],
  [
    401,
    "HTTP",
    false,
    ". Set the key of this server: MILLRACE_API_KEY or LANGSMITH_API_KEY, or the option apiKey",
  ],
  [
    403,
    "HTTP",
    false,
    ". Use a key that may do this, and check the workspace (MILLRACE_WORKSPACE_ID)",
  ],
  [404, "NOT_FOUND", false, ". Check the id or name, the endpoint and the tenant of the key"],
  [407, "HTTP", false, ""],
  [409, "CONFLICT", false, ""],
  [410, "HTTP", false, ""],
  [413, "HTTP", false, ""],
  [422, "HTTP", false, ""],
  [408, "HTTP", true, ""],
  [429, "HTTP", true, ""],
  [500, "HTTP", true, ""],
  [503, "HTTP", true, ""],
] as const)("%i is %s, with retryable %s", async (status, code, retryable, hint) => {
  const server = await loopbackServer({ runs: [{ status, body: '{"detail":"why"}' }] });
  await using _server = server;
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("readRun", readRun)).rejects.toMatchObject({
    code,
    status,
    retryable,
    message: `Failed to read run: ${status} why${hint}`,
    requestId: expect.stringMatching(/^[\da-f-]{36}$/) as string,
  });
  expect(server.requests).toHaveLength(retryable ? 3 : 1);
});

test("an exhausted quota is not retried, although its status usually is", async () => {
  await using server = await loopbackServer({
    runs: [{ status: 429, body: '{"detail":"insufficient_quota"}' }],
  });
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("readRun", readRun)).rejects.toMatchObject({
    code: "INSUFFICIENT_QUOTA",
    retryable: false,
  });
  expect(server.requests).toHaveLength(1);
});

test("every attempt of a call has the same request id; waits double, and respect Retry-After", async () => {
  await using server = await loopbackServer({
    runs: [
      { status: 500 },
      { status: 503, headers: { "retry-after": "7" } },
      { status: 503, headers: { "retry-after": "900" } },
      { status: 200, body: "{}" },
    ],
  });
  const { http, waits } = createTestHttp(server.endpoint, { attempts: 4 });
  expect(await http.call("readRun", readRun)).toEqual({});
  expect(waits).toEqual([250, 7_000, 60_000]);
  expect(new Set(server.requests.map(({ headers }) => headers["x-request-id"])).size).toBe(1);
});

test.each([
  ["a broken connection", destroyConnection, 1],
  ["500", { status: 500 }, 1],
  ["503 without Retry-After", { status: 503 }, 1],
  ["503 with Retry-After", { status: 503, headers: { "retry-after": "1" } }, 3],
  ["429", { status: 429 }, 3],
] as const)("a POST that creates something, after %s", async (_name, answer, requests) => {
  await using server = await loopbackServer({ runs: [answer] });
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("createRun", { json: {} })).rejects.toThrow("Failed to send a run");
  expect(server.requests).toHaveLength(requests);
});

test("a POST that only reads, or is marked as repeatable, is retried", async () => {
  await using server = await loopbackServer({ runs: [destroyConnection] });
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("queryRuns", { json: {} })).rejects.toBeInstanceOf(NetworkError);
  await expect(http.call("createRun", { json: {}, repeatable: true })).rejects.toBeInstanceOf(
    NetworkError,
  );
  expect(server.requests).toHaveLength(6);
});

test("a POST is retried if the connection failed", async () => {
  const server = await loopbackServer();
  await server.close();
  const { http, waits } = createTestHttp(server.endpoint);
  await expect(http.call("createRun", { json: {} })).rejects.toMatchObject({
    code: "NETWORK",
    message: expect.stringContaining("ECONNREFUSED") as string,
  });
  expect(waits).toHaveLength(2);
});

test("a DELETE whose response was lost succeeds when the next attempt finds nothing", async () => {
  await using server = await loopbackServer({ runs: [destroyConnection, { status: 404 }] });
  const { http } = createTestHttp(server.endpoint);
  expect(await http.call("unshareRun", readRun)).toBeNull();
  await expect(http.call("unshareRun", readRun)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("each attempt has its own time limit", async () => {
  await using server = await loopbackServer({
    runs: [neverRespond, neverRespond, { body: "[1]" }],
  });
  const { http } = createTestHttp(server.endpoint, { connection: { timeoutMs: 60 } });
  expect(await http.call("readRun", readRun)).toEqual([1]);
});

test("no response in time is a TimeoutError", async () => {
  await using server = await loopbackServer({ runs: [neverRespond] });
  const { http } = createTestHttp(server.endpoint, { attempts: 1, connection: { timeoutMs: 60 } });
  await expect(http.call("readRun", readRun)).rejects.toMatchObject({
    code: "TIMEOUT",
    retryable: true,
  });
});

test("an untrusted certificate is not retried", async () => {
  await using server = await loopbackServer({ tls: serverTls });
  const { http, waits } = createTestHttp(server.endpoint);
  await expect(http.call("readInfo")).rejects.toMatchObject({ code: "CERTIFICATE" });
  expect([waits, server.requests]).toEqual([[], []]);
});

test("a redirect is not followed", async () => {
  await using target = await loopbackServer();
  await using server = await loopbackServer({
    runs: [{ status: 307, headers: { location: `${target.endpoint}/runs` } }],
  });
  const { http } = createTestHttp(server.endpoint, { connection: { apiKey: "secret" } });
  await expect(http.call("readRun", readRun)).rejects.toThrow(/307 to http.*not followed/);
  expect([server.requests.length, target.requests.length]).toEqual([1, 0]);
});

test("a response that is not JSON is a ResponseError, an empty one is null", async () => {
  await using server = await loopbackServer({ runs: [{ body: "<html>" }, { body: "" }] });
  const { http } = createTestHttp(server.endpoint);
  await expect(http.call("readRun", readRun)).rejects.toMatchObject({ code: "ANSWER" });
  expect(await http.call("readRun", readRun)).toBeNull();
});

test("a response that breaks off is requested again", async () => {
  await using server = await loopbackServer({
    runs: [
      (response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("{", () => response.socket?.destroy());
      },
      { body: "{}" },
    ],
  });
  const { http } = createTestHttp(server.endpoint);
  expect(await http.call("readRun", readRun)).toEqual({});
});

test("an aborted signal sends nothing, and its reason is the cause", async () => {
  await using server = await loopbackServer();
  const { http } = createTestHttp(server.endpoint);
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  await expect(http.call("readRun", { ...readRun, signal })).rejects.toMatchObject({
    code: "ABORTED",
    name: "AbortError",
    cause: reason,
  });
  expect(server.requests).toEqual([]);
});

test.each([
  ["while it is in flight", neverRespond],
  ["between attempts", { status: 503, headers: { "retry-after": "50" } }],
] as const)("a call can be aborted by its signal %s", async (_when, answer) => {
  const controller = new AbortController();
  await using server = await loopbackServer({
    runs: [answer],
    onBegin: () => setTimeout(() => controller.abort(), 20),
  });
  const { http } = createTestHttp(server.endpoint, { wait: (_ms, signal) => aborted(signal) });
  const { signal } = controller;
  await expect(http.call("readRun", { ...readRun, signal })).rejects.toMatchObject({
    code: "ABORTED",
  });
  expect(server.requests).toHaveLength(1);
});

test("close aborts calls in flight, and refuses later ones", async () => {
  await using server = await loopbackServer({ runs: [neverRespond] });
  const { http } = createTestHttp(server.endpoint);
  const underWay = http.call("readRun", readRun).catch((error: unknown) => error);
  await http.close();
  expect(await underWay).toMatchObject({ code: "CLOSED" });
  await http.close();
  await expect(http.call("readRun", readRun)).rejects.toMatchObject({ code: "CLOSED" });
});

test("many concurrent calls cause no warning about listeners", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", onWarning);
  await using server = await loopbackServer({ runs: [{ body: "{}" }] });
  const { http } = createTestHttp(server.endpoint);
  const { signal } = new AbortController();
  await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      http.call("readRun", n % 2 ? readRun : { ...readRun, signal }),
    ),
  );
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});

test("no error and no URL contains the key", async () => {
  await using server = await loopbackServer({
    runs: [{ status: 401, body: "no" }, destroyConnection],
  });
  const { http } = createTestHttp(server.endpoint, { connection: { apiKey: "top-secret" } });
  const failures = [
    await http.call("readRun", readRun).catch((error: unknown) => error),
    await http.call("readRun", readRun).catch((error: unknown) => error),
  ];
  for (const failure of failures as readonly Error[]) {
    expect(`${failure.message} ${failure.stack} ${JSON.stringify(failure)}`).not.toContain(
      "top-secret",
    );
  }
  expect(server.requests.map(({ path }) => path).join()).not.toContain("top-secret");
});

/** Waits until the signal is aborted, and rejects then. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });
