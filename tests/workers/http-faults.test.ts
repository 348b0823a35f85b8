import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createTestSink, neverAborted } from "../support/connections.ts";
import { outcomesByRun } from "../support/fake-batch.ts";
import { destroyConnection, neverRespond, loopbackServer } from "../support/loopback-server.ts";
import type { ScriptedResponse } from "../support/loopback-server.ts";
import { batchOf, manyRuns, runId } from "../support/run-batch.ts";

const one = batchOf(manyRuns(1));
const large = batchOf(manyRuns(4, { inputs: { text: "x".repeat(1_000_000) } }));
const unreachable = { kind: "retry", isServerUnavailable: true };

describe("a 2xx counts as delivered with any body but an HTML page", () => {
  test.each<readonly [string, ScriptedResponse]>([
    ["HTML in name only", { status: 200, headers: { "content-type": "text/html" }, body: "yes" }],
    ["nothing", { status: 200 }],
    ["no content", { status: 204 }],
    ["garbage", { status: 202, body: '{"rejected":[{"id"' }],
    ["rejections of another shape", { status: 202, body: '{"rejected":[1,null,{"id":"x"}]}' }],
    ["a body that breaks off", { status: 202, headers: { "content-length": "99" }, body: "{" }],
    [
      "a body that drips",
      (response) => {
        const drip = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(drip));
        response.writeHead(202);
      },
    ],
  ])("%s", async (_, answer) => {
    await using server = await loopbackServer({ runs: [answer] });
    await using to = createTestSink(server.endpoint, { timeoutMs: 300 });
    expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
  });
});

test("an endless body is read up to a limit, not until the timeout", async () => {
  const pourOut: ScriptedResponse = (response) => {
    const pour = (): void => {
      while (response.write("x".repeat(65_536))) {
        // Writes until the connection's buffers are full.
      }
    };
    response.on("drain", pour);
    response.writeHead(202);
    pour();
  };
  await using server = await loopbackServer({ runs: [pourOut] });
  await using to = createTestSink(server.endpoint, { timeoutMs: 600_000 });
  expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
});

describe("a list of rejected runs in the response", () => {
  const batch = batchOf(manyRuns(5));
  const rejected = (...numbers: readonly number[]): string =>
    JSON.stringify({
      accepted: 5 - numbers.length,
      rejected: numbers.map((number) => ({ id: runId(number), reason: `bad ${number}` })),
    });

  test("of a 202 marks just those", async () => {
    await using server = await loopbackServer({ runs: [{ status: 202, body: rejected(2, 4) }] });
    await using to = createTestSink(server.endpoint);
    const outcome = await to.sink.send(batch, neverAborted());
    expect(outcomesByRun(batch, outcome)).toEqual([
      "delivered",
      "rejected",
      "delivered",
      "rejected",
      "delivered",
    ]);
    expect(JSON.stringify(outcome)).toContain("bad 4");
  });

  test("of a 422 that names every run rejects them without another request", async () => {
    await using server = await loopbackServer({
      runs: [{ status: 422, body: rejected(1, 2, 3, 4, 5) }],
    });
    await using to = createTestSink(server.endpoint);
    const outcome = await to.sink.send(batch, neverAborted());
    expect(new Set(outcomesByRun(batch, outcome))).toEqual(new Set(["rejected"]));
    expect(outcome.kind).toBe("mixed");
  });

  test("of a 422 that names some runs leaves the batch to be halved", async () => {
    await using server = await loopbackServer({ runs: [{ status: 422, body: rejected(1) }] });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(batch, neverAborted())).toMatchObject({
      kind: "rejected",
      rejection: { status: 422 },
    });
  });

  test("that names other runs changes nothing", async () => {
    await using server = await loopbackServer({ runs: [{ status: 202, body: rejected(77) }] });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(batch, neverAborted())).toEqual({ kind: "delivered" });
  });
});

