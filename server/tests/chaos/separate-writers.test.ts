import { randomUUID } from "node:crypto";
import { startServer } from "@millrace/server";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { startWriter } from "@millrace/server/work";
import { describe, expect, onTestFinished, test } from "vitest";
import { canRunNats } from "../support/nats-cluster.ts";
import { startNats } from "../support/started-nats.ts";
import { testServerUrl } from "../support/postgres-server.ts";
import { PostgresStores } from "../support/postgres-stores.ts";
import { call } from "../support/running-server.ts";
import { wireRun } from "../support/wire-runs.ts";

/** A database and a log, and a server that uses both. */
async function startBoth(options: Pick<ServerOptions, "logWriter"> = {}) {
  const stores = await PostgresStores.create();
  onTestFinished(() => stores.close());
  const cluster = await startNats(1);
  const addresses = { store: stores.database.url, log: cluster.url, dataDir: stores.folder };
  const server = await startServer({
    ...addresses,
    ...options,
    logMaxBytes: 67_108_864,
    port: 0,
  });
  onTestFinished(() => server.close());
  return { addresses, server };
}

const send = (server: RunningServer, run: object) =>
  call(server, "POST /runs", { body: { ...run, session_name: "p" } });

const readStatus = async (server: Pick<RunningServer, "url">, path: string): Promise<number> =>
  (await call(server, `GET ${path}`)).status;

describe.skipIf(!canRunNats || testServerUrl === undefined)("a log in front of PostgreSQL", () => {
  test("is applied by the server itself, unless it is told otherwise", async () => {
    const { server } = await startBoth();
    const run = wireRun();
    expect((await send(server, run)).status).toBe(202);
    await expect.poll(() => readStatus(server, `/runs/${run.id}`)).toBe(200);
  });

  test("waits for a separate writer, which reports its state and ends in order", async () => {
    const { addresses, server } = await startBoth({ logWriter: "separate" });
    const runs = [wireRun(), wireRun()];
    for (const run of runs) {
      expect((await send(server, run)).status).toBe(202);
    }
    await expect
      .poll(async () => (await call(server, "GET /health/ready")).json)
      .toMatchObject({ log: { waiting_messages: 2 } });
    expect(await readStatus(server, `/runs/${runs[0]?.id}`)).toBe(404);

    const writer = await startWriter({ ...addresses, port: 0 });
    onTestFinished(() => writer.close());
    for (const run of runs) {
      await expect.poll(() => readStatus(server, `/runs/${run.id}`)).toBe(200);
    }
    const health = { url: `http://127.0.0.1:${writer.port}` };
    expect((await call(health, "GET /health/live")).json).toEqual({ status: "live" });
    expect((await call(health, "GET /health/ready")).json).toMatchObject({ status: "ready" });
    const metrics = (await call(health, "GET /metrics")).text;
    expect(metrics).toMatch(/^millrace_log_applied_total 2$/m);
    expect(metrics).toMatch(/^millrace_runs_stored_total 2$/m);
    // The server is notified of them for live views, but has not stored them.
    expect((await call(server, "GET /metrics")).text).toMatch(/^millrace_runs_stored_total 0$/m);
    await writer.close();
    await expect(fetch(`${health.url}/health/live`)).rejects.toThrow("fetch failed");
    // What arrives without a writer waits for the next one.
    const later = wireRun();
    expect((await send(server, later)).status).toBe(202);
    const next = await startWriter(addresses);
    onTestFinished(() => next.close());
    expect(next.port).toBeUndefined();
    await expect.poll(() => readStatus(server, `/runs/${later.id}`)).toBe(200);
  });

  test("is not created by a writer, which says what is missing", async () => {
    const stores = await PostgresStores.create();
    onTestFinished(() => stores.close());
    const cluster = await startNats(1);
    const options = { store: stores.database.url, log: cluster.url, dataDir: stores.folder };
    await expect(startWriter(options)).rejects.toMatchObject({
      code: "LOG",
      message: expect.stringContaining("a server that is started with --log creates it") as string,
    });
    await expect(startWriter({ ...options, port: 70_000 })).rejects.toThrow("port must be");
    const secret = randomUUID();
    await expect(startWriter({ ...options, store: `mysql://u:${secret}@a/b` })).rejects.not.toThrow(
      secret,
    );
  });
});
