import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Type } from "typebox";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../dist/app/app.js";
import { RequestError } from "../../../dist/model/errors.js";
import { memoryDataDir, parseServerOptions } from "../../../dist/model/options.js";
import { openTemporaryStore } from "../../../dist/store/sqlite-store.js";
import { call, runOwnServer } from "../../../tests/support/running-server.ts";
import type { CallResult } from "../../../tests/support/running-server.ts";
import { jobLimits } from "../job.ts";
import { defineJobKind } from "../job-kind.ts";

/** Counts to `parameters.to`, one each step; waits at 3 until it is canceled. */
const counting = defineJobKind({
  name: "test.count",
  parameters: Type.Object({
    to: Type.Integer({ maximum: 100 }),
    note: Type.Optional(Type.String()),
  }),
  prepare: async (_tenantId, { to }) => {
    if (to === 0) {
      throw new RequestError(422, "to must not be 0");
    }
    return { title: `Count to ${to}`, total: to };
  },
  step: async ({ parameters: { to }, signal }, cursor) => {
    const done = Number(cursor) + 1;
    if (done === 3) {
      await once(signal, "abort");
    }
    return done < to ? { cursor: done, done } : { done, result: { summary: `Counted to ${to}` } };
  },
});

const idOf = ({ json }: CallResult): string => JSON.stringify(json["id"]).slice(1, -1);

async function runApp() {
  const store = await openTemporaryStore();
  const app = createApp(
    store,
    { ...parseServerOptions({ dataDir: memoryDataDir }), modelToken: "unused" },
    { jobKinds: [counting] },
  );
  onTestFinished(async () => {
    await app.close();
    await store.close();
  });
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }) };
}

test("a job is created, read while it runs, listed, canceled and retried", async () => {
  const server = await runApp();
  const created = await call(server, "POST /ui/jobs", {
    body: { kind: "test.count", parameters: { to: 5 } },
  });
  expect(created).toMatchObject({
    status: 200,
    json: { title: "Count to 5", progress: { done: 0, total: 5 }, started_at: null },
  });
  const path = `/ui/jobs/${idOf(created)}`;
  const readState = async () => (await call(server, `GET ${path}`)).json;
  await expect.poll(readState).toMatchObject({ state: "running", progress: { done: 2 } });
  expect((await call(server, "GET /ui/jobs?active=true")).json).toMatchObject({
    jobs: [{ state: "running" }],
  });
  expect(await call(server, `POST ${path}/cancel`)).toMatchObject({
    status: 200,
    json: { state: "running", is_cancel_requested: true },
  });
  await expect.poll(readState).toMatchObject({ state: "canceled", progress: { done: 3 } });
  expect((await call(server, "GET /ui/jobs?active=true")).json).toEqual({ jobs: [] });
  expect((await call(server, `POST ${path}/cancel`)).status).toBe(409);
  expect(await call(server, `POST ${path}/retry`)).toMatchObject({ json: { state: "queued" } });
  await expect.poll(readState).toMatchObject({
    state: "succeeded",
    progress: { done: 5, total: 5 },
    result: { summary: "Counted to 5" },
    is_cancel_requested: false,
  });
  expect((await call(server, `POST ${path}/retry`)).status).toBe(409);
});

test.each([
  ["an unknown kind", { kind: "x", parameters: {} }, /^kind must be one of test\.count, not "x"/],
  [
    "a parameter of another type",
    { kind: "test.count", parameters: { to: "1" } },
    /^parameters\/to must be a whole number/,
  ],
  [
    "a missing parameter",
    { kind: "test.count", parameters: {} },
    /^parameters must have required property 'to'/,
  ],
  ["what the kind refuses", { kind: "test.count", parameters: { to: 0 } }, /^to must not be 0/],
  [
    "parameters that are too long",
    { kind: "test.count", parameters: { to: 1, note: "x".repeat(jobLimits.jsonChars) } },
    /^parameters must have at most 65536 characters/,
  ],
])("%s is refused with the reason", async (_title, body, reason) => {
  const server = await runApp();
  expect(await call(server, "POST /ui/jobs", { body })).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(reason) as string },
  });
  expect((await call(server, "GET /ui/jobs")).json).toEqual({ jobs: [] });
});

test("an unknown job is not found, and a malformed id is named", async () => {
  const server = await runOwnServer();
  expect((await call(server, `GET /ui/jobs/${randomUUID()}`)).status).toBe(404);
  expect((await call(server, `POST /ui/jobs/${randomUUID()}/cancel`)).status).toBe(404);
  expect(await call(server, "POST /ui/jobs/x/retry")).toMatchObject({
    status: 422,
    json: { detail: 'job id is not a UUID: "x"' },
  });
});
