import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../dist/app/app.js";
import { memoryDataDir, parseServerOptions } from "../../../dist/model/options.js";
import { openTemporaryStore } from "../../../dist/store/sqlite-store.js";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import { JobRunner } from "../../jobs/job-runner.ts";
import { RunExports } from "../export-runs.ts";
import type { RunExportBody } from "../export-runs.ts";

interface Server {
  readonly url: string;
}

/** The runs of a large project. Their file has more bytes than the buffers between server and client. */
const largeCount = 600;
const largeText = "x".repeat(64_000);

/** Records runs in a new project. Returns the project's id. */
async function recordRuns(server: Server, count: number, text = "small"): Promise<string> {
  const { json } = await call(server, "POST /sessions", { body: { name: randomUUID() } });
  const session_id = textOf(json["id"]);
  for (let start = 0; start < count; start += 100) {
    const post = Array.from({ length: Math.min(100, count - start) }, (_, index) =>
      wireRun({
        micros: someMicros + start + index,
        session_id,
        name: `run ${start + index}`,
        inputs: { text, index },
      }),
    );
    // One after the other: a batch of large runs takes much memory.
    expect((await call(server, "POST /runs/batch", { body: { post } })).status).toBe(202);
  }
  return session_id;
}

async function startExport(server: Server, body: object) {
  const { json } = await call(server, "POST /ui/runs/export", {
    body: { format: "jsonl", ...body },
  });
  return { path: textOf(json["path"]), id: textOf(json["job_id"]) };
}

const readJob = async (server: Server, id: string): Promise<Json> =>
  (await call(server, `GET /ui/jobs/${id}`)).json;

const doneOf = ({ progress }: Json): number => Number(progress?.["done"]);

/** Begins an export of many large runs, and receives only its beginning. */
async function receiveBeginning(server: Server) {
  const session = [await recordRuns(server, largeCount, largeText)];
  const { path, id } = await startExport(server, { session });
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(server.url + path, { signal: controller.signal });
  const reader = response.body!.getReader();
  expect((await reader.read()).done).toBe(false);
  const receiveRest = async (): Promise<void> => {
    while (!(await reader.read()).done) {
      // Only whether the response is complete matters.
    }
  };
  return { id, controller, receiveRest };
}

/** Waits until the job reports that a part of the runs was written. */
async function waitForProgress(server: Server, id: string): Promise<number> {
  await expect
    .poll(async () => doneOf(await readJob(server, id)), { timeout: 10_000 })
    .toBeGreaterThan(0);
  return doneOf(await readJob(server, id));
}

/** An application of the test's own, which it can close while requests are in progress. */
async function runApp() {
  const store = await openTemporaryStore();
  const app = createApp(store, {
    ...parseServerOptions({ dataDir: memoryDataDir }),
    modelToken: "unused",
  });
  onTestFinished(async () => {
    await app.close();
    await store.close();
  });
  return { app, store, url: await app.listen({ port: 0, host: "127.0.0.1" }) };
}

test("an export is a job, which runs until the file is complete, and can't be continued", async () => {
  const server = await runServer();
  const session = [await recordRuns(server, 120)];
  const filter = 'neq(name, "run 7")';
  const { path, id } = await startExport(server, { session, filter, format: "csv" });
  expect(await readJob(server, id)).toMatchObject({
    kind: "runs.export",
    title: "Export 119 runs as CSV",
    state: "running",
    progress: { done: 0, total: 119 },
    is_retryable: false,
  });
  const { status, text } = await call(server, `GET ${path}`);
  expect(status).toBe(200);
  expect(text.trim().split("\r\n")).toHaveLength(120);
  await expect
    .poll(() => readJob(server, id))
    .toMatchObject({
      state: "succeeded",
      progress: { done: 119, total: 119 },
      result: { summary: "Exported 119 runs." },
      error: null,
    });
  expect((await call(server, `POST /ui/jobs/${id}/retry`)).status).toBe(409);
  const parameters = { session, format: "csv" };
  const body = { kind: "runs.export", parameters };
  expect((await call(server, "POST /ui/jobs", { body })).status).toBe(422);
});

