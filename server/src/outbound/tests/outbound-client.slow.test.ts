import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createRawServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { OutboundClient } from "../outbound-client.ts";
import type { OutboundClientOptions, OutboundRequest } from "../outbound-client.ts";
import { OutboundError } from "../outbound-error.ts";
import type { OutboundLimits } from "../outbound-limits.ts";
import { outboundCalls } from "../outbound-limits.ts";
import { parseAllowedHost } from "../target-rules.ts";

/** A certificate of the tests (tests/fixtures/tls/README.md). */
const pem = (name: string): string =>
  readFileSync(new URL(`../../../../tests/fixtures/tls/${name}`, import.meta.url), "utf8");

const ca = pem("ca.pem");
const serverTls = { cert: pem("server.pem"), key: pem("server.key") };

const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0)) {
    close();
  }
});

const portOf = async (server: Server | ReturnType<typeof createRawServer>): Promise<number> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

/** Starts a receiver on 127.0.0.1 and returns its port. */
const receive = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener);
  opened.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return await portOf(server);
};

/** Starts a receiver that writes whatever a test wants to its sockets. */
const receiveRaw = async (onRequest: (socket: Socket) => void): Promise<number> => {
  const sockets = new Set<Socket>();
  const server = createRawServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => sockets.delete(socket));
    socket.once("data", () => {
      onRequest(socket);
    });
  });
  opened.push(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  });
  return await portOf(server);
};

const createClient = (options: Partial<OutboundClientOptions> = {}): OutboundClient => {
  const client = new OutboundClient({
    allowedHosts: ["127.0.0.1", "localhost"].map(parseAllowedHost),
    flag: "--webhook-host",
    ...options,
  });
  opened.push(() => {
    client.close();
  });
  return client;
};

const post = (url: string, fields: Partial<OutboundRequest> = {}): OutboundRequest => ({
  tenantId: "tenant",
  url,
  method: "POST",
  body: "hello",
  ...fields,
});

const failure = async (promise: Promise<unknown>): Promise<OutboundError> => {
  const cause: unknown = await promise.then(
    () => new Error("the call succeeded"),
    (error: unknown) => error,
  );
  if (!(cause instanceof OutboundError)) {
    throw new TypeError(`expected an OutboundError, not ${String(cause)}`);
  }
  return cause;
};

const readAll = async (
  client: OutboundClient,
  url: string,
  limits: Partial<OutboundLimits>,
): Promise<string> => (await client.request(post(url, { limits }))).text();

