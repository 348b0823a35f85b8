import { once } from "node:events";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { connect, createSecureContext } from "node:tls";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { Client } from "millrace";
import { startServer } from "@millrace/server";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { expect, onTestFinished, test } from "vitest";
import { call, temporaryFolder, textOf } from "../../server/tests/support/running-server.ts";
import { startReverseProxy } from "../../web/tests/support/reverse-proxy.ts";
import type { ReverseProxy, ReverseProxyOptions } from "../../web/tests/support/reverse-proxy.ts";
import { ca } from "../support/tls.ts";

/** A server behind a reverse proxy that publishes it below a base path. */
async function runBehindProxy(
  proxyOptions: Omit<ReverseProxyOptions, "basePath"> = {},
  serverOptions: ServerOptions = {},
): Promise<{ readonly proxy: ReverseProxy; readonly server: RunningServer }> {
  const proxy = await startReverseProxy({ basePath: "/a/b.c", ...proxyOptions });
  onTestFinished(() => proxy.close());
  const server = await startServer({
    port: 0,
    dataDir: ":memory:",
    publicUrl: `${proxy.url}/`,
    ...serverOptions,
  });
  onTestFinished(() => server.close());
  proxy.target = server.url;
  return { proxy, server };
}

/** Records a run with the SDK, and returns what the server has stored. */
async function recordRun(endpoint: string): Promise<string | undefined> {
  const client = new Client({ endpoint, projectName: "behind" });
  try {
    client.startRun({ name: "question" }).end({ answer: 42 });
    await client.flush();
    const [run] = await client.runs.list({ projectNames: ["behind"] }).toArray();
    return run?.name;
  } finally {
    await client.close();
  }
}

test.each([
  ["keeps the base path", { keepsBasePath: true }],
  ["removes the base path", {}],
  ["replaces the Host header", { replacesHost: true }],
])(
  "the SDK works through a proxy that %s, with and without a trailing slash",
  async (_name, options) => {
    const { proxy } = await runBehindProxy(options);
    expect(await recordRun(proxy.url)).toBe("question");
    expect(await recordRun(`${proxy.url}/`)).toBe("question");
    // Clients of the platform's API end their URL like this.
    expect(await recordRun(`${proxy.url}/api/v1`)).toBe("question");
    expect(proxy.outsideRequests).toEqual([]);
  },
);

test("links in answers begin with the public URL, whichever way the request came", async () => {
  const { proxy, server } = await runBehindProxy({ replacesHost: true });
  for (const address of [proxy, server]) {
    expect((await call(address, "GET /")).json).toMatchObject({
      endpoint: proxy.url,
      info: `${proxy.url}/info`,
    });
  }
  const { json } = await call(proxy, "POST /feedback/tokens", {
    body: { run_id: "7d0a7b0e-6d8c-4f0e-9d0e-0a5e6f5b7d11", feedback_key: "k" },
  });
  expect(textOf(json["url"]).startsWith(`${proxy.url}/feedback/tokens/`)).toBe(true);
  const docs = await call(proxy, "GET /docs/static/start.js");
  expect(docs.text).toContain('url: "/a/b.c/openapi.json"');
});

test("pages of the public URL may send requests and call models, pages of other sites may not", async () => {
  const { proxy } = await runBehindProxy(
    { replacesHost: true },
    { modelEndpoints: [{ name: "local", url: "http://127.0.0.1:9/v1" }] },
  );
  const send = (origin: string) =>
    call(proxy, "POST /ui/models/calls", { body: {}, headers: { origin } });
  const own = await send(new URL(proxy.url).origin);
  expect(own.text).not.toContain("Origin");
  expect(own.text).not.toContain("only the UI of this server");
  expect((await send("https://evil.example")).json).toEqual({
    detail: expect.stringContaining('Origin "https://evil.example" is another site') as string,
  });
});

test("the address of a client is taken from a trusted proxy only", async () => {
  const readAddress = async (trustedProxies: readonly string[]): Promise<unknown> => {
    const { proxy } = await runBehindProxy({}, { trustedProxies });
    const headers = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" };
    // The proxy replaces the header of the client by the address that it sees: 127.0.0.1.
    await call(proxy, "POST /datasets", { body: { name: "d" }, headers });
    // A client that sends the header itself, without a proxy, is not trusted with `10.0.0.0/8`.
    const direct = await call({ url: proxy.target }, "POST /datasets", {
      body: { name: "e" },
      headers,
    });
    expect(direct.headers.has("strict-transport-security")).toBe(
      trustedProxies.includes("loopback"),
    );
    const { json } = await call(proxy, "GET /ui/audit");
    return json["entries"]?.[0]?.["address"];
  };
  expect(await readAddress(["loopback"])).toBe("203.0.113.9");
  expect(await readAddress(["10.0.0.0/8"])).toBe("127.0.0.1");
  expect(await readAddress([])).toBe("127.0.0.1");
});

