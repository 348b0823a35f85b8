import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createTestHttp } from "../support/api.ts";
import { sendOne } from "../support/connections.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";

const apiKey = "sk-0123456789abcdef";
const token = "Bearer another-secret";
const connection = { apiKey, headers: { authorization: token } };
const readRun = { path: { id: "0f0e0d0c-0b0a-4908-8706-050403020100" } };

/** Everything that a program can print of an error, including its causes. */
const printedForm = (error: unknown): string =>
  `${inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })} ${JSON.stringify(error)}`;

/** Refuses requests and repeats their headers in the response, as debug pages of proxies do. */
const repeatHeaders =
  (status: number): ScriptedResponse =>
  (response, { headers }) => {
    response.writeHead(status, { location: `/login?key=${String(headers["x-api-key"])}` });
    response.end(JSON.stringify({ detail: `not ${JSON.stringify(headers)}` }));
  };

test.each([400, 401, 302, 502])(
  "a server that repeats the key at %i is not quoted",
  async (status) => {
    await using server = await loopbackServer({ runs: [repeatHeaders(status)] });
    const { http } = createTestHttp(server.endpoint, { connection, attempts: 1 });
    const lines = http.download("readRun", readRun)[Symbol.asyncIterator]();
    for (const ask of [() => http.call("readRun", readRun), () => lines.next()]) {
      const error = await ask().catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(Error);
      expect(printedForm(error)).toContain("[hidden]");
      expect(printedForm(error)).not.toMatch(/0123456789|another-secret/);
    }
    expect(server.requests[0]?.headers).toMatchObject({
      "x-api-key": apiKey,
      authorization: token,
    });
  },
);

test("nor if it refuses runs", async () => {
  await using server = await loopbackServer({ runs: [repeatHeaders(400)] });
  const outcome = await sendOne(server.endpoint, connection);
  expect(outcome).toMatchObject({ kind: "rejected" });
  expect(printedForm(outcome)).not.toMatch(/0123456789|another-secret/);
});

test("a peer that echoes the request appears in no cause, and its error has a message", async () => {
  const echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => {
    echo.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void echo.close());
  const { port } = echo.address() as AddressInfo;
  const { http } = createTestHttp(`http://127.0.0.1:${port}`, { connection, attempts: 1 });
  const error = await http.call("readRun", readRun).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "NETWORK" });
  expect(printedForm(error)).not.toMatch(/0123456789|another-secret/);
  expect(String(error)).toMatch(/^NetworkError: Failed to read run: Response does not match/);
});

test("a message contains textual codes, not the number of a DOMException", async () => {
  await using server = await loopbackServer({ runs: [() => undefined] });
  const { http } = createTestHttp(server.endpoint, { connection: { timeoutMs: 50 }, attempts: 1 });
  await expect(http.call("readRun", readRun)).rejects.toThrow(
    /^Failed to read run: no response within 50 ms$/,
  );
});