test("a call sends method, path, query, headers and body, and reads the response", async () => {
  const port = await receive((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.writeHead(418, { "x-answer": "42" });
      const { method, url, headers } = request;
      response.end(
        JSON.stringify({
          method,
          url,
          key: headers["x-key"],
          host: headers.host,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
  });
  const response = await createClient().request(
    post(`http://localhost:${port}/hook?a=1`, { headers: { "x-key": "k" } }),
  );
  expect(response.status).toBe(418);
  expect(response.headers["x-answer"]).toBe("42");
  expect(JSON.parse(await response.text())).toEqual({
    method: "POST",
    url: "/hook?a=1",
    key: "k",
    host: `localhost:${port}`,
    body: "hello",
  });
});

test("chunks arrive while the response is still being written", async () => {
  let finish = (): void => {};
  const port = await receive((_request, response) => {
    response.write("first");
    finish = () => response.end("second");
  });
  const response = await createClient().request(post(`http://127.0.0.1:${port}/`));
  const seen: string[] = [];
  for await (const chunk of response.chunks()) {
    seen.push(Buffer.from(chunk).toString());
    finish();
  }
  expect(seen).toEqual(["first", "second"]);
});

test("leaving the loop over chunks closes the connection", async () => {
  const closed: Promise<unknown>[] = [];
  const port = await receive((request, response) => {
    closed.push(once(request.socket, "close"));
    response.write("first");
  });
  const response = await createClient().request(post(`http://127.0.0.1:${port}/`));
  for await (const chunk of response.chunks()) {
    expect(Buffer.from(chunk).toString()).toBe("first");
    break;
  }
  await closed[0];
});

test("https checks the certificate against the name, while connecting to the resolved address", async () => {
  const server = createSecureServer(serverTls, (request, response) => {
    response.end(request.headers.host);
  });
  opened.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = await portOf(server);
  const lookup = async (): Promise<readonly string[]> => ["127.0.0.1"];
  const allowedHosts = [parseAllowedHost("runs.test"), parseAllowedHost("other.test")];
  const client = createClient({ lookup, ca, allowedHosts });
  const response = await client.request(post(`https://runs.test:${port}/`));
  expect(await response.text()).toBe(`runs.test:${port}`);

  expect(await failure(client.request(post(`https://other.test:${port}/`)))).toMatchObject({
    code: "CERTIFICATE",
    message: `Failed to call https://other.test:${port}: the certificate is for another host`,
  });
  const untrusting = createClient({ lookup, allowedHosts });
  expect(await failure(untrusting.request(post(`https://runs.test:${port}/`)))).toMatchObject({
    code: "CERTIFICATE",
    message: `Failed to call https://runs.test:${port}: the certificate's issuer is not known`,
  });
});

test("a redirect inwards is an error that names its target without path and query", async () => {
  let calls = 0;
  const port = await receive((_request, response) => {
    calls += 1;
    response.writeHead(307, { location: "http://169.254.169.254/latest?token=secret" }).end();
  });
  const error = await failure(createClient().request(post(`http://127.0.0.1:${port}/`)));
  expect(error).toMatchObject({ code: "REDIRECT", status: 307 });
  expect(error.message).toContain(
    "it redirects (307) to http://169.254.169.254. Redirects are not",
  );
  expect(error.message).not.toContain("secret");
  expect(calls).toBe(1);
});

test("a name that resolves to loopback is refused before anything is connected", async () => {
  let connections = 0;
  const port = await receiveRaw(() => {
    connections += 1;
  });
  const client = createClient({ lookup: async () => ["127.0.0.1"] });
  const error = await failure(client.request(post(`https://evil.example:${port}/`)));
  expect(error.code).toBe("ADDRESS");
  expect(error.message).toMatch(/its name resolves to an address of the server itself/);
  await expect(client.checkTarget(`https://evil.example:${port}/`)).rejects.toThrow(/itself/);
  expect(connections).toBe(0);
});

test("a name that was public when it was checked and leads to loopback later is refused", async () => {
  let connections = 0;
  const port = await receiveRaw(() => {
    connections += 1;
  });
  const answers = [["93.184.216.34"], ["127.0.0.1"]];
  const client = createClient({ lookup: async () => answers.shift() ?? [] });
  const url = `https://evil.example:${port}/`;
  await expect(client.checkTarget(url)).resolves.toHaveProperty("hostname", "evil.example");
  expect((await failure(client.request(post(url)))).code).toBe("ADDRESS");
  expect(connections).toBe(0);
});

test("a call resolves its name once, and connects to the address that was checked", async () => {
  const port = await receive((request, response) => response.end(request.socket.localAddress));
  const answers = [["127.0.0.1"], ["127.0.0.2"]];
  const client = createClient({
    lookup: async () => answers.shift() ?? [],
    allowedHosts: [parseAllowedHost("hooks.test")],
  });
  expect(await readAll(client, `http://hooks.test:${port}/`, {})).toBe("127.0.0.1");
  expect(answers).toEqual([["127.0.0.2"]]);
});

test("proxies of the environment are not used", async () => {
  const port = await receive((_request, response) => response.end("direct"));
  const before = process.env["HTTP_PROXY"];
  process.env["HTTP_PROXY"] = "http://127.0.0.1:9";
  try {
    expect(await readAll(createClient(), `http://127.0.0.1:${port}/`, {})).toBe("direct");
  } finally {
    if (before === undefined) {
      delete process.env["HTTP_PROXY"];
    } else {
      process.env["HTTP_PROXY"] = before;
    }
  }
});

test("a host that accepts the request and stays silent is given up after headersMs", async () => {
  const port = await receiveRaw(() => {});
  const error = await failure(
    readAll(createClient(), `http://127.0.0.1:${port}/`, { headersMs: 100 }),
  );
  expect(error).toMatchObject({
    code: "TIMEOUT",
    message: `Failed to call http://127.0.0.1:${port}: the host did not respond in time`,
  });
});

test("headers that arrive byte by byte are cut off", async () => {
  const port = await receiveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const timer = setInterval(() => socket.write("x"), 10);
    socket.on("close", () => {
      clearInterval(timer);
    });
  });
  const error = await failure(
    readAll(createClient(), `http://127.0.0.1:${port}/`, { headersMs: 150, totalMs: 2_000 }),
  );
  expect(error.code).toBe("TIMEOUT");
});

test("a body that pauses is given up after idleMs", async () => {
  const port = await receive((_request, response) => {
    response.write("some");
  });
  const error = await failure(
    readAll(createClient(), `http://127.0.0.1:${port}/`, { idleMs: 100 }),
  );
  expect(error.message).toContain("the response paused for too long");
});

test("a body that drips is cut off after totalMs, though it never pauses", async () => {
  const port = await receive((_request, response) => {
    const timer = setInterval(() => response.write("x"), 10);
    response.on("close", () => {
      clearInterval(timer);
    });
  });
  const error = await failure(
    readAll(createClient(), `http://127.0.0.1:${port}/`, { totalMs: 200, idleMs: 10_000 }),
  );
  expect(error).toMatchObject({
    code: "TIMEOUT",
    message: `Failed to call http://127.0.0.1:${port}: the call took longer than 200 ms`,
  });
});

test("an endless body is cut off at responseBytes", async () => {
  const part = "x".repeat(1_000);
  const port = await receive((_request, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(part)) {
        // The socket accepts more.
      }
    };
    response.on("drain", write);
    write();
  });
  const error = await failure(
    readAll(createClient(), `http://127.0.0.1:${port}/`, { responseBytes: 10_000 }),
  );
  expect(error).toMatchObject({
    code: "RESPONSE",
    message: `Failed to call http://127.0.0.1:${port}: the response has more than 10000 bytes`,
  });
});