test.each([
  [{ publicUrl: "traces.example.com" }, "publicUrl must be a URL such as"],
  [{ publicUrl: "https://user:secret@a.example" }, '"https://***@a.example"'],
  [{ publicUrl: "https://a.example/?x=1" }, "without a password, a query or a fragment"],
  [{ publicUrl: 'https://a.example/"><script>' }, "may contain letters, digits"],
  [
    { publicUrl: "https://a.example" },
    "makes the server reachable from other machines: set apiKeys",
  ],
  [{ trustedProxies: ["proxy.example"] }, "trustedProxies must be a list of addresses"],
  [{ trustedProxies: ["10.0.0.0/33"] }, "trustedProxies must be a list of addresses"],
  [{ tlsCert: "a.pem" }, "tlsCert needs tlsKey"],
  [{ tlsKey: "a.pem" }, "tlsKey needs tlsCert"],
])("startServer refuses %j and says why", async (options: ServerOptions, reason) => {
  await expect(startServer({ port: 0, dataDir: ":memory:", ...options })).rejects.toThrow(reason);
});

const fixtures = fileURLToPath(new URL("../fixtures/tls/", import.meta.url));

/** Connects with TLS, and returns the connection after its handshake. */
async function handshake(port: number, options: SecureContextOptions = {}): Promise<TLSSocket> {
  const secureContext = createSecureContext({ ca, ...options });
  const socket = connect({ host: "127.0.0.1", port, secureContext, rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

test("with a certificate the server speaks TLS 1.2 or newer, and uses a renewed certificate without a restart", async () => {
  const folder = await temporaryFolder();
  const [tlsCert, tlsKey] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  cpSync(join(fixtures, "server.pem"), tlsCert);
  cpSync(join(fixtures, "server.key"), tlsKey);
  const server = await startServer({ port: 0, dataDir: ":memory:", tlsCert, tlsKey });
  onTestFinished(() => server.close());
  expect(server.url).toBe(`https://127.0.0.1:${server.port}`);

  const client = new Client({ endpoint: server.url, projectName: "tls", ca });
  onTestFinished(() => void client.close());
  client.startRun({ name: "encrypted" }).end({});
  await client.flush();
  const [run] = await client.runs.list({ projectNames: ["tls"] }).toArray();
  expect(run?.name).toBe("encrypted");

  const first = await handshake(server.port);
  expect(first.getProtocol()).toMatch(/^TLSv1\.[23]$/);
  expect(first.getPeerCertificate().subjectaltname).toContain("DNS:localhost");
  first.write("GET /info HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  const [head] = (await once(first, "data")) as [Buffer];
  expect(head.toString()).toMatch(/strict-transport-security: max-age=31536000\r\n/);
  await expect(
    handshake(server.port, { minVersion: "TLSv1", maxVersion: "TLSv1.1" }),
  ).rejects.toThrow(/alert|version|protocol/i);

  // A certificate that can't be used changes nothing, and a usable one is used for new connections.
  cpSync(join(fixtures, "client.pem"), tlsCert);
  cpSync(join(fixtures, "other-name.pem"), tlsCert);
  await expect
    .poll(
      async () => {
        const socket = await handshake(server.port);
        const names = socket.getPeerCertificate().subjectaltname;
        socket.destroy();
        return names;
      },
      { timeout: 40_000, interval: 1_000 },
    )
    .toContain("DNS:other.test");
}, 60_000);

test("a certificate that does not belong to the key ends the start with a reason that names both files", async () => {
  const options = { tlsCert: join(fixtures, "client.pem"), tlsKey: join(fixtures, "server.key") };
  await expect(startServer({ port: 0, dataDir: ":memory:", ...options })).rejects.toMatchObject({
    code: "TLS",
    message: expect.stringMatching(
      /client\.pem can't be used with the key .*server\.key/,
    ) as string,
  });
});
