import { KeyStore, startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { call, runOwnServer, temporaryFolder } from "../../../tests/support/running-server.ts";
import { TenantLimits } from "../tenant-limits.ts";
import type { TenantLimit } from "../tenant-limits.ts";

function createLimits(options: { requestRate?: number; ingestBytes?: number }) {
  let nowMs = Date.parse("2026-11-08T23:59:00Z");
  const refused: TenantLimit[] = [];
  const sent = new Map<string, number>();
  const daily = {
    read: async (tenantId: string) => sent.get(tenantId) ?? 0,
    add: (tenantId: string, bytes: number) =>
      void sent.set(tenantId, (sent.get(tenantId) ?? 0) + bytes),
  };
  const limits = new TenantLimits({
    requestRate: options.requestRate,
    ingestBytes: options.ingestBytes,
    daily,
    onRefused: (limit) => void refused.push(limit),
    nowMs: () => nowMs,
  });
  return { limits, refused, endDay: () => sent.clear(), passMs: (ms: number) => (nowMs += ms) };
}

test("a tenant may send its rate, and a short burst, and is told when to send again", () => {
  const { limits, refused, passMs } = createLimits({ requestRate: 2 });
  for (let count = 0; count < 4; count += 1) {
    limits.admitRequest("a");
  }
  expect(() => limits.admitRequest("a")).toThrow(
    expect.objectContaining({
      status: 429,
      retryAfterSeconds: 1,
      message: expect.stringMatching(/more than 2 requests a second.*--tenant-rate/) as string,
    }) as Error,
  );
  // Another tenant is not concerned.
  limits.admitRequest("b");
  passMs(500);
  limits.admitRequest("a");
  expect(() => limits.admitRequest("a")).toThrow(/requests a second/);
  expect(refused).toEqual(["requests", "requests"]);
});

test("the bytes of a day are limited until midnight UTC, for each tenant by itself", async () => {
  const { limits, refused, endDay } = createLimits({ ingestBytes: 100 });
  await limits.admitIngest("a");
  limits.countIngest("a", 150);
  await expect(limits.admitIngest("a")).rejects.toThrow(
    expect.objectContaining({
      status: 429,
      retryAfterSeconds: 60,
      message: expect.stringMatching(
        /has sent 150 bytes today.* is 100 bytes a day.*--tenant-ingest-bytes/,
      ) as string,
    }) as Error,
  );
  await limits.admitIngest("b");
  endDay();
  await limits.admitIngest("a");
  expect(refused).toEqual(["ingest_bytes"]);
});

test("without limits nothing is refused", async () => {
  const { limits } = createLimits({});
  for (let count = 0; count < 10_000; count += 1) {
    limits.admitRequest("a");
    await limits.admitIngest("a");
    limits.countIngest("a", 1e12);
  }
  expect(() => limits.admitRequest("a")).not.toThrow();
});

/** A server with limits and two tenants. */
async function runLimited(options: { tenantRate?: number; tenantIngestBytes?: number }) {
  const dataDir = await temporaryFolder();
  const server = await runOwnServer({ dataDir, ...options });
  const keys = new KeyStore(dataDir);
  onTestFinished(() => keys.close());
  const [first, second] = [await keys.create({ tenant: "a" }), await keys.create({ tenant: "b" })];
  return { server, first: first.key, second: second.key };
}

test("a tenant at its rate gets 429 while all requests of another one are served, and metrics count it", async () => {
  const { server, first, second } = await runLimited({ tenantRate: 5 });
  const send = async (key: string, path: string) =>
    call(server, `GET ${path}`, { headers: { "x-api-key": key } });
  const flood = await Promise.all(
    Array.from({ length: 60 }, async () => send(first, "/sessions?limit=1")),
  );
  const refused = flood.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.headers.get("retry-after")).toBe("1");
  // The other tenant has its own rate, whatever the first one sends meanwhile.
  const [served] = await Promise.all([
    Promise.all(Array.from({ length: 5 }, async () => send(second, "/sessions?limit=1"))),
    Promise.all(Array.from({ length: 60 }, async () => send(first, "/sessions?limit=1"))),
  ]);
  expect(served.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const { text } = await send(first, "/metrics");
  expect(text).toMatch(/millrace_limited_requests_total\{limit="requests"\} [1-9]/);
  expect(text).not.toContain(first);
});

test("the SDK loses no run at a rate limit: it waits as the answer says", async () => {
  const { server, first } = await runLimited({ tenantRate: 1 });
  const client = new Client({
    endpoint: server.url,
    apiKey: first,
    projectName: "limited",
  });
  onTestFinished(() => void client.close());
  for (let index = 0; index < 6; index += 1) {
    client.startRun({ name: `run ${index}` }).end({});
    // One request for each run: together they would be one request.
    await client.flush({ timeoutMs: 30_000 });
  }
  const { lost } = client.stats();
  expect(Object.values(lost).every((count) => count === 0)).toBe(true);
  await expect
    .poll(
      async () =>
        (
          await call(server, "GET /sessions?name=limited&include_stats=true", {
            headers: { "x-api-key": first },
          })
        ).json[0]?.["run_count"],
      { timeout: 30_000, interval: 1_500 },
    )
    .toBe(6);
  // The limit was reached, or the test would show nothing.
  const { text } = await call(server, "GET /metrics", { headers: { "x-api-key": first } });
  expect(text).toMatch(/millrace_limited_requests_total\{limit="requests"\} [1-9]/);
}, 120_000);

test("the bytes of the day still count when the server is started again", async () => {
  const dataDir = await temporaryFolder();
  const body = {
    run_id: "7d0a7b0e-6d8c-4f0e-9d0e-0a5e6f5b7d11",
    key: "k",
    comment: "x".repeat(900),
  };
  const first = await startServer({ port: 0, dataDir, tenantIngestBytes: 900 });
  expect((await call(first, "POST /feedback", { body })).status).toBe(200);
  await first.close();
  const second = await runOwnServer({ dataDir, tenantIngestBytes: 900 });
  expect((await call(second, "POST /feedback", { body })).status).toBe(429);
});

test("a tenant that has sent its bytes of the day is refused with the reason, and can still read", async () => {
  const { server, first } = await runLimited({ tenantIngestBytes: 1_000 });
  const headers = { "x-api-key": first };
  const send = () =>
    call(server, "POST /feedback", {
      headers,
      body: {
        run_id: "7d0a7b0e-6d8c-4f0e-9d0e-0a5e6f5b7d11",
        key: "k",
        comment: "x".repeat(600),
      },
    });
  expect((await send()).status).toBe(200);
  expect((await send()).status).toBe(200);
  await expect.poll(async () => (await send()).status).toBe(429);
  expect((await send()).json).toEqual({
    detail: expect.stringMatching(
      /has sent \d,\d{3} bytes today, .* is 1,000 bytes a day/,
    ) as string,
  });
  expect((await call(server, "GET /sessions", { headers })).status).toBe(200);
});