test("headers without end, and what is not HTTP, are errors of the response", async () => {
  const large = await receiveRaw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`);
  });
  expect((await failure(readAll(createClient(), `http://127.0.0.1:${large}/`, {}))).code).toBe(
    "RESPONSE",
  );
  const other = await receiveRaw((socket) => {
    socket.write("220 mail.example ESMTP\r\n");
  });
  expect((await failure(readAll(createClient(), `http://127.0.0.1:${other}/`, {}))).code).toBe(
    "RESPONSE",
  );
});

test("a connection that breaks, before or within the body, is an error of the connection", async () => {
  const reset = await receiveRaw((socket) => {
    socket.resetAndDestroy();
  });
  expect((await failure(readAll(createClient(), `http://127.0.0.1:${reset}/`, {}))).code).toBe(
    "CONNECTION",
  );
  const within = await receiveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart", () => {
      socket.resetAndDestroy();
    });
  });
  expect((await failure(readAll(createClient(), `http://127.0.0.1:${within}/`, {}))).code).toBe(
    "CONNECTION",
  );
});

test("a refused connection says so, without path, query and headers", async () => {
  const port = await receive(() => {});
  for (const close of opened.splice(0)) {
    close();
  }
  const error = await failure(
    createClient().request(
      post(`http://127.0.0.1:${port}/services/T0/secret-path?key=secret`, {
        headers: { authorization: "Bearer secret" },
      }),
    ),
  );
  expect(error.message).toBe(`Failed to call http://127.0.0.1:${port}: the connection was refused`);
  expect(error.cause).toBeUndefined();
});

test("an invalid header is refused without being repeated", async () => {
  const port = await receive(() => {});
  const error = await failure(
    createClient().request(
      post(`http://127.0.0.1:${port}/`, { headers: { "x-key": "secret\r\nx: y" } }),
    ),
  );
  expect(error.message).not.toContain("secret");
});

test("the caller's signal ends a call, and so does closing the client", async () => {
  const port = await receive((_request, response) => {
    response.write("some");
  });
  const client = createClient();
  const controller = new AbortController();
  const response = await client.request(
    post(`http://127.0.0.1:${port}/`, { signal: controller.signal }),
  );
  const reading = failure(response.text());
  controller.abort();
  expect((await reading).code).toBe("CANCELED");
  const other = await client.request(post(`http://127.0.0.1:${port}/`));
  client.close();
  expect((await failure(other.text())).code).toBe("CANCELED");
  expect((await failure(client.request(post(`http://127.0.0.1:${port}/`)))).code).toBe("CANCELED");
});

test("a name that is not resolved in time fails, and a name without addresses too", async () => {
  const never = createClient({ lookup: () => new Promise<never>(() => {}) });
  expect(
    await failure(never.request(post("https://slow.example/", { limits: { connectMs: 50 } }))),
  ).toMatchObject({
    code: "TIMEOUT",
    message: "Failed to call https://slow.example: its name was not resolved in time",
  });
  const none = createClient({ lookup: async () => [] });
  expect((await failure(none.request(post("https://none.example/")))).code).toBe("NAME");
  await expect(none.checkTarget("https://none.example/")).resolves.toHaveProperty(
    "protocol",
    "https:",
  );
});

test("a tenant has a limited number of calls at a time, and an ended call makes room", async () => {
  const port = await receive((_request, response) => {
    response.write("some");
  });
  const client = createClient();
  const url = `http://127.0.0.1:${port}/`;
  const calls = Array.from({ length: outboundCalls.ofTenant }, () => client.request(post(url)));
  const responses = await Promise.all(calls);
  expect((await failure(client.request(post(url)))).code).toBe("BUSY");
  const other = await client.request(post(url, { tenantId: "other" }));
  expect(other.status).toBe(200);
  responses[0]?.cancel();
  const next = await client.request(post(url));
  expect(next.status).toBe(200);
});

test("a response that nobody reads gives its place back after totalMs", async () => {
  const port = await receive((_request, response) => response.end("short"));
  const client = createClient();
  const url = `http://127.0.0.1:${port}/`;
  await Promise.all(
    Array.from({ length: outboundCalls.ofTenant }, () =>
      client.request(post(url, { limits: { totalMs: 300 } })),
    ),
  );
  expect((await failure(client.request(post(url)))).code).toBe("BUSY");
  await expect
    .poll(async () => (await client.request(post(url))).status, { timeout: 3_000 })
    .toBe(200);
});
