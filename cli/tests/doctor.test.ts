import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request as send } from "node:http";
import type { RequestListener, Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { SecureContextOptions } from "node:tls";
import { Client } from "millrace";
import { version } from "millrace/model";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { ended, folder, start } from "./support/command.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

interface Check {
  readonly name: string;
  readonly status: string;
  readonly found: string;
  readonly todo?: string;
}

const key = "sk-doctor-0123456789-secret";
const withoutProxies = {
  HTTP_PROXY: "",
  http_proxy: "",
  HTTPS_PROXY: "",
  https_proxy: "",
  NO_PROXY: "",
};

const pem = (name: string): string =>
  readFileSync(new URL(`../../tests/fixtures/tls/${name}`, import.meta.url), "utf8");

/** Runs the command with `--json`, and gives access to the checks by name. */
async function doctor(env: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const child = start(["doctor", "--json", ...args], {
    ...withoutProxies,
    MILLRACE_SPOOL_DIR: "",
    ...env,
  });
  const { code, output, errors } = await ended(child);
  // No output may ever contain the key.
  expect(output + errors).not.toContain(key);
  const { ok, checks } = JSON.parse(output) as { ok: boolean; checks: readonly Check[] };
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(checks.every(({ status }) => status !== "failed"));
  for (const { status, todo } of checks) {
    expect(status === "failed" ? typeof todo : "string").toBe("string");
  }
  return {
    code,
    of: (name: string): Check | undefined => checks.find((check) => check.name === name),
    failed: checks.filter(({ status }) => status === "failed").map(({ name }) => name),
  };
}

const listen = (listener: RequestListener): Promise<string> =>
  addressOf(createServer(listener).listen(0, "127.0.0.1"));

const listenSecurely = async (listener: RequestListener, tls: SecureContextOptions) => {
  const address = await addressOf(createSecureServer(tls, listener).listen(0, "127.0.0.1"));
  return address.replace("http:", "https:");
};

/** Returns the URL of a listening server, and closes the server when the test has ended. */
async function addressOf(server: Server): Promise<string> {
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Forwards requests to `target`; `change` can alter the headers of the response. */
const passTo =
  (target: string, change: (headers: Record<string, unknown>) => object = (same) => same) =>
  (...[request, response]: Parameters<RequestListener>): void => {
    const { pathname, search } = new URL(request.url ?? "/", target);
    const onward = send(new URL(pathname + search, target), {
      method: request.method,
      // The local server accepts only its own host names.
      headers: { ...request.headers, host: new URL(target).host },
    });
    onward.on("response", (upstream) => {
      response.writeHead(upstream.statusCode ?? 502, { ...change({ ...upstream.headers }) });
      upstream.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  };

let open: RunningServer;
let closed: RunningServer;

beforeAll(async () => {
  open = await startServer({ port: 0, dataDir: ":memory:" });
  closed = await startServer({ port: 0, dataDir: ":memory:", apiKeys: [key] });
});

afterAll(async () => {
  await open.close();
  await closed.close();
});

describe("millrace doctor", () => {
  test("passes for a local server, and sends and reads back a run", async () => {
    const { code, of, failed } = await doctor({ MILLRACE_ENDPOINT: open.url });
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(of("endpoint")?.found).toBe(`${open.url} (from MILLRACE_ENDPOINT)`);
    expect(of("run")?.found).toMatch(/^sent to project doctor and read back in \d+ ms$/);
    expect(of("limits")?.found).toMatch(/^1,000 operations and 20\.0 MiB per request$/);
    expect(of("clock")?.found).toBe("the same as the server's");
    expect(of("server")?.found).toBe(
      `Millrace ${version} with version 0.18.0 of the API at ${open.url}`,
    );
    expect(of("versions")?.found).toMatch(/^millrace \d.*, Node \d.*, server API \d/);
    const sessions = await fetch(`${open.url}/sessions?name=doctor`);
    expect(await sessions.json()).toHaveLength(1);
  });

  test("prints a line for each check, and advice below a failed one", async () => {
    const child = start(["doctor"], { ...withoutProxies, MILLRACE_ENDPOINT: "http://127.0.0.1:9" });
    const { code, output } = await ended(child);
    expect(code).toBe(1);
    expect(output).toMatch(
      /^ok {7}endpoint {2}http:\/\/127\.0\.0\.1:9 \(from MILLRACE_ENDPOINT\)$/m,
    );
    expect(output).toMatch(
      /^failed {3}server {4}no response from http:\/\/127\.0\.0\.1:9: ECONNREFUSED\n {19}Start the server with: npx millrace serve$/m,
    );
    expect(output).toMatch(/^1 of \d+ checks failed\.$/m);
  });

  test("reports a missing server, and skips the checks that need one", async () => {
    const { failed, of } = await doctor({ MILLRACE_ENDPOINT: "http://127.0.0.1:9" });
    expect(failed).toEqual(["server"]);
    expect([of("key"), of("clock"), of("limits"), of("run")].map((one) => one?.status)).toEqual(
      Array.from({ length: 4 }, () => "skipped"),
    );
  });

  test("reports a host that can't be resolved, and an invalid endpoint", async () => {
    const { failed, of } = await doctor({ MILLRACE_ENDPOINT: "http://no-such-host.invalid" });
    expect(failed).toEqual(["dns", "server"]);
    expect(of("dns")?.found).toMatch(/^no-such-host\.invalid can't be resolved \(E\w+\)$/);
    const bad = await doctor({ MILLRACE_ENDPOINT: "localhost:1984" });
    expect(bad.failed).toEqual(["endpoint"]);
    const secret = await doctor({}, "--endpoint", `http://me:${key}@127.0.0.1:9`);
    expect(secret.failed).toEqual(["endpoint"]);
  });

  test("recognizes a server that is not a Millrace server", async () => {
    const url = await listen((_request, response) => response.end('{"hello":"\u001b[31mworld"}'));
    const { failed, of } = await doctor({}, "--endpoint", url);
    expect(failed).toEqual(["server"]);
    expect(of("server")).toMatchObject({
      found: `${url} responds with 200, but its /info reports no version`,
      todo: expect.stringContaining("Another program listens there") as unknown,
    });
    expect(of("run")?.status).toBe("skipped");
  });

  test("recognizes a missing, a wrong and a valid key, and never prints it", async () => {
    const none = await doctor({ MILLRACE_ENDPOINT: closed.url });
    expect(none.failed).toEqual(["key"]);
    expect(none.of("key")?.found).toBe("none is set, but the server requires one (401)");
    const wrong = await doctor({ MILLRACE_ENDPOINT: closed.url, MILLRACE_API_KEY: `${key}x` });
    expect(wrong.failed).toEqual(["key"]);
    expect(wrong.of("key")?.found).toBe("the key from MILLRACE_API_KEY was refused (401)");
    const right = await doctor({ MILLRACE_ENDPOINT: closed.url, MILLRACE_API_KEY: key });
    expect(right.failed).toEqual([]);
    expect(right.of("key")?.found).toBe("the key from MILLRACE_API_KEY; the server accepts it");
    expect(right.of("run")?.status).toBe("ok");
  });

  test.each([
    [-3_600_000, "failed", /^this machine is 3,(?:59\d|60\d) s ahead of the server$/],
    [20_000, "warning", /^this machine is (?:19|20|21) s behind the server$/],
  ])("detects a clock that is off by %i ms", async (offMs, status, found) => {
    const date = (): string => new Date(Date.now() + offMs).toUTCString();
    const url = await listen(passTo(open.url, (headers) => ({ ...headers, date: date() })));
    const { of, failed } = await doctor({ MILLRACE_ENDPOINT: url });
    expect(of("clock")).toMatchObject({ status, found: expect.stringMatching(found) as unknown });
    expect(failed).toEqual(status === "failed" ? ["clock"] : []);
  });

  test("uses the proxy of a variable, as a client does, and prints it without its password", async () => {
    const requestedUrls: string[] = [];
    const proxy = await listen((request, response) => {
      requestedUrls.push(request.url ?? "");
      passTo(open.url)(request, response);
    });
    const env = {
      MILLRACE_ENDPOINT: "http://traces.invalid:1984",
      HTTP_PROXY: proxy.replace("http://", `http://me:${key}@`),
    };
    const { of } = await doctor(env);
    expect(of("proxy")?.found).toBe(`${proxy} (from HTTP_PROXY)`);
    expect(of("dns")?.status).toBe("skipped");
    expect(requestedUrls[0]).toBe("http://traces.invalid:1984/info");
    expect(of("server")?.status).toBe("ok");
    const direct = await doctor({ ...env, MILLRACE_ENDPOINT: open.url, NO_PROXY: "127.0.0.1" });
    expect(direct.of("proxy")?.found).toBe("HTTP_PROXY is not used: NO_PROXY lists this host");
    expect(direct.failed).toEqual([]);
    const needless = await doctor({ ...env, MILLRACE_ENDPOINT: open.url });
    expect(needless.of("proxy")).toMatchObject({
      status: "warning",
      todo: "A server on this machine needs no proxy: set NO_PROXY=127.0.0.1.",
    });
  });

  test.each([
    ["http", "HTTP_PROXY"],
    ["https", "HTTPS_PROXY"],
  ])(
    "reports a proxy of an %s server that can't be reached, not the server",
    async (scheme, variable) => {
      const env = {
        MILLRACE_ENDPOINT: `${scheme}://127.0.0.1:1984`,
        [variable]: `http://me:${key}@127.0.0.1:9`,
      };
      const { of, failed } = await doctor(env);
      expect(failed).toEqual(["server"]);
      expect(of("server")).toMatchObject({
        found: `no response from ${scheme}://127.0.0.1:1984: the proxy http://127.0.0.1:9 (from ${variable}) can't be reached: ECONNREFUSED`,
        todo: `Check ${variable}, or list the server's host in NO_PROXY: 127.0.0.1.`,
      });
    },
  );

  test("reports a variable that is no address of a proxy", async () => {
    const { of, failed } = await doctor({
      MILLRACE_ENDPOINT: open.url,
      HTTP_PROXY: "socks5://p.test",
    });
    expect(failed).toContain("proxy");
    expect(of("proxy")?.found).toBe("HTTP_PROXY is not the address of a proxy");
  });

  test("reports a variable that disables recording", async () => {
    const { of, failed } = await doctor({
      MILLRACE_ENDPOINT: open.url,
      LANGSMITH_TRACING: "False",
    });
    expect(failed).toEqual([]);
    expect(of("run")).toMatchObject({
      status: "warning",
      found: "LANGSMITH_TRACING is False: nothing is recorded",
    });
  });

  test("reports a server that does not use TLS", async () => {
    const endpoint = open.url.replace("http:", "https:");
    const { failed, of } = await doctor({ MILLRACE_ENDPOINT: endpoint });
    expect(failed).toEqual(["tls", "server"]);
    expect(of("tls")?.todo).toContain("The server does not use TLS on this port");
  });

  test("reports an expired certificate", async () => {
    const expired = { cert: pem("expired.pem"), key: pem("server.key") };
    const endpoint = await listenSecurely(passTo(open.url), expired);
    const { failed, of } = await doctor({
      MILLRACE_ENDPOINT: endpoint,
      MILLRACE_CA: pem("ca.pem"),
    });
    expect(failed).toEqual(["tls", "server"]);
    expect(of("tls")?.todo).toContain("Renew the server's certificate");
  });

  test("reaches an https server through the tunnel of a proxy", async () => {
    const endpoint = await listenSecurely(passTo(open.url), {
      cert: pem("server.pem"),
      key: pem("server.key"),
    });
    const requestedUrls: string[] = [];
    const proxy = createServer().listen(0, "127.0.0.1");
    proxy.on("connect", (request, socket: Socket) => {
      requestedUrls.push(request.url ?? "");
      const onward = connect(Number(new URL(endpoint).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
      onward.on("error", () => socket.destroy());
      socket.on("error", () => onward.destroy());
      onTestFinished(() => void onward.destroy());
    });
    const { of, failed } = await doctor({
      MILLRACE_ENDPOINT: "https://runs.test:1984",
      MILLRACE_CA: pem("ca.pem"),
      HTTPS_PROXY: await addressOf(proxy),
    });
    expect(requestedUrls[0]).toBe("runs.test:1984");
    expect(of("proxy")?.found).toMatch(/\(from HTTPS_PROXY\)$/);
    expect(of("server")?.status).toBe("ok");
    expect(failed).toEqual([]);
  });

  test("checks the spool: missing, empty, not a folder, damaged", async () => {
    const at = await folder();
    const spool = async (name: string): Promise<Check | undefined> => {
      const path = join(at, name);
      return (await doctor({ MILLRACE_ENDPOINT: open.url }, "--spool-dir", path)).of("spool");
    };
    expect((await spool("new"))?.found).toContain("does not exist yet");
    mkdirSync(join(at, "empty"));
    expect(await spool("empty")).toMatchObject({
      status: "ok",
      found: expect.stringMatching(/: empty$/) as unknown,
    });
    writeFileSync(join(at, "file"), "");
    expect(await spool("file")).toMatchObject({
      status: "failed",
      found: expect.stringContaining("is not a folder") as unknown,
    });
    const damaged = join(at, "it's damaged");
    const options = { attempts: 1, logger: { warn: () => undefined } };
    const client = new Client({ endpoint: "http://127.0.0.1:9", spoolDir: damaged, ...options });
    client.startRun({ name: "kept" }).end();
    await client.flush({ timeoutMs: 1_500 });
    await client.close({ timeoutMs: 0 });
    const names = readdirSync(damaged, { recursive: true, encoding: "utf8" });
    const segment = join(damaged, names.find((name) => name.endsWith(".seg")) ?? "");
    writeFileSync(segment, Buffer.from(readFileSync(segment)).fill(0, 100, 110));
    expect(await spool("it's damaged")).toMatchObject({
      status: "failed",
      found: expect.stringContaining("damaged files: 1") as unknown,
      todo: `For details, run: millrace spool verify '${at}/it'\\''s damaged'`,
    });
  });
});