test("runs that begin after the export are not in it, even if the latest come last", async () => {
  const server = await runServer();
  const session = [await recordRuns(server, 3)];
  const { path, id } = await startExport(server, { session, order: "asc" });
  const later = wireRun({ micros: (Date.now() + 60_000) * 1_000, session_id: session[0] });
  expect((await call(server, "POST /runs", { body: later })).status).toBe(202);
  const { text } = await call(server, `GET ${path}`);
  expect(text.trim().split("\n")).toHaveLength(3);
  await expect.poll(() => readJob(server, id)).toMatchObject({ progress: { done: 3, total: 3 } });
  const selected = await startExport(server, { session, id: [later.id] });
  expect((await call(server, `GET ${selected.path}`)).text).toContain(later.id);
});

test("the job shows how many runs were written, and canceling it breaks the download off", async () => {
  const server = await runServer();
  const { id, receiveRest } = await receiveBeginning(server);
  const done = await waitForProgress(server, id);
  expect(done).toBeLessThan(largeCount);
  expect(await readJob(server, id)).toMatchObject({
    state: "running",
    progress: { total: largeCount },
  });
  expect((await call(server, `POST /ui/jobs/${id}/cancel`)).status).toBe(200);
  await expect(receiveRest()).rejects.toThrow("terminated");
  await expect
    .poll(() => readJob(server, id))
    .toMatchObject({ state: "canceled", error: null, progress: { total: largeCount } });
  expect(doneOf(await readJob(server, id))).toBeLessThan(largeCount);
}, 60_000);

test("a client that disconnects cancels the job", async () => {
  const server = await runServer();
  const { id, controller } = await receiveBeginning(server);
  await waitForProgress(server, id);
  controller.abort();
  await expect
    .poll(() => readJob(server, id))
    .toMatchObject({
      state: "canceled",
      error: "the browser ended the download, or its connection was lost",
    });
}, 60_000);

test("a client that receives everything slowly gets all runs, and the job succeeds", async () => {
  const server = await runServer();
  const { id, receiveRest } = await receiveBeginning(server);
  await waitForProgress(server, id);
  await receiveRest();
  await expect
    .poll(() => readJob(server, id))
    .toMatchObject({ state: "succeeded", progress: { done: largeCount, total: largeCount } });
}, 60_000);

test("an export that is canceled before its file is fetched has no file", async () => {
  const server = await runServer();
  const session = [await recordRuns(server, 3)];
  const { path, id } = await startExport(server, { session });
  expect((await call(server, `POST /ui/jobs/${id}/cancel`)).status).toBe(200);
  await expect.poll(() => readJob(server, id)).toMatchObject({ state: "canceled" });
  expect((await call(server, `GET ${path}`)).status).toBe(404);
});

test("an export whose file is not fetched in time is canceled", async () => {
  const store = await openTemporaryStore();
  const runner = new JobRunner(store, new Map());
  onTestFinished(async () => {
    await runner.close();
    await store.close();
  });
  const exports = new RunExports(store, runner.attached, 20);
  const request = {
    tenantId: store.defaultTenantId,
    body: { session: [randomUUID()], format: "csv" },
    headers: {},
    raw: { socket: new Socket() },
  };
  const { job_id } = await exports.prepare(
    request as unknown as FastifyRequest<{ Body: RunExportBody }>,
  );
  await expect
    .poll(() => store.read.jobs.find(store.defaultTenantId, job_id))
    .toMatchObject({
      title: "Export 0 runs as CSV",
      state: "canceled",
      error: "the browser did not fetch the file in time",
    });
});

test("a HEAD request does not use up the path of an export", async () => {
  const server = await runServer();
  const session = [await recordRuns(server, 3)];
  const { path } = await startExport(server, { session });
  expect((await call(server, `HEAD ${path}`)).status).toBe(404);
  expect((await call(server, `GET ${path}`)).text.trim().split("\n")).toHaveLength(3);
});

test("when the server closes, exports that wait or are being received fail", async () => {
  const { app, store, url } = await runApp();
  const server = { url };
  const { id, receiveRest } = await receiveBeginning(server);
  const rest = receiveRest().catch(String);
  const session = [await recordRuns(server, 1)];
  const waiting = await startExport(server, { session });
  await app.close();
  expect(await rest).toContain("terminated");
  for (const jobId of [id, waiting.id]) {
    expect(await store.read.jobs.find(store.defaultTenantId, jobId)).toMatchObject({
      state: "failed",
      error: "the server was stopped before the download was complete; export the runs again",
    });
  }
}, 60_000);
