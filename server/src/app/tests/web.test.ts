import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fastify from "fastify";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addSafeHeaders, safeHeaders } from "../../http/safe-headers.ts";
import { addWebPages } from "../web-pages.ts";

interface PageRequest {
  readonly url: string;
  readonly method?: "GET" | "HEAD";
  readonly accept?: string;
  readonly etag?: string;
}

const html = "text/html,application/xhtml+xml,*/*;q=0.8";
let folder: string;
let app: FastifyInstance;

const withApi = (webFolder: string): FastifyInstance => {
  const server = fastify();
  server.addHook("onRequest", async (_request, reply) => void addSafeHeaders(reply));
  const sendNoPage = addWebPages(server, { folder: webFolder });
  server.setNotFoundHandler(
    (request, reply) => sendNoPage(request, reply) || reply.code(404).send({ detail: "nothing" }),
  );
  server.get("/", async () => ({ name: "millrace" }));
  server.get("/feedback/tokens/:token", async () => ({ id: "given" }));
  server.get("/runs/:id", async () => ({ id: "a run" }));
  return server;
};

const get = async (url: string, accept: string, server = app) =>
  server.inject({ method: "GET", url, headers: { accept } });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-web-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>page</title>");
  writeFileSync(join(folder, "assets", "index-abc.js"), "console.log(1)");
  writeFileSync(join(folder, "secret.env"), "not a file of the page");
  app = withApi(folder);
});

afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a browser", () => {
  test.each([
    "/",
    "/?x=1",
    "/o/tenant/projects/p/project?trace=1",
    "/prompts",
    "/prompts/greeting/0123abcd?organizationId=tenant",
    "/hub/owner/greeting",
    "/public/token/d",
    "/public/token/r",
    "/feedback/tokens/token",
  ])("that opens %s gets the UI", async (url) => {
    const { statusCode, headers, body } = await get(url, html);
    expect({ statusCode, type: headers["content-type"] }).toEqual({
      statusCode: 200,
      type: "text/html; charset=utf-8",
    });
    expect(body).toContain("<title>page</title>");
  });

  test("may run files of this server only, and must not guess types", async () => {
    const { headers } = await get("/", html);
    expect(headers["content-security-policy"]).toContain("default-src 'self'");
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    });
  });

  test("caches files with a digest in their name, and revalidates the page by its etag", async () => {
    const asset = await get("/assets/index-abc.js", "*/*");
    expect(asset.headers["cache-control"]).toContain("immutable");
    const { etag } = (await get("/", html)).headers;
    const again = await app.inject({
      url: "/",
      headers: { accept: html, "if-none-match": String(etag) },
    });
    expect({ status: again.statusCode, body: again.body }).toEqual({ status: 304, body: "" });
  });

  test("gets a Cache-Control header with each file of the UI and each 404, and the headers of every response", async () => {
    const etag = String((await get("/", html)).headers["etag"]);
    const responses = [
      [{ url: "/" }, 200, "no-cache"],
      [{ url: "/", method: "HEAD" }, 200, "no-cache"],
      [{ url: "/", etag }, 304, "no-cache"],
      [{ url: "/nowhere" }, 404, "no-cache"],
      [{ url: "/assets/index-abc.js" }, 200, "public, max-age=31536000, immutable"],
      [{ url: "/assets/none.js", accept: "*/*" }, 404, "no-store"],
    ] as const;
    for (const [request, status, cacheControl] of responses) {
      const { url, method = "GET", accept = html, etag: known = "" }: PageRequest = request;
      const { statusCode, headers } = await app.inject({
        method,
        url,
        headers: { accept, "if-none-match": known },
      });
      expect([request, statusCode, headers]).toMatchObject([
        request,
        status,
        { ...safeHeaders, "cache-control": cacheControl },
      ]);
    }
  });

  test("that opens a URL of the API gets the response of the API", async () => {
    expect((await get("/runs/5", html)).json()).toEqual({ id: "a run" });
  });
});

test("a feedback link opens the form in a browser, unless it contains feedback", async () => {
  const opened = await get("/feedback/tokens/token?from=mail", html);
  expect(opened.headers["content-type"]).toContain("text/html");
  const judged = await get("/feedback/tokens/token?from=mail&score=1", html);
  expect(judged.json()).toEqual({ id: "given" });
  expect((await get("/feedback/tokens/token", "*/*")).json()).toEqual({ id: "given" });
});

test("a client that does not accept HTML gets the API at every path", async () => {
  expect((await get("/", "*/*")).json()).toEqual({ name: "millrace" });
  expect((await get("/o/tenant/projects/p/project", "application/json")).statusCode).toBe(404);
});

test.each(["/secret.env", "/../web.test.ts", "/assets/..%2fsecret.env", "/assets/"])(
  "%s is not a file of the UI",
  async (url) => {
    expect((await get(url, html)).statusCode).toBe(404);
  },
);

test("an unknown path returns a page to browsers, and JSON to programs", async () => {
  const opened = await get("/nowhere", html);
  expect(opened.statusCode).toBe(404);
  expect(opened.headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    vary: "accept, accept-encoding",
  });
  expect(opened.body).toContain("<title>page</title>");
  const again = await app.inject({
    url: "/nowhere",
    headers: { accept: html, "if-none-match": String(opened.headers.etag) },
  });
  expect(again.statusCode).toBe(404);
  for (const accept of ["*/*", "application/json"]) {
    const asked = await get("/nowhere", accept);
    expect([asked.statusCode, asked.json()]).toEqual([404, { detail: "nothing" }]);
  }
});

test("a POST never returns the page", async () => {
  const { statusCode, headers } = await app.inject({
    method: "POST",
    url: "/o/tenant",
    headers: { accept: html },
  });
  expect([statusCode, headers["content-type"]]).toEqual([404, "application/json; charset=utf-8"]);
});

test("without a build of the UI the API responds, to browsers as well", async () => {
  const alone = withApi(join(folder, "missing"));
  expect((await get("/", html, alone)).json()).toEqual({ name: "millrace" });
  await alone.close();
});

describe("a file", () => {
  const script = `console.log(${JSON.stringify("text ".repeat(1_000))})`;
  const getScript = async (headers: Readonly<Record<string, string>>) =>
    app.inject({ url: "/assets/long-abc.js", headers });

  beforeAll(async () => {
    writeFileSync(join(folder, "assets", "long-abc.js"), script);
    await app.close();
    app = withApi(folder);
  });

  test.each([
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip;q=0.8, br;q=0", "gzip", gunzipSync],
  ])("is compressed for a client that accepts %s", async (accepted, encoding, decompress) => {
    for (let times = 0; times < 2; times += 1) {
      const { headers, rawPayload } = await getScript({ "accept-encoding": accepted });
      expect(headers).toMatchObject({
        "content-encoding": encoding,
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
        vary: "accept, accept-encoding",
      });
      expect(rawPayload.length).toBeLessThan(script.length / 10);
      expect(decompress(rawPayload).toString("utf8")).toBe(script);
    }
  });

  test("is sent as it is to a client that accepts no encoding, and has an etag per encoding", async () => {
    const plain = await getScript({});
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.body).toBe(script);
    const compressed = await getScript({ "accept-encoding": "br" });
    expect(compressed.headers.etag).not.toBe(plain.headers.etag);
    const again = await getScript({
      "accept-encoding": "br",
      "if-none-match": String(compressed.headers.etag),
    });
    expect([again.statusCode, again.body]).toEqual([304, ""]);
  });
});
