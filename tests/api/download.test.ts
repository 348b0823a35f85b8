import { expect, test } from "vitest";
import { createTestHttp } from "../support/api.ts";
import { destroyConnection, neverRespond, loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";

const init = { path: { id: "0f0e0d0c-0b0a-4908-8706-050403020100" } };
/** The server sends the scripted responses only for paths with `/runs`. */
const under = (endpoint: string): string => `${endpoint}/runs/v1`;

const textOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) {
    read.push(chunk);
  }
  return Buffer.concat(read).toString();
};

test("a download is retried until its response begins", async () => {
  const runs: readonly ScriptedResponse[] = [
    destroyConnection,
    { status: 503 },
    { body: "all of it" },
  ];
  await using server = await loopbackServer({ runs });
  const { http, waits } = createTestHttp(under(server.endpoint));
  expect(await textOf(http.download("exportDatasetOpenAi", init))).toBe("all of it");
  expect(waits).toHaveLength(2);
});

test("a download that breaks off is an error, and is not retried", async () => {
  const runs: readonly ScriptedResponse[] = [
    (response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.socket?.destroy());
    },
  ];
  await using server = await loopbackServer({ runs });
  const { http } = createTestHttp(under(server.endpoint));
  const download = textOf(http.download("exportDatasetOpenAi", init));
  await expect(download).rejects.toMatchObject({
    code: "NETWORK",
    message: expect.stringContaining("Failed to export dataset for fine-tuning") as string,
  });
  expect(server.requests).toHaveLength(1);
});

test("a refused download has the error class and the reason of its status", async () => {
  await using server = await loopbackServer({ runs: [{ status: 404, body: '{"detail":"gone"}' }] });
  const { http } = createTestHttp(under(server.endpoint));
  await expect(textOf(http.download("exportDatasetOpenAi", init))).rejects.toMatchObject({
    code: "NOT_FOUND",
    message:
      "Failed to export dataset for fine-tuning: 404 gone. Check the id or name, the endpoint and the tenant of the key",
  });
});

test("a download that stalls is a TimeoutError, and one whose signal is aborted an AbortError", async () => {
  const half: ScriptedResponse = (response) => {
    response.write("half");
  };
  await using server = await loopbackServer({ runs: [half, half] });
  const { http } = createTestHttp(under(server.endpoint), { connection: { timeoutMs: 100 } });
  await expect(textOf(http.download("exportDatasetOpenAi", init))).rejects.toMatchObject({
    code: "TIMEOUT",
  });
  const controller = new AbortController();
  const { signal } = controller;
  const ended = async (): Promise<void> => {
    for await (const _chunk of http.download("exportDatasetOpenAi", { ...init, signal })) {
      controller.abort();
    }
  };
  await expect(ended()).rejects.toMatchObject({ code: "ABORTED" });
});

test("leaving the loop ends a download, and the client stays usable", async () => {
  const endless: ScriptedResponse = (response) => {
    const timer = setInterval(() => response.write("x".repeat(1_000)), 1);
    response.on("close", () => clearInterval(timer));
  };
  await using server = await loopbackServer({ runs: [endless, { body: "{}" }] });
  const { http } = createTestHttp(under(server.endpoint));
  for await (const _chunk of http.download("exportDatasetOpenAi", init)) {
    break;
  }
  expect(await http.call("readRun", init)).toEqual({});
});

test("a file is requested with the key from the client's own server, and without it from others", async () => {
  await using own = await loopbackServer({ runs: [{ body: "own" }] });
  await using other = await loopbackServer({ runs: [{ body: "other" }] });
  const connection = { apiKey: "secret-1", workspaceId: "w-1", headers: { "x-extra": "secret-2" } };
  const { http } = createTestHttp(`${own.endpoint}/api/v1`, { connection });
  const fetched = (address: string): Promise<string> =>
    textOf(http.fetchFile(new URL(address), { action: "read attachment" }));
  expect(await fetched(`${own.endpoint}/runs/file?sig=a:b%2F`)).toBe("own");
  expect(await fetched(`${other.endpoint}/runs/file`)).toBe("other");
  expect(own.requests[0]).toMatchObject({
    path: "/runs/file?sig=a:b%2F",
    headers: { "x-api-key": "secret-1" },
  });
  const sent = JSON.stringify(other.requests[0]?.headers);
  expect(sent).not.toMatch(/secret|w-1|x-request-id/);
});

test("another server is called without the key", async () => {
  await using own = await loopbackServer();
  await using other = await loopbackServer({ runs: [{ body: "{}" }, neverRespond] });
  const { http } = createTestHttp(own.endpoint, { connection: { apiKey: "secret-1" } });
  await http.call("readRun", { ...init, server: other.endpoint });
  expect([own.requests.length, other.requests.length]).toEqual([0, 1]);
  expect(JSON.stringify(other.requests[0]?.headers)).not.toContain("secret");
});

test("a file's redirect is not followed", async () => {
  await using server = await loopbackServer({
    runs: [{ status: 302, headers: { location: "http://169.254.169.254/" } }],
  });
  const { http } = createTestHttp(server.endpoint);
  const file = http.fetchFile(new URL(`${server.endpoint}/runs/x`), { action: "read attachment" });
  await expect(textOf(file)).rejects.toThrow("Failed to read attachment: 302");
});
