import { afterEach, expect, test, vi } from "vitest";
import type { Outcome } from "../../src/workers/sinks/sink.ts";
import { createTestSink, neverAborted, sendOne } from "../support/connections.ts";
import { loopbackProxy } from "../support/loopback-proxy.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { batchOf, manyRuns } from "../support/run-batch.ts";
import { ca, clientTls, mutualTls, serverTls } from "../support/tls.ts";

const delivered: Outcome = { kind: "delivered" };
const one = batchOf(manyRuns(1));

afterEach(() => vi.unstubAllEnvs());

test("a proxy of an http endpoint gets the whole URL", async () => {
  await using server = await loopbackServer();
  await using proxy = await loopbackProxy({ targetPort: server.port });
  const connection = { httpProxy: proxy.address, apiKey: "the-key" };
  expect(await sendOne("http://runs.test:8080/base", connection)).toEqual(delivered);
  expect(proxy.requestLines).toEqual(["POST http://runs.test:8080/base/runs/batch"]);
  expect(server.requests[0]).toMatchObject({
    path: "/base/runs/batch",
    headers: { host: "runs.test:8080", "x-api-key": "the-key" },
  });
});

test("a proxy of an https endpoint only connects: the server's certificate is checked inside", async () => {
  await using server = await loopbackServer({ tls: serverTls });
  await using proxy = await loopbackProxy({ targetPort: server.port });
  const connection = { httpsProxy: proxy.address, ca, apiKey: "the-key" };
  expect(await sendOne("https://runs.test", connection)).toEqual(delivered);
  expect(proxy.requestLines).toEqual(["CONNECT runs.test:443"]);
  expect(server.requests[0]?.headers).toMatchObject({
    host: "runs.test",
    "x-api-key": "the-key",
  });
  expect(await sendOne("https://elsewhere.test", connection)).toMatchObject({
    kind: "rejected",
    rejection: {
      code: "CERTIFICATE",
      message: expect.stringMatching(/different host name/) as string,
    },
  });
  expect(await sendOne("https://runs.test", { httpsProxy: proxy.address })).toMatchObject({
    kind: "rejected",
    rejection: { code: "CERTIFICATE" },
  });
  expect(server.requests).toHaveLength(1);
});

test("a proxy shows its client certificate to the server inside", async () => {
  await using server = await loopbackServer({ tls: mutualTls });
  await using proxy = await loopbackProxy({ targetPort: server.port });
  expect(await sendOne("https://runs.test", { httpsProxy: proxy.address, ...clientTls })).toEqual(
    delivered,
  );
});

