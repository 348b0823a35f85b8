import { request } from "node:http";
import { expect, test } from "vitest";
import { SourceGuard } from "../source-guard.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";

const guard = (host = "127.0.0.1"): SourceGuard => new SourceGuard({ host });

test.each(["localhost:1984", "LOCALHOST", "127.0.0.1:1984", "127.0.0.1", "[::1]:1984", "[::1]"])(
  "a loopback server accepts the host name %s",
  (host) => {
    expect(() => guard().checkSource({ host })).not.toThrow();
    expect(() => guard("::1").checkSource({ host })).not.toThrow();
  },
);

test.each([
  "evil.example",
  "evil.example:1984",
  "localhost.evil.example",
  "127.0.0.1.evil.example",
  "192.168.0.1",
  "",
  "[::2]",
])("a loopback server rejects the host name %j", (host) => {
  expect(() => guard().checkSource({ host })).toThrow(
    `Host ${JSON.stringify(host)} is not a name of this server; use localhost or 127.0.0.1`,
  );
});

test("a server on the network accepts any host name", () => {
  expect(() => guard("0.0.0.0").checkSource({ host: "box.example:1984" })).not.toThrow();
});

test.each([
  "http://localhost:5173",
  "http://127.0.0.1:1984",
  "http://[::1]:1",
  "https://localhost",
])("a page of this machine, %s, may send requests", (origin) => {
  expect(() => guard().checkSource({ host: "localhost:1984", origin })).not.toThrow();
});

test.each([
  "https://evil.example",
  "null",
  "http://localhost.evil.example",
  "file://",
  "chrome-extension://abc",
  "localhost",
])("a page from %s may not send requests", (origin) => {
  expect(() => guard().checkSource({ host: "localhost:1984", origin })).toThrow(
    `Origin ${JSON.stringify(origin)} is another site; only pages of this server and of this machine may call it`,
  );
});

test("on the network only the server's own pages may send requests", () => {
  const open = guard("0.0.0.0");
  expect(() =>
    open.checkSource({ host: "box.example:1984", origin: "http://box.example:1984" }),
  ).not.toThrow();
  expect(() =>
    open.checkSource({ host: "box.example:1984", origin: "http://localhost:1984" }),
  ).toThrow(/Origin/);
});

test("Host and Origin are checked before every route", async () => {
  const server = await runServer();
  const statuses = await Promise.all(
    ["/info", "/", "/runs/x", "/wibble"].map((path) =>
      statusFor(server.url + path, { host: "evil.example" }),
    ),
  );
  expect(statuses).toEqual([403, 403, 403, 403]);
  expect(await statusFor(`${server.url}/info`, { origin: "https://evil.example" })).toBe(403);
});

function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    })
      .on("error", reject)
      .end();
  });
}

test("on a server with keys every operation but /info requires one", async () => {
  const server = await runServer({ apiKeys: ["first-key", "second-key"] });
  const status = async (headers: Record<string, string>): Promise<number> =>
    (await call(server, "GET /sessions", { headers })).status;
  expect((await call(server, "GET /info")).status).toBe(200);
  expect(await call(server, "GET /sessions")).toMatchObject({
    status: 401,
    json: { detail: "an API key is required: send x-api-key, or Authorization: Bearer" },
  });
  expect(await status({ "x-api-key": "first-key" })).toBe(200);
  expect(await status({ authorization: "Bearer second-key" })).toBe(200);
  expect(await status({ authorization: "bearer second-key" })).toBe(200);
  expect(await status({ "x-api-key": "first-ke" })).toBe(401);
  expect(await status({ "x-api-key": "first-keyy" })).toBe(401);
  expect(await status({ authorization: "Basic first-key" })).toBe(401);
  const paths = [
    "POST /runs",
    "POST /runs/batch",
    "POST /runs/multipart",
    "POST /runs/query",
    "POST /runs/stats",
  ];
  const refused = await Promise.all(
    paths.map(async (path) => (await call(server, path, { body: "{}" })).status),
  );
  expect(refused).toEqual(paths.map(() => 401));
});

test("images and scripts that another site embeds are rejected, a link that a person follows is not", () => {
  const cross = { host: "localhost:1984", "sec-fetch-site": "cross-site" };
  expect(() => guard().checkSource({ ...cross, "sec-fetch-mode": "no-cors" })).toThrow(
    "Sec-Fetch-Site shows that another site sent this request",
  );
  const framed = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };
  expect(() => guard().checkSource({ ...cross, ...framed })).toThrow("Sec-Fetch-Site");
  const followed = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect(() => guard().checkSource({ ...cross, ...followed })).not.toThrow();
  expect(() => guard().checkSource({ ...cross, "sec-fetch-site": "same-origin" })).not.toThrow();
});
