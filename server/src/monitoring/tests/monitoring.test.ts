import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fastify from "fastify";
import { KeyStore, startServer } from "@millrace/server";
import type { ActivityListener } from "../../runs/activity.ts";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addHealthRoutes } from "../monitoring-routes.ts";
import { ServerMetrics } from "../server-metrics.ts";
import type { ObservedLog } from "../server-metrics.ts";
import type { RequestError } from "../../model/errors.ts";

const noop = (): void => undefined;

let server: RunningServer;
let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-monitoring-"));
  server = await startServer({ port: 0, dataDir });
});

afterAll(async () => {
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

const valueOf = (metrics: string, name: string): number =>
  Number(
    metrics
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.split(" ")[1],
  );

const readMetrics = async (headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const response = await fetch(`${server.url}/metrics`, { headers });
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
};

test("a running server is live and ready", async () => {
  const live = await fetch(`${server.url}/health/live`);
  expect([live.status, await live.json()]).toEqual([200, { status: "live" }]);
  const ready = await fetch(`${server.url}/health/ready`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: "ready", accepts_writes: true },
  ]);
});

test.for([
  ["fails", () => Promise.reject<void>(new Error("/secret/path is gone")), /can't be read/],
  ["does not answer", () => new Promise<void>(noop), /did not answer within 2000 ms/],
] as const)(
  "a server whose database %s is not ready, says why, and shows no path",
  async ([, assertAnswers, reason]) => {
    const app = fastify();
    app.setErrorHandler((cause: RequestError, _request, reply) =>
      reply.code(cause.status).send({ detail: cause.message }),
    );
    addHealthRoutes(app, { readOnlyReason: "full", assertAnswers });
    const response = await app.inject("/health/ready");
    expect(response.statusCode).toBe(503);
    expect(response.json()).toEqual({ detail: expect.stringMatching(reason) as unknown });
    expect(response.body).not.toContain("secret");
    await app.close();
  },
);

const someLog: ObservedLog = {
  isConnected: true,
  reconnects: 2,
  appended: 7,
  storedDirectly: 6,
  storedAgain: 4,
  canStoreDirectly: false,
  state: {
    waitingMessages: 3,
    waitingBytes: 4_096,
    maxBytes: 8_192,
    inWork: 1,
    lagSeconds: 1.5,
    deadLetters: 5,
  },
  writer: { applied: 11, duplicates: 12, deadLetters: 13 },
};

async function readReadiness(log: ObservedLog): Promise<readonly [number, unknown]> {
  const app = fastify();
  app.setErrorHandler((cause: RequestError, _request, reply) =>
    reply.code(cause.status).send({ detail: cause.message }),
  );
  const store = { readOnlyReason: undefined, assertAnswers: () => Promise.resolve() };
  addHealthRoutes(app, store, log);
  const response = await app.inject("/health/ready");
  await app.close();
  return [response.statusCode, JSON.parse(response.body) as unknown];
}

test("a server with an ingest log says what waits in it, and is not ready without it", async () => {
  expect(await readReadiness(someLog)).toEqual([
    200,
    {
      status: "ready",
      accepts_writes: true,
      log: {
        waiting_messages: 3,
        waiting_bytes: 4_096,
        lag_seconds: 1.5,
        dead_letters: 5,
        reconnects: 2,
      },
    },
  ]);
  expect(await readReadiness({ ...someLog, state: undefined })).toEqual([
    200,
    { status: "ready", accepts_writes: true, log: { reconnects: 2 } },
  ]);
  expect(await readReadiness({ ...someLog, isConnected: false })).toEqual([
    503,
    { detail: "the ingest log can't be reached, so no runs are received" },
  ]);
  // The database takes the runs meanwhile.
  const log = { ...someLog, isConnected: false, canStoreDirectly: true };
  expect(await readReadiness(log)).toMatchObject([200, { status: "ready" }]);
});

test("the metrics contain those of the log, and no number for what could not be read", async () => {
  const store = { readOnlyReason: undefined, pools: {}, onActivity: () => undefined };
  const metrics = await new ServerMetrics(store, someLog).write();
  const values = new Map(
    [...metrics.matchAll(/^millrace_log_(\w+) (\S+)$/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ]),
  );
  expect(Object.fromEntries(values) as unknown).toEqual({
    connected: 1,
    reconnects_total: 2,
    appended_total: 7,
    stored_directly_total: 6,
    stored_again_total: 4,
    waiting_messages: 3,
    waiting_bytes: 4_096,
    max_bytes: 8_192,
    messages_in_work: 1,
    lag_seconds: 1.5,
    dead_letters: 5,
    applied_total: 11,
    repeated_total: 12,
    given_up_total: 13,
  });
  const unknown = await new ServerMetrics(store, { ...someLog, state: undefined }).write();
  expect(unknown).toMatch(/^millrace_log_dead_letters nan$/im);
  expect(await new ServerMetrics(store).write()).not.toContain("millrace_log_");
});

test("the metrics contain the connections to a database server, if there is one", async () => {
  const pools = { writes: { size: 4, open: 3, busy: 2, waiting: 1 } };
  const store = { readOnlyReason: undefined, pools, onActivity: () => undefined };
  const metrics = await new ServerMetrics(store).write();
  const states = ["limit", "open", "busy"].map((state) =>
    valueOf(metrics, `millrace_store_connections{pool="writes",state="${state}"}`),
  );
  expect(states).toEqual([4, 3, 2]);
  expect(valueOf(metrics, 'millrace_store_waiting_calls{pool="writes"}')).toBe(1);
  expect(await readMetrics()).not.toContain("millrace_store_");
});

test("the metrics count what this process has stored, and not what others report", async () => {
  const listeners: ActivityListener[] = [];
  const metrics = new ServerMetrics({
    readOnlyReason: undefined,
    pools: {},
    onActivity: (listener) => void listeners.push(listener),
  });
  const stored = (runs: number, errors: number) => [
    { tenantId: "t", projectId: "p", runs, traces: 1, errors, tokens: 0, cost: 0, latencies: [] },
  ];
  for (const listener of listeners) {
    listener(stored(3, 1), "own");
    listener(stored(40, 10), "other");
  }
  const text = await metrics.write();
  expect(valueOf(text, "millrace_runs_stored_total")).toBe(3);
  expect(valueOf(text, "millrace_trace_errors_total")).toBe(1);
});

test("the metrics count requests by route, and stored runs once", async () => {
  const id = "0190a6c2-1f0a-7000-8000-0000000000a1";
  const run = {
    id,
    trace_id: id,
    dotted_order: `20260101T000000000000Z${id}`,
    name: "answer",
    run_type: "chain",
    start_time: "2026-01-01T00:00:00.000000Z",
    end_time: "2026-01-01T00:00:01.000000Z",
    error: "it failed",
  };
  const send = () =>
    fetch(`${server.url}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(run),
    });
  expect((await send()).status).toBe(202);
  await send();
  for (const missing of [id.replace("a1", "b1"), id.replace("a1", "b2")]) {
    expect((await fetch(`${server.url}/runs/${missing}`)).status).toBe(404);
  }
  const metrics = await readMetrics();
  expect(valueOf(metrics, "millrace_runs_stored_total")).toBe(1);
  expect(valueOf(metrics, "millrace_trace_errors_total")).toBe(1);
  expect(valueOf(metrics, "millrace_accepts_writes")).toBe(1);
  expect(
    valueOf(
      metrics,
      'millrace_http_request_duration_seconds_count{method="GET",route="/runs/:id",status="404"}',
    ),
  ).toBe(2);
  expect(valueOf(metrics, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(metrics).not.toContain(id);
});

// Last, because from the first key on the server requires one.
test("with keys, health needs none, and metrics need the scope read", async () => {
  const store = new KeyStore(dataDir);
  const { key: reader } = await store.create({ scopes: ["read"] });
  const { key: sender } = await store.create({ scopes: ["ingest"] });
  store.close();
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  const refused = await fetch(`${server.url}/metrics`, { headers: { "x-api-key": sender } });
  expect(refused.status).toBe(403);
  expect(await readMetrics({ authorization: `Bearer ${reader}` })).toContain("millrace_");
});
