import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readOffsetPage } from "../src/imports/source/pages.ts";
import { ResponseTooLarge, SourceClient } from "../src/imports/source/source-client.ts";
import type { SourceClientInit } from "../src/imports/source/source-client.ts";
import { startRawServer } from "./support/raw-server.ts";
import type { RawServer } from "./support/raw-server.ts";

const key = "the-key";

function createClient(
  { url }: Pick<RawServer, "url">,
  init: Partial<SourceClientInit> = {},
): { readonly client: SourceClient; readonly waits: readonly string[] } {
  const waits: string[] = [];
  const client = new SourceClient({
    product: "LangSmith",
    url: new URL(url),
    headers: { "x-api-key": key },
    secrets: [key],
    keyVariables: "LANGSMITH_API_KEY",
    proxies: {},
    signal: new AbortController().signal,
    onWait: (reason) => void waits.push(reason),
    ...init,
    limits: { firstWaitMs: 1, maxWaitMs: 4, patienceMs: 2_000, ...init.limits },
  });
  return { client, waits };
}

describe("a failure that may pass", () => {
  test("is waited for as long as the server asks, and then repeated", async () => {
    let count = 0;
    const server = await startRawServer((_request, response) => {
      count += 1;
      if (count === 1) {
        response.writeHead(429, { "retry-after": "1" }).end();
      } else if (count === 2) {
        response.destroy();
      } else {
        response.end('{"a":1}');
      }
    });
    const { client, waits } = createClient(server);
    const startedAt = performance.now();
    expect(await client.get("/x")).toEqual({ a: 1 });
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(waits).toEqual([
      "GET /x: it responded with 429; waiting for 1 s",
      expect.stringMatching(/^GET \/x: ECONNRESET .*; waiting for 1 s$/),
    ]);
  });

  test("ends the import when it does not pass, or when the server asks for a longer wait", async () => {
    const failing = await startRawServer((_request, response) => response.writeHead(503).end());
    const { client } = createClient(failing, { limits: { patienceMs: 10 } });
    await expect(client.get("/x")).rejects.toThrow(
      /^no usable response from http:\S+ to GET \/x: it responded with 503\. Check --from-url/,
    );
    const busy = await startRawServer((_request, response) =>
      response.writeHead(429, { "retry-after": "86400" }).end(),
    );
    await expect(createClient(busy).client.get("/x")).rejects.toThrow(
      "responded with 429 and asks to wait for 86400 s",
    );
  });

  test("ends the import soon if the server never responded, and later if it did", async () => {
    const limits = { firstPatienceMs: 20, patienceMs: 60_000 };
    const absent = createClient({ url: "http://127.0.0.1:9" }, { limits }).client;
    await expect(absent.get("/x")).rejects.toThrow(
      /^no response from http:\/\/127\.0\.0\.1:9: ECONNREFUSED .*\. Check that --from-url is the address/,
    );
    const hanging = createClient(await startRawServer(() => undefined), { limits }).client;
    await expect(hanging.get("/x")).rejects.toThrow("no response within 0.02 s. Check that");
    let count = 0;
    const server = await startRawServer((_request, response) => {
      count += 1;
      if (count > 1 && count < 20) {
        response.destroy();
      } else {
        response.end("{}");
      }
    });
    const { client } = createClient(server, { limits });
    await client.get("/x");
    expect(await client.get("/x")).toEqual({});
    expect(count).toBe(20);
  });

  test("a wait and a request that hangs end when the import is interrupted or too slow", async () => {
    const hanging = await startRawServer(() => undefined);
    const controller = new AbortController();
    const { client } = createClient(hanging, { signal: controller.signal });
    const request = client.get("/x");
    setTimeout(() => controller.abort(new Error("interrupted by SIGINT")), 20);
    await expect(request).rejects.toThrow("interrupted by SIGINT");
    const limits = { timeoutMs: 20, patienceMs: 10 };
    await expect(createClient(hanging, { limits }).client.get("/x")).rejects.toThrow(
      "no response within 0.02 s",
    );
  });
});