test("a proxy gets the user and password of its address, and the server does not", async () => {
  await using server = await loopbackServer({ tls: serverTls });
  await using clear = await loopbackServer();
  await using proxy = await loopbackProxy({ targetPort: server.port });
  await using clearProxy = await loopbackProxy({ targetPort: clear.port });
  const withUser = ({ port }: { port: number }): string => `http://me:p%40ss@127.0.0.1:${port}`;
  await sendOne("https://runs.test", { httpsProxy: withUser(proxy), ca });
  await sendOne("http://runs.test", { httpProxy: withUser(clearProxy) });
  const basic = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
  expect([...proxy.authorizations, ...clearProxy.authorizations]).toEqual([basic, basic]);
  expect(server.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
});

test("a proxy is reached over one connection for several requests", async () => {
  await using server = await loopbackServer({ tls: serverTls });
  await using proxy = await loopbackProxy({ targetPort: server.port });
  await using to = createTestSink("https://runs.test", {
    httpsProxy: proxy.address,
    ca,
    requestsInFlight: 1,
  });
  for (let round = 0; round < 10; round++) {
    expect(await to.sink.send(one, neverAborted())).toEqual(delivered);
  }
  expect(proxy.requestLines.length).toBeLessThanOrEqual(2);
});

test.each([
  ["https", 407, "rejected"],
  ["https", 403, "rejected"],
  ["https", 502, "retry"],
  ["https", 503, "retry"],
  ["http", 407, "rejected"],
  ["http", 503, "retry"],
] as const)("(%s) that answers %i: %s, and no password is in it", async (scheme, refuse, kind) => {
  await using proxy = await loopbackProxy({ targetPort: 1, refuse });
  const address = `http://me:secret@127.0.0.1:${proxy.port}`;
  const options = { httpsProxy: address, httpProxy: address };
  const outcome = await sendOne(`${scheme}://runs.test`, options);
  expect(outcome.kind).toBe(kind);
  expect(JSON.stringify(outcome)).toContain(String(refuse));
  expect(JSON.stringify(outcome)).not.toMatch(/secret|bWU6/);
});

test.each([
  [0, "hangs up"],
  [-1, "says nothing"],
])(
  "a proxy that %i (%s) costs at most one timeout, and is not connected to repeatedly",
  async (refuse) => {
    await using proxy = await loopbackProxy({ targetPort: 1, refuse });
    const address = `http://me:secret@127.0.0.1:${proxy.port}`;
    const began = performance.now();
    const outcome = await sendOne("https://runs.test", { httpsProxy: address, timeoutMs: 300 });
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(outcome).toMatchObject({ kind: "retry", isServerUnavailable: true });
    expect(JSON.stringify(outcome)).not.toMatch(/secret|bWU6/);
    expect(proxy.requestLines).toHaveLength(1);
  },
);

test("a proxy that never responds does not block the connection for later attempts", async () => {
  await using proxy = await loopbackProxy({ targetPort: 1, refuse: -1 });
  const options = { httpsProxy: proxy.address, timeoutMs: 100, requestsInFlight: 1 };
  await using to = createTestSink("https://runs.test", options);
  for (let round = 0; round < 6; round++) {
    await to.sink.send(one, neverAborted());
  }
  // More than the number of connections: each was abandoned and opened again.
  expect(proxy.requestLines.length).toBeGreaterThan(2);
});

test.each(["https", "http"])(
  "a missing proxy of an %s endpoint is named in the message with what set it, without its password",
  async (scheme) => {
    const proxy = await loopbackProxy({ targetPort: 1 });
    await proxy.close();
    const address = `http://me:secret@127.0.0.1:${proxy.port}`;
    const outcome = await sendOne(`${scheme}://runs.test`, {
      httpProxy: address,
      httpsProxy: address,
      proxySource: "HTTP_PROXY",
    });
    expect(outcome).toMatchObject({
      kind: "retry",
      isServerUnavailable: true,
      reason: `Failed to send runs: the proxy http://127.0.0.1:${proxy.port} (HTTP_PROXY) can't be reached: connect ECONNREFUSED 127.0.0.1:${proxy.port}`,
    });
    expect(JSON.stringify(outcome)).not.toMatch(/secret|bWU6/);
  },
);

test("a proxy of the environment is not used unless the options name it", async () => {
  await using server = await loopbackServer();
  await using proxy = await loopbackProxy({ targetPort: server.port });
  for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) {
    vi.stubEnv(name, proxy.address);
  }
  expect(await sendOne(server.endpoint)).toEqual(delivered);
  expect(proxy.requestLines).toEqual([]);
});

test("a proxy is bypassed for hosts in noProxy, and used otherwise", async () => {
  await using server = await loopbackServer();
  await using proxy = await loopbackProxy({ targetPort: server.port });
  const httpProxy = proxy.address;
  expect(await sendOne(server.endpoint, { httpProxy, noProxy: "a.test,127.0.0.1" })).toEqual(
    delivered,
  );
  expect(proxy.requestLines).toEqual([]);
  expect(await sendOne(server.endpoint, { httpProxy, noProxy: "a.test" })).toEqual(delivered);
  expect(proxy.requestLines).toHaveLength(1);
});
