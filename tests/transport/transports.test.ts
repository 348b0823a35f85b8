import { describe, expect, test, vi } from "vitest";
import { ConnectionPools } from "../../src/transport/connection-pools.ts";
import { createFetchTransport } from "../../src/transport/fetch-transport.ts";
import { createNodeTransport } from "../../src/transport/node-transport.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { Requester } from "../../src/transport/requester.ts";
import { SharedTraffic } from "../../src/model/records/shared-traffic.ts";
import { HttpSink } from "../../src/workers/sinks/http-sink.ts";
import { ServerState } from "../../src/workers/sinks/server-state.ts";
import { createTestConnection, neverAborted } from "../support/connections.ts";
import { neverRespond, loopbackServer } from "../support/loopback-server.ts";
import { batchOf, manyRuns } from "../support/run-batch.ts";

describe.each([
  ["fetch", createFetchTransport],
  ["Node's client", createNodeTransport],
])("the sink over %s", (_name, createTransport) => {
  const transportTo = (endpoint: string, limit = 4_194_304, timeoutMs = 3_000): Transport =>
    createTransport(createTestConnection(endpoint, { timeoutMs }), limit, () => undefined);

  const sinkTo = (endpoint: string, timeoutMs = 3_000): HttpSink => {
    const connection = createTestConnection(endpoint, { timeoutMs, apiKey: "the-key-of-the-test" });
    return new HttpSink({
      connection,
      transport: transportTo(endpoint, undefined, timeoutMs),
      state: new ServerState(connection),
      traffic: new SharedTraffic(),
    });
  };

  test("delivers, with the key and our own headers", async () => {
    await using server = await loopbackServer();
    expect(await sinkTo(server.endpoint).send(batchOf(manyRuns(3)), neverAborted())).toEqual({
      kind: "delivered",
    });
    const [request] = server.requests;
    expect(request?.headers).toMatchObject({
      "x-api-key": "the-key-of-the-test",
      "user-agent": expect.stringMatching(/^millrace\//) as string,
    });
    expect(request?.body.length).toBeGreaterThan(100);
  });

  test("follows no redirect: the key goes nowhere else", async () => {
    await using other = await loopbackServer();
    await using server = await loopbackServer({
      runs: [{ status: 307, headers: { location: `${other.endpoint}/runs` } }],
    });
    const outcome = await sinkTo(server.endpoint).send(batchOf(manyRuns(1)), neverAborted());
    expect(outcome).toMatchObject({ kind: "rejected", rejection: { status: 307 } });
    expect(other.requests).toHaveLength(0);
  });

  test("reports a server's Retry-After, and a missing server", async () => {
    await using server = await loopbackServer({
      runs: [{ status: 503, headers: { "retry-after": "7" } }, neverRespond],
    });
    const sink = sinkTo(server.endpoint);
    const one = batchOf(manyRuns(1));
    expect(await sink.send(one, neverAborted())).toMatchObject({
      kind: "retry",
      retryAfterMs: 7_000,
    });
    const impatient = sinkTo(server.endpoint, 200);
    expect(await impatient.send(one, neverAborted())).toMatchObject({
      kind: "retry",
      code: "TIMEOUT",
    });
    expect(await sinkTo("http://127.0.0.1:9").send(one, neverAborted())).toMatchObject({
      kind: "retry",
      code: "NETWORK",
      isServerUnavailable: true,
    });
  });

  test("a response is read up to its limit", async () => {
    await using server = await loopbackServer({ info: { body: "x".repeat(100_000) } });
    const transport = transportTo(server.endpoint, 10_000);
    const requester = new Requester(createTestConnection(server.endpoint), transport);
    const { status, body, bodyFailure } = await requester.request(
      { method: "GET", path: "/info" },
      neverAborted(),
    );
    expect({ status, body }).toEqual({ status: 200, body: "" });
    expect(bodyFailure).toMatchObject({ code: "UND_ERR_RES_EXCEEDED_MAX_SIZE" });
  });

  test("a body is streamed, and requests in flight end with the transport", async () => {
    await using server = await loopbackServer({ runs: [{ status: 202 }, neverRespond] });
    const transport = transportTo(server.endpoint);
    const requester = new Requester(createTestConnection(server.endpoint), transport);
    async function* parts(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("one ");
      yield Buffer.from("two");
    }
    const body = { isConsumed: false, open: () => parts() };
    const answer = await requester.request({ method: "POST", path: "/runs", body }, neverAborted());
    expect(answer.status).toBe(202);
    expect(server.requests[0]?.body.toString()).toBe("one two");
    const hung = requester.request({ method: "POST", path: "/runs" }, neverAborted());
    const [ended] = await Promise.allSettled([hung, transport.destroy()]);
    expect(ended).toMatchObject({ status: "rejected" });
  });
});

test("a request with fetch is marked, so that a program's own fetch can leave it out", async () => {
  await using server = await loopbackServer();
  const marks: unknown[] = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...[input, init]: Parameters<typeof fetch>) => {
    marks.push(Reflect.get(init ?? {}, Symbol.for("millrace.ownRequest")));
    return fetch(input, init);
  });
  const connection = createTestConnection(server.endpoint);
  const requester = new Requester(
    connection,
    createFetchTransport(connection, 1_000, () => undefined),
  );
  await requester.request({ method: "GET", path: "/info" }, neverAborted());
  expect(marks).toEqual([true]);
});

test.each([
  ["undici", {}],
  ["fetch", { bun: "1.3.0" }],
])("a streamed response over %s has no size limit, another one has", async (_name, versions) => {
  vi.spyOn(process, "versions", "get").mockReturnValue({ ...process.versions, ...versions });
  const text = "x".repeat(100_000);
  await using server = await loopbackServer({ info: { body: text } });
  const connection = createTestConnection(server.endpoint);
  const pools = new ConnectionPools(connection, 10_000);
  const request = { method: "GET", path: "/info" } as const;
  const streaming = await pools.getRequester(undefined, "stream");
  const { chunks } = await streaming.open(request, neverAborted());
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) {
    parts.push(chunk);
  }
  expect(Buffer.concat(parts).toString()).toBe(text);
  const reading = await pools.getRequester(undefined, "whole");
  expect(await reading.request(request, neverAborted())).toMatchObject({
    bodyFailure: { code: "UND_ERR_RES_EXCEEDED_MAX_SIZE" },
  });
  await pools.close();
});

test("options that only Bun's fetch supports are refused elsewhere, not ignored", () => {
  const connection = createTestConnection("https://127.0.0.1", { ca: "a certificate" });
  expect(() => createFetchTransport(connection, 1_000, () => undefined)).toThrow(
    /supports no proxy, certificate or Unix socket; use Node, or remove the options/,
  );
});

describe("Node's client", () => {
  test("uses one connection for requests one after the other, and reports it", async () => {
    await using server = await loopbackServer();
    let connections = 0;
    const connection = createTestConnection(server.endpoint);
    const transport = createNodeTransport(connection, 1_000, () => (connections += 1));
    const requester = new Requester(connection, transport);
    for (let request = 1; request <= 3; request++) {
      await requester.request({ method: "GET", path: "/info" }, neverAborted());
    }
    expect({ connections, accepted: server.connections }).toEqual({ connections: 1, accepted: 1 });
    await transport.destroy();
  });
});