describe("a redirect", () => {
  test("within the server is followed with the key", async () => {
    const server = await startRawServer(({ url, headers }, response) => {
      if (url === "/x") {
        response.writeHead(307, { location: "/x/" }).end();
      } else {
        response.end(JSON.stringify({ url, key: headers["x-api-key"] }));
      }
    });
    expect(await createClient(server).client.get("/x")).toEqual({ url: "/x/", key });
  });

  test("to another server is refused, which gets no request", async () => {
    const other = await startRawServer((_request, response) => response.end("{}"));
    const server = await startRawServer((_request, response) =>
      response.writeHead(302, { location: `${other.url}/x` }).end(),
    );
    await expect(createClient(server).client.get("/x")).rejects.toThrow(
      `redirects to ${other.url}. The key is not sent there`,
    );
    expect(other.requests).toEqual([]);
  });

  test.each([
    [308, "/x", "too often"],
    [302, "/y", "without its body"],
  ])("with status %i to %s ends in an error", async (status, location, reason) => {
    const server = await startRawServer((_request, response) =>
      response.writeHead(status, { location }).end(),
    );
    await expect(createClient(server).client.post("/x", {})).rejects.toThrow(reason);
  });
});

describe("a response", () => {
  test("is uncompressed, within the limit", async () => {
    const server = await startRawServer(({ url }, response) => {
      const json = JSON.stringify({ text: "x".repeat(url === "/large" ? 100_000 : 10) });
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(json));
    });
    const { client } = createClient(server, { limits: { maxBytes: 10_000 } });
    expect(await client.get("/small")).toEqual({ text: "xxxxxxxxxx" });
    await expect(client.get("/large")).rejects.toThrow(ResponseTooLarge);
  });

  test("that is not compressed is read up to the limit", async () => {
    const server = await startRawServer((_request, response) =>
      response.end(JSON.stringify("x".repeat(20_000))),
    );
    const { client } = createClient(server, { limits: { maxBytes: 10_000 } });
    await expect(client.get("/x")).rejects.toThrow(
      /the response of \S+ to GET \/x is larger than 10000 bytes/,
    );
  });

  test("that is no JSON, or an error, is explained without the key", async () => {
    const server = await startRawServer(({ url }, response) => {
      if (url === "/page") {
        response.end("<html>");
      } else if (url === "/forbidden") {
        response.writeHead(403).end();
      } else {
        response.writeHead(422).end(`bad \u001b[2J ${key}`);
      }
    });
    const { client } = createClient(server);
    await expect(client.get("/page")).rejects.toThrow(
      /is not the API of a LangSmith server: its response to GET \/page is not JSON/,
    );
    await expect(client.get("/forbidden")).rejects.toThrow(
      /refused the key \(403\)\. Set LANGSMITH_API_KEY/,
    );
    await expect(client.get("/x")).rejects.toThrow('with 422: "bad \\u001b[2J ***"');
  });
});

describe("a download", () => {
  test("goes to any server, without the key, and says nothing of its signature", async () => {
    const storage = await startRawServer(({ url }, response) => {
      response.writeHead(url?.startsWith("/gone") === true ? 404 : 200).end("bytes");
    });
    const { client } = createClient({ url: "http://127.0.0.1:9" });
    expect((await client.download(`${storage.url}/a?signature=s`, 100)).toString()).toBe("bytes");
    expect(JSON.stringify(storage.requests)).not.toContain(key);
    await expect(client.download(`${storage.url}/gone?signature=s`, 100)).rejects.toThrow(
      new RegExp(`^can't download a file from ${storage.url}: it responded with 404$`),
    );
    await expect(client.download(`${storage.url}/a`, 3)).rejects.toThrow("larger than 3 bytes");
    await expect(client.download("file:///etc/passwd", 3)).rejects.toThrow(
      "not an http or https URL",
    );
  });
});

describe("a page of a list", () => {
  const rows = Array.from({ length: 10 }, (_, n) => n);
  const read =
    (maxRows: number, limits: number[]) =>
    async ({ offset, limit }: { readonly offset: number; readonly limit: number }) => {
      limits.push(limit);
      if (limit > maxRows) {
        throw new ResponseTooLarge("too large");
      }
      return rows.slice(offset, offset + limit);
    };

  test("that is too large is read in halves", async () => {
    const limits: number[] = [];
    const page = await readOffsetPage(undefined, read(2, limits), 8);
    expect({ page, limits }).toEqual({
      page: { rows: [0, 1], next: "2" },
      limits: [8, 4, 2],
    });
    // The offset is a multiple of the size, so that the page has a number.
    expect(await readOffsetPage("2", read(8, limits), 8)).toEqual({ rows: [2, 3], next: "4" });
    expect(await readOffsetPage("8", read(8, limits), 8)).toEqual({
      rows: [8, 9],
      next: undefined,
    });
  });

  test("of which one row is too large is an error", async () => {
    await expect(readOffsetPage(undefined, read(0, []), 8)).rejects.toThrow(ResponseTooLarge);
  });
});
