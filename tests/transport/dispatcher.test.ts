import dns from "node:dns";
import { mkdtemp, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Connection } from "../../src/model/options/connection.ts";
import { createDispatcher } from "../../src/transport/dispatcher.ts";
import { createNodeTransport } from "../../src/transport/node-transport.ts";
import type { CreateTransport } from "../../src/transport/transport.ts";
import type { Outcome } from "../../src/workers/sinks/sink.ts";
import { sendOne as sendOneOver } from "../support/connections.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { ca, clientTls, mutualTls, pem, serverTls } from "../support/tls.ts";

const delivered: Outcome = { kind: "delivered" };

afterEach(() => vi.restoreAllMocks());

/** The transports that use Node's sockets. */
const transports: readonly (readonly [string, CreateTransport])[] = [
  ["undici", createDispatcher],
  ["Node's client", createNodeTransport],
];

describe.each(transports)("certificates, with %s", (_transport, createTransport) => {
  const sendOne = (endpoint: string, options: Partial<Connection> = {}): Promise<Outcome> =>
    sendOneOver(endpoint, options, createTransport);

  test("of a given certificate authority are trusted", async () => {
    await using server = await loopbackServer({ tls: serverTls });
    expect(await sendOne(server.endpoint, { ca })).toEqual(delivered);
    expect(await sendOne(`https://localhost:${server.port}`, { ca })).toEqual(delivered);
  });

  test.each<readonly [string, string, RegExp]>([
    ["of an unknown authority", "server.pem", /UNABLE_TO_VERIFY_LEAF_SIGNATURE.*option ca/],
    ["signed by itself", "self-signed.pem", /SELF_SIGNED_CERT.*option ca/],
  ])(
    "%s: a permanent failure with a clear message, and nothing is sent, not even unencrypted",
    async (_, cert, text) => {
      await using server = await loopbackServer({ tls: { ...serverTls, cert: pem(cert) } });
      const outcome = await sendOne(server.endpoint);
      expect(outcome).toMatchObject({
        kind: "rejected",
        rejection: { code: "CERTIFICATE", message: expect.stringMatching(text) as string },
      });
      expect(server.requests).toHaveLength(0);
    },
  );

  test.each<readonly [string, string, RegExp]>([
    ["out of date", "expired.pem", /has expired or is not valid yet/],
    ["made out to another name", "other-name.pem", /different host name/],
  ])("%s: a permanent failure, although the authority is trusted", async (_, cert, text) => {
    await using server = await loopbackServer({ tls: { ...serverTls, cert: pem(cert) } });
    for (const endpoint of [server.endpoint, `https://localhost:${server.port}`]) {
      expect(await sendOne(endpoint, { ca })).toMatchObject({
        kind: "rejected",
        rejection: { code: "CERTIFICATE", message: expect.stringMatching(text) as string },
      });
    }
    expect(server.requests).toHaveLength(0);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "a server that requires a client certificate gets ours (%s)",
    async (version) => {
      await using server = await loopbackServer({
        tls: { ...mutualTls, minVersion: version, maxVersion: version },
      });
      expect(await sendOne(server.endpoint, clientTls)).toEqual(delivered);
      const without = await sendOne(server.endpoint, { ca });
      expect(without.kind).not.toBe("delivered");
      expect(server.requests).toHaveLength(1);
    },
  );

  test("a server that misses our client certificate causes a permanent failure", async () => {
    // With TLS 1.3 the server only closes the connection, which does not reveal the reason.
    await using server = await loopbackServer({ tls: { ...mutualTls, maxVersion: "TLSv1.2" } });
    expect(await sendOne(server.endpoint, { ca })).toMatchObject({
      kind: "rejected",
      rejection: { message: expect.stringMatching(/options cert and key/) as string },
    });
  });

  test.each<readonly [string, Partial<Connection>]>([
    ["a ca that is no PEM", { ca: "no PEM" }],
    ["a certificate that is no PEM", { ca, cert: "no PEM", key: pem("client.key") }],
    ["a key that is another's", { ca, cert: pem("client.pem"), key: pem("server.key") }],
  ])("%s: a permanent failure, and the key is not repeated", async (_, options) => {
    await using server = await loopbackServer({ tls: serverTls });
    const outcome = await sendOne(server.endpoint, options);
    expect(outcome).toMatchObject({ kind: "rejected", rejection: { code: "CERTIFICATE" } });
    expect(JSON.stringify(outcome)).not.toContain("PRIVATE");
  });

  test("an endpoint with the other scheme gets nothing, and no unencrypted response is accepted", async () => {
    await using server = await loopbackServer({ tls: serverTls });
    await using clear = await loopbackServer();
    expect(await sendOne(`https://127.0.0.1:${clear.port}`, { ca })).toMatchObject({
      kind: "retry",
    });
    expect(await sendOne(`http://127.0.0.1:${server.port}`)).toMatchObject({ kind: "retry" });
    expect(server.requests.length + clear.requests.length).toBe(0);
  });
});

describe.each(transports)("addresses, with %s", (_transport, createTransport) => {
  const sendOne = (endpoint: string, options: Partial<Connection> = {}): Promise<Outcome> =>
    sendOneOver(endpoint, options, createTransport);

  test("a unix socket replaces the endpoint's host", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-"));
    const socketPath = join(folder, "server.sock");
    await using server = await loopbackServer({ socketPath });
    expect(await sendOne("http://runs.test/base", { socketPath })).toEqual(delivered);
    expect(server.requests[0]).toMatchObject({
      path: "/base/runs/batch",
      headers: { host: "runs.test" },
    });
    await server.close();
    expect(await sendOne("http://runs.test", { socketPath })).toMatchObject({
      kind: "retry",
      isServerUnavailable: true,
    });
    await rm(folder, { recursive: true });
  });

  test("an IPv6 address is reached", async () => {
    await using server = await loopbackServer({ host: "::1" });
    expect(await sendOne(server.endpoint)).toEqual(delivered);
    expect(server.requests[0]?.headers.host).toBe(`[::1]:${server.port}`);
  });

  test("an IPv6 address is reached with TLS", async () => {
    await using server = await loopbackServer({ host: "::1", tls: serverTls });
    expect(await sendOne(server.endpoint, { ca })).toEqual(delivered);
  });

  test.each([
    ["127.0.0.1", ["::1", "127.0.0.1"]],
    ["::1", ["127.0.0.1", "::1"]],
  ])("a server on %s only is found under a name that has %j", async (host, addresses) => {
    await using server = await loopbackServer({ host });
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    // Only the name lookup is fake, because the addresses of `localhost` differ between machines.
    const lookup = (_name: string, _options: unknown, done: (...found: unknown[]) => void): void =>
      done(null, found);
    vi.spyOn(dns, "lookup").mockImplementation(lookup as unknown as typeof dns.lookup);
    expect(await sendOne(`http://two.test:${server.port}`)).toEqual(delivered);
  });

  test("if no address responds, the message names one", async () => {
    const closedServer = await loopbackServer();
    await closedServer.close();
    expect(await sendOne(`http://localhost:${closedServer.port}`)).toMatchObject({
      kind: "retry",
      isServerUnavailable: true,
      reason: expect.stringMatching(/ECONNREFUSED (?:::1|127\.0\.0\.1):\d+/) as string,
    });
  });
});