describe("a server that fails", () => {
  test("that hangs costs one timeout, and does not delay other requests", async () => {
    await using server = await loopbackServer({ runs: [neverRespond, { status: 202 }] });
    await using to = createTestSink(server.endpoint, { timeoutMs: 250, requestsInFlight: 2 });
    const first = to.sink.send(one, neverAborted());
    await expect.poll(() => server.requests.length).toBe(1);
    expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
    expect(await first).toMatchObject({
      kind: "retry",
      reason: expect.stringMatching(/250 ms|[Tt]imeout/) as string,
    });
  });

  test("that accepts the connection and never responds is abandoned in time", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    // With TLS, the server is silent during the handshake, before there is a request to abort.
    await using to = createTestSink(`https://127.0.0.1:${port}`, { timeoutMs: 200 });
    const began = performance.now();
    expect(await to.sink.send(one, neverAborted())).toMatchObject(unreachable);
    expect(performance.now() - began).toBeLessThan(1_500);
    for (const socket of sockets) {
      socket.destroy();
    }
    silent.close();
  });

  test("that dies in the middle of a body can be retried", async () => {
    await using server = await loopbackServer({
      onBegin: (request) => {
        request.once("data", () => request.socket.resetAndDestroy());
      },
    });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(large, neverAborted())).toMatchObject(unreachable);
  });

  test("that closes the connection before it responds can be retried over a new connection", async () => {
    await using server = await loopbackServer({ runs: [destroyConnection, { status: 202 }] });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(one, neverAborted())).toMatchObject(unreachable);
    expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
  });

  test("that is not listening can be retried", async () => {
    const closedServer = await loopbackServer();
    await closedServer.close();
    await using to = createTestSink(closedServer.endpoint);
    expect(await to.sink.send(one, neverAborted())).toMatchObject({
      ...unreachable,
      reason: expect.stringContaining("ECONNREFUSED") as string,
    });
  });

  test("that has no address can be retried", async () => {
    await using to = createTestSink("http://no-such-host.invalid");
    expect(await to.sink.send(one, neverAborted())).toMatchObject(unreachable);
  });

  test("that responds with garbage can be retried", async () => {
    const server = createServer((socket) => socket.end("220 mail.test ESMTP\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await using to = createTestSink(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(await to.sink.send(one, neverAborted())).toMatchObject(unreachable);
    server.close();
  });

  test.each([401, 413, 500])("%i counts although its body is incomplete", async (status) => {
    const answer = { status, headers: { "content-length": "99" }, body: "{" };
    await using server = await loopbackServer({
      runs: [
        (response) => {
          response.writeHead(answer.status, answer.headers);
          response.write(answer.body, () => response.socket?.destroy());
        },
      ],
    });
    await using to = createTestSink(server.endpoint);
    expect(JSON.stringify(await to.sink.send(one, neverAborted()))).toContain(
      `send runs: ${status}`,
    );
  });

  test("that responds before it has read the body is handled", async () => {
    await using server = await loopbackServer({
      onBegin: (request, response) => {
        request.pause();
        response.writeHead(413, { connection: "close" }).end("too large");
        request.resume();
      },
    });
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(large, neverAborted())).toMatchObject({ rejection: { status: 413 } });
  });
});

test.each([301, 302, 303, 307, 308])(
  "a %i is not followed, and the key is not sent there",
  async (status) => {
    await using other = await loopbackServer();
    const headers = { location: `${other.endpoint}/runs/multipart` };
    await using server = await loopbackServer({ runs: [{ status, headers }] });
    await using to = createTestSink(server.endpoint, { apiKey: "the-key" });
    const outcome = await to.sink.send(one, neverAborted());
    expect(outcome).toMatchObject({ kind: "rejected", rejection: { status } });
    expect(JSON.stringify(outcome)).not.toContain("the-key");
    expect(other.requests).toHaveLength(0);
    expect(other.connections).toBe(0);
  },
);

test("connections are reused, and one that the server closed is replaced", async () => {
  await using server = await loopbackServer();
  await using to = createTestSink(server.endpoint);
  for (let round = 0; round < 20; round++) {
    expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
  }
  expect(server.connections).toBeLessThanOrEqual(5);
  server.disconnect();
  // Whether or not the client noticed in time, the next attempt uses a new connection at the latest.
  const outcome = await to.sink.send(one, neverAborted());
  expect(["delivered", "retry"]).toContain(outcome.kind);
  expect(await to.sink.send(one, neverAborted())).toEqual({ kind: "delivered" });
});

describe("an abort", () => {
  test("ends a request in flight", async () => {
    await using server = await loopbackServer({ runs: [neverRespond] });
    await using to = createTestSink(server.endpoint);
    const abort = new AbortController();
    const sent = to.sink.send(one, abort.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort();
    expect(await sent).toMatchObject({ kind: "retry" });
  });

  test("before a request prevents it from being sent", async () => {
    await using server = await loopbackServer();
    await using to = createTestSink(server.endpoint);
    expect(await to.sink.send(one, AbortSignal.abort())).toMatchObject({ kind: "retry" });
    expect(server.requests).toHaveLength(0);
    expect(to.traffic.requests).toBe(0);
  });

  test("ends waiting requests too", async () => {
    await using server = await loopbackServer({ runs: [neverRespond] });
    await using to = createTestSink(server.endpoint, { requestsInFlight: 1 });
    const abort = new AbortController();
    const sent = Array.from({ length: 5 }, () => to.sink.send(one, abort.signal));
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort();
    expect((await Promise.all(sent)).map(({ kind }) => kind)).toEqual(Array(5).fill("retry"));
    expect(server.requests).toHaveLength(1);
  });
});
