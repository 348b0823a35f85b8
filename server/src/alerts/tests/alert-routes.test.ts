import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";

const alertBody = (projectId: string, fields = {}) => ({
  session_id: projectId,
  name: "Error rate of answers",
  figure: "error_rate",
  scope: "traces",
  group: { by: "name", value: "answer" },
  filter: null,
  window_minutes: 15,
  direction: "above",
  threshold: 0.05,
  webhook_id: null,
  ...fields,
});

test("an alert is created, changed, listed and deleted", async () => {
  const server = await runServer();
  const project = textOf(
    (await call(server, "POST /sessions", { body: { name: "p" } })).json["id"],
  );
  const body = alertBody(project);
  const created = await call(server, "POST /ui/alerts", { body });
  expect(created).toMatchObject({
    status: 200,
    json: { ...body, state: "no_data", value: null, is_enabled: true, problem: null },
  });
  const target = `/ui/alerts/${textOf(created.json["id"])}`;
  const patch = {
    threshold: 0.1,
    group: null,
    filter: "latency > 5s",
    is_enabled: false,
    window_minutes: 60,
  };
  const patched = await call(server, `PATCH ${target}`, { body: patch });
  expect(patched.json).toEqual({ ...created.json, ...patch });
  expect((await call(server, `GET /ui/alerts?session=${project}`)).json).toEqual([patched.json]);
  expect((await call(server, `GET ${target}/history`)).json).toEqual([]);
  expect((await call(server, `DELETE ${target}`)).status).toBe(200);
  expect((await call(server, `GET ${target}/history`)).status).toBe(404);
});

test("values out of range and unknown webhooks are refused", async () => {
  const server = await runServer();
  const project = textOf(
    (await call(server, "POST /sessions", { body: { name: "p" } })).json["id"],
  );
  for (const fields of [
    { figure: "happiness" },
    { scope: "children" },
    { group: { by: "status", value: "failed" } },
    { filter: "latency >" },
    { filter: " " },
    { filter: "x".repeat(10_001) },
    { group: { by: "name", value: "" } },
    { window_minutes: 4 },
    { window_minutes: 1_441 },
    { direction: "beside" },
    { threshold: -1 },
    { threshold: 1.5 },
    { name: "" },
  ]) {
    const body = alertBody(project, fields);
    expect((await call(server, "POST /ui/alerts", { body })).status).toBe(422);
  }
  const { filter: _filter, ...unfiltered } = alertBody(project);
  const created = await call(server, "POST /ui/alerts", { body: unfiltered });
  expect(created).toMatchObject({ status: 200, json: { filter: null } });
  const target = `PATCH /ui/alerts/${textOf(created.json["id"])}`;
  expect(await call(server, target, { body: { filter: "latency > soon" } })).toMatchObject({
    status: 422,
    json: { detail: expect.stringContaining("filter: ") as string },
  });
  const unknown = alertBody(project, { webhook_id: randomUUID() });
  expect(await call(server, "POST /ui/alerts", { body: unknown })).toMatchObject({
    status: 422,
    json: { detail: "webhook_id: there is no such webhook" },
  });
});

test("the names of a project's alerts are unique, and an error rate is at most 100 %", async () => {
  const server = await runServer();
  const project = textOf(
    (await call(server, "POST /sessions", { body: { name: "p" } })).json["id"],
  );
  const create = (fields: object) =>
    call(server, "POST /ui/alerts", { body: alertBody(project, fields) });
  const first = await create({ name: "a" });
  const second = await create({ name: "b", figure: "latency_p95", threshold: 2_000 });
  expect(await create({ name: "a" })).toMatchObject({
    status: 409,
    json: { detail: "name: the project has an alert with this name" },
  });
  const patch = (alert: typeof first, body: object) =>
    call(server, `PATCH /ui/alerts/${textOf(alert.json["id"])}`, { body });
  expect(await patch(second, { name: "a" })).toMatchObject({ status: 409 });
  expect(await patch(second, { name: "b", threshold: 3_000 })).toMatchObject({ status: 200 });
  expect(await patch(second, { figure: "error_rate" })).toMatchObject({
    status: 422,
    json: { detail: "threshold: an error rate is at most 1, which is 100 %" },
  });
  expect(await patch(first, { is_enabled: false })).toMatchObject({ status: 200 });
});
