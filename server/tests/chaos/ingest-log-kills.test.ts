import { randomUUID } from "node:crypto";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../dist/app/app.js";
import { IngestWriter } from "../../dist/ingest-log/ingest-writer.js";
import { LogConnection } from "../../dist/ingest-log/log-connection.js";
import { IngestLog } from "../../dist/ingest-log/ingest-log.js";
import { parseLogUrl } from "../../dist/model/log-target.js";
import { memoryDataDir, parseServerOptions } from "../../dist/model/options.js";
import { openTemporaryStore } from "../../dist/store/sqlite-store.js";
import { canRunNats } from "../support/nats-cluster.ts";
import { startNats } from "../support/started-nats.ts";
import { call, temporaryFolder } from "../support/running-server.ts";

/** For a busy machine, on which the log may need several elections. */
const patient = { timeout: 60_000 };

/** Records until it is stopped, and keeps what it recorded. */
function startRecording(client: Client) {
  const recorded = new Map<string, string>();
  const timer = setInterval(() => {
    for (let index = 0; index < 5; index += 1) {
      const question = randomUUID();
      const run = client.startRun({ name: "answer", inputs: { question } });
      run.end({ answer: `${question}!` });
      recorded.set(run.id, question);
    }
  }, 20);
  onTestFinished(() => clearInterval(timer));
  return { recorded, stop: () => clearInterval(timer) };
}

/** All runs that a server returns, in pages. A run that was stored twice would be in them twice. */
async function readRuns(server: { readonly url: string }, projectName: string) {
  const projects = await call(server, `GET /sessions?name=${projectName}`);
  const session = [projects.json[0]?.["id"]];
  const runs: { readonly id: string; readonly inputs: unknown; readonly outputs: unknown }[] = [];
  for (let cursor: unknown = undefined; cursor !== null;) {
    const body = { session, limit: 100, ...(cursor === undefined ? {} : { cursor }) };
    const { json } = await call(server, "POST /runs/query", { body });
    runs.push(...(json["runs"] as unknown as typeof runs));
    cursor = (json["cursors"] as unknown as { next: string | null }).next;
  }
  return runs;
}

const readMetric = async (server: { readonly url: string }, name: string): Promise<number> => {
  const { text } = await call(server, "GET /metrics");
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.split(" ")[1]);
};

/** Starts a server whose log is a cluster. It is closed when the test has finished. */
async function startLoggedServer({ url: log }: { readonly url: string }) {
  const dataDir = await temporaryFolder();
  const server = await startServer({ port: 0, dataDir, log, logMaxBytes: 67_108_864 });
  onTestFinished(() => server.close());
  return server;
}

