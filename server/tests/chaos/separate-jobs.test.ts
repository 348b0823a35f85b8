import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startServer } from "@millrace/server";
import { startWriter } from "@millrace/server/work";
import { describe, expect, onTestFinished, test } from "vitest";
import { testServerUrl } from "../support/postgres-server.ts";
import { PostgresStores } from "../support/postgres-stores.ts";
import { call, textOf } from "../support/running-server.ts";
import type { Json } from "../support/running-server.ts";
import { someMicros, wireRun } from "../support/wire-runs.ts";

interface Address {
  readonly url: string;
}

async function createDatabase(): Promise<PostgresStores> {
  const stores = await PostgresStores.create();
  onTestFinished(() => stores.close());
  return stores;
}

/** Starts a process that performs jobs, and has no log. */
async function startWorker({ database, folder }: PostgresStores): Promise<void> {
  const worker = await startWriter({ store: database.url, dataDir: folder });
  onTestFinished(() => worker.close());
  expect(worker).toMatchObject({ log: undefined, port: undefined });
}

/** Serves a database in a process of its own. */
async function serve({ database, folder }: PostgresStores) {
  const program = fileURLToPath(new URL("../../../cli/bin/millrace.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--data", folder], {
    env: { ...process.env, MILLRACE_STORE_URL: database.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url: /http:\S+/.exec(line)?.[0] ?? "" };
}

/** Adds runs to a new project, and creates a job that adds them to a dataset. */
async function createJob(server: Address, runCount: number) {
  const project = textOf(
    (await call(server, "POST /sessions", { body: { name: "p" } })).json["id"],
  );
  const post = Array.from({ length: runCount }, (_, index) =>
    wireRun({ micros: someMicros + index, session_id: project, inputs: { index } }),
  );
  expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  const dataset = textOf(
    (await call(server, "POST /datasets", { body: { name: "d" } })).json["id"],
  );
  const parameters = { runs: { session: [project] }, dataset_id: dataset, includes_outputs: false };
  const body = { kind: "runs.add_to_dataset", parameters };
  const { json } = await call(server, "POST /ui/jobs", { body });
  return { id: textOf(json["id"]), dataset };
}

/** Adds a run that has expired by the rule of its project. Returns its path. */
async function addExpiredRun(server: Address): Promise<string> {
  const project = textOf(
    (await call(server, "POST /sessions", { body: { name: "old" } })).json["id"],
  );
  const run = wireRun({ session_id: project });
  expect((await call(server, "POST /runs", { body: run })).status).toBe(202);
  const rule = { project_id: project, days: 1 };
  expect((await call(server, "PUT /ui/retention", { body: rule })).status).toBe(200);
  expect((await call(server, `GET /runs/${run.id}`)).status).toBe(200);
  return `/runs/${run.id}`;
}

const readJob = async (server: Address, id: string): Promise<Json> =>
  (await call(server, `GET /ui/jobs/${id}`)).json;

const doneOf = ({ progress }: Json): number => Number(progress?.["done"]);

/** Starts a server that leaves jobs to separate processes. */
async function startServerWithoutJobs({ database, folder }: PostgresStores): Promise<Address> {
  const server = await startServer({
    port: 0,
    store: database.url,
    dataDir: folder,
    jobRunner: "separate",
  });
  onTestFinished(() => server.close());
  return server;
}

describe.skipIf(testServerUrl === undefined)("jobs on PostgreSQL", () => {
  test("wait for a separate process if the server is told not to perform any", async () => {
    const stores = await createDatabase();
    const server = await startServerWithoutJobs(stores);
    const { id, dataset } = await createJob(server, 20);
    // A server that performed jobs would have begun when the request ended.
    expect(await readJob(server, id)).toMatchObject({ state: "queued" });
    await startWorker(stores);
    await expect
      .poll(() => readJob(server, id), { timeout: 30_000 })
      .toMatchObject({ state: "succeeded", progress: { done: 20 } });
    expect((await call(server, `GET /examples/count?dataset=${dataset}`)).json).toBe(20);
  });

  test("compute costs again in a separate process, with the prices of the tenant", async () => {
    const stores = await createDatabase();
    const server = await startServerWithoutJobs(stores);
    const run = wireRun({
      session_name: "p",
      run_type: "llm",
      extra: { metadata: { ls_model_name: "my-model" } },
      outputs: { usage_metadata: { input_tokens: 10, output_tokens: 10 } },
    });
    expect((await call(server, "POST /runs", { body: run })).status).toBe(202);
    const readCost = async (): Promise<unknown> =>
      (await call(server, `GET /runs/${run.id}`)).json["total_cost"];
    expect(await readCost()).toBeNull();
    const prices = [{ model: "my-model", prices: { input: 1, output: 2 } }];
    expect((await call(server, "PUT /ui/prices", { body: { prices } })).status).toBe(200);
    const body = { kind: "prices.recompute", parameters: {} };
    const id = textOf((await call(server, "POST /ui/jobs", { body })).json["id"]);
    // A server that performed jobs would have begun when the request ended.
    expect(await readJob(server, id)).toMatchObject({ state: "queued" });
    expect(await readCost()).toBeNull();

    await startWorker(stores);
    await expect
      .poll(() => readJob(server, id), { timeout: 30_000 })
      .toMatchObject({
        state: "succeeded",
        progress: { done: 1, figures: { percent: 100, changed: 1 } },
        result: { summary: "1 model call examined, 1 cost changed." },
      });
    expect(await readCost()).toBe("0.00003");
  });

  test("that are exports are not performed by a separate process, and fail if their server is killed", async () => {
    const stores = await createDatabase();
    const first = await serve(stores);
    const second = await startServerWithoutJobs(stores);
    await startWorker(stores);
    const project = textOf(
      (await call(first, "POST /sessions", { body: { name: "p" } })).json["id"],
    );
    const run = wireRun({ session_id: project });
    expect((await call(first, "POST /runs", { body: run })).status).toBe(202);
    const startExport = async (server: Address) => {
      const body = { session: [project], format: "jsonl" };
      const { json } = await call(server, "POST /ui/runs/export", { body });
      return { id: textOf(json["job_id"]), path: textOf(json["path"]) };
    };
    const exported = await startExport(second);
    const canceled = await startExport(second);
    const killed = await startExport(first);
    // The worker searches for jobs every two seconds.
    await setTimeout(5_000);
    for (const { id } of [exported, canceled, killed]) {
      expect(await readJob(second, id)).toMatchObject({
        state: "running",
        progress: { done: 0, total: 1 },
      });
    }
    expect((await call(second, `GET ${exported.path}`)).text).toContain(run.id);
    await expect
      .poll(() => readJob(first, exported.id))
      .toMatchObject({ state: "succeeded", progress: { done: 1, total: 1 } });
    // Canceled at another server, which the server of the export notices when it renews the lease.
    expect((await call(first, `POST /ui/jobs/${canceled.id}/cancel`)).status).toBe(200);
    await expect
      .poll(() => readJob(first, canceled.id), { timeout: 30_000 })
      .toMatchObject({ state: "canceled" });
    expect((await call(second, `GET ${canceled.path}`)).status).toBe(404);

    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    await expect
      .poll(() => readJob(second, killed.id), { timeout: 90_000 })
      .toMatchObject({
        state: "failed",
        error: expect.stringContaining("the server that performed the job has ended") as string,
      });
  }, 240_000);

  test("continue in a separate process if their server is killed, which also deletes expired runs", async () => {
    const stores = await createDatabase();
    const first = await serve(stores);
    const runCount = 3_000;
    const expired = await addExpiredRun(first);
    const { id, dataset } = await createJob(first, runCount);
    await expect
      .poll(async () => doneOf(await readJob(first, id)), { interval: 5 })
      .toBeGreaterThan(0);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    await startWorker(stores);
    const second = await startServer({
      port: 0,
      store: stores.database.url,
      dataDir: stores.folder,
      jobRunner: "separate",
    });
    onTestFinished(() => second.close());
    expect(doneOf(await readJob(second, id))).toBeLessThan(runCount);
    // The lease of the server that was killed runs out first.
    await expect
      .poll(() => readJob(second, id), { timeout: 90_000 })
      .toMatchObject({ state: "succeeded", progress: { done: runCount } });
    expect((await call(second, `GET /examples/count?dataset=${dataset}`)).json).toBe(runCount);
    await expect
      .poll(async () => (await call(second, `GET ${expired}`)).status, { timeout: 90_000 })
      .toBe(404);
  }, 240_000);
});