describe.skipIf(!canRunNats)("the SDK, while the ingest log fails", () => {
  test("the stream's leader is killed three times: each acknowledged run is there once, and none is lost", async () => {
    const cluster = await startNats(3);
    const server = await startLoggedServer(cluster);
    expect(server.log).toEqual({ address: cluster.url, replicas: 3 });
    const client = new Client({
      endpoint: server.url,
      projectName: "kills",
      logger: { warn: () => undefined },
    });
    onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
    const { recorded, stop } = startRecording(client);
    for (let kill = 0; kill < 3; kill += 1) {
      const acknowledged = await readMetric(server, "millrace_log_appended_total");
      await expect
        .poll(() => readMetric(server, "millrace_log_appended_total"), patient)
        .toBeGreaterThan(acknowledged);
      let leader = "";
      await expect.poll(async () => (leader = await cluster.findLeader()), patient).not.toBe("");
      await cluster.kill(leader);
      const atKill = await readMetric(server, "millrace_log_appended_total");
      await expect
        .poll(() => readMetric(server, "millrace_log_appended_total"), patient)
        .toBeGreaterThan(atKill);
      cluster.restart(leader);
      await expect.poll(() => cluster.countReady(), patient).toBe(3);
    }
    stop();
    await client.flush({ timeoutMs: 60_000 });
    expect(client.stats()).toMatchObject({ pending: 0, lost: {} });
    await expect
      .poll(() => readMetric(server, "millrace_runs_stored_total"), patient)
      .toBeGreaterThanOrEqual(recorded.size);
    const runs = await readRuns(server, "kills");
    expect(runs.length).toBe(recorded.size);
    const isIntact = ({ id, inputs, outputs }: (typeof runs)[number]): boolean => {
      const question = recorded.get(id);
      const expected = [{ question }, { answer: `${question}!` }];
      return JSON.stringify([inputs, outputs]) === JSON.stringify(expected);
    };
    expect(runs.filter((run) => !isIntact(run))).toEqual([]);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(recorded.size);
    // Unknown for some time after the last kill: not every stream has a leader at once.
    await expect.poll(() => readMetric(server, "millrace_log_dead_letters"), patient).toBe(0);
  }, 300_000);

  test("a full log makes the SDK wait, and nothing is lost", async () => {
    const cluster = await startNats(1);
    const store = await openTemporaryStore();
    onTestFinished(() => store.close());
    // Nothing applies the log, as if all writers were away.
    const log = await IngestLog.open({ target: parseLogUrl(cluster.url), maxBytes: 1_048_576 }, {});
    onTestFinished(() => log.close());
    const settings = { ...parseServerOptions({ dataDir: memoryDataDir }), modelToken: "unused" };
    const app = createApp(store, settings, { log });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    const client = new Client({
      endpoint: url,
      projectName: "full",
      logger: { warn: () => undefined },
    });
    onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
    const ids = Array.from({ length: 60 }, (_, index) => {
      const run = client.startRun({ name: "answer", inputs: { text: "x".repeat(50_000), index } });
      run.end({});
      return run.id;
    });
    await expect
      .poll(() => client.stats().lastFailure?.cause, patient)
      .toMatch(/ingest log is full/);
    expect(client.stats()).toMatchObject({ lost: {} });
    const connection = await LogConnection.openExisting(parseLogUrl(cluster.url));
    onTestFinished(() => connection.close());
    const writer = new IngestWriter(connection, store);
    onTestFinished(() => writer.close());
    await client.flush({ timeoutMs: 60_000 });
    expect(client.stats()).toMatchObject({ pending: 0, lost: {} });
    await expect.poll(async () => (await readRuns({ url }, "full")).length, patient).toBe(60);
    expect(new Set((await readRuns({ url }, "full")).map(({ id }) => id))).toEqual(new Set(ids));
  }, 240_000);

  test("without a log, runs are refused with 503, the server is not ready, and both end when it is back", async () => {
    const cluster = await startNats(1);
    const server = await startLoggedServer(cluster);
    const [node = ""] = cluster.names;
    const send = (id: string) =>
      call(server, "POST /runs", { body: { id, name: "a", run_type: "chain" } });
    const [first, second] = [randomUUID(), randomUUID()];
    expect(await send(first)).toMatchObject({ status: 202, json: { accepted: 1 } });
    await expect
      .poll(async () => (await call(server, `GET /runs/${first}`)).status, patient)
      .toBe(200);
    // A repeat is received, because only the writer knows that it is one.
    expect((await send(first)).status).toBe(202);
    await expect
      .poll(async () => (await call(server, "GET /health/ready")).json, patient)
      .toMatchObject({ status: "ready", log: { waiting_messages: 0, dead_letters: 0 } });

    await cluster.kill(node);
    await expect
      .poll(async () => (await call(server, "GET /health/ready")).status, patient)
      .toBe(503);
    expect((await call(server, "GET /health/live")).status).toBe(200);
    expect((await call(server, `GET /runs/${first}`)).status).toBe(200);
    const refused = await send(second);
    expect(refused).toMatchObject({
      status: 503,
      json: { detail: expect.stringMatching(/log can't be reached/) as unknown },
    });
    expect(refused.headers.get("retry-after")).toBe("2");

    cluster.restart(node);
    await expect
      .poll(async () => (await call(server, "GET /health/ready")).status, patient)
      .toBe(200);
    await expect.poll(async () => (await send(second)).status, patient).toBe(202);
    await expect
      .poll(async () => (await call(server, `GET /runs/${second}`)).status, patient)
      .toBe(200);
    expect(await readMetric(server, "millrace_log_reconnects_total")).toBeGreaterThanOrEqual(1);
    expect(await readMetric(server, "millrace_log_connected")).toBe(1);
    expect(await readMetric(server, "millrace_log_repeated_total")).toBeGreaterThanOrEqual(1);
  }, 240_000);
});
