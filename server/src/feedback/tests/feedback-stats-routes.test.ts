import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

describe("statistics", () => {
  test("runs and projects include statistics of their feedback", async () => {
    const server = await runServer();
    const { json: project } = await call(server, "POST /sessions", { body: { name: "p" } });
    const session_id = textOf(project["id"]);
    const runs = [wireRun({ session_name: "p" }), wireRun({ session_name: "p" })];
    await call(server, "POST /runs/batch", { body: { post: runs } });
    const [one, other] = runs.map(({ id }) => id);
    const bodies = [
      { run_id: one, key: "k", score: 1 },
      { run_id: one, key: "k", score: false, value: "bad" },
      { run_id: other, key: "k", value: "bad" },
      { run_id: other, key: "k", value: true },
      { run_id: other, key: "__proto__", value: { not: "counted" } },
      { session_id, key: "whole", score: 3 },
    ];
    for (const body of bodies) {
      expect((await call(server, "POST /feedback", { body })).status).toBe(200);
    }
    const ofOne = { k: { n: 2, avg: 0.5, values: { bad: 1 } } };
    const ofAll = { k: { n: 4, avg: 0.5, values: { bad: 2, true: 1 } } };
    expect((await call(server, `GET /runs/${one}`)).json["feedback_stats"]).toEqual(ofOne);
    const query = { id: [one], select: ["feedback_stats"] };
    expect((await call(server, "POST /runs/query", { body: query })).json["runs"]).toEqual([
      { id: one, feedback_stats: ofOne },
    ]);
    const stats = await call(server, "POST /runs/stats", { body: { session: [session_id] } });
    expect(stats.json["feedback_stats"]).toMatchObject(ofAll);
    expect(stats.text).toContain('"__proto__":{"n":1,"avg":null,"values":{}}');
    const ofNone = await call(server, "POST /runs/stats", { body: { error: true } });
    expect(ofNone.json["feedback_stats"]).toEqual({});
    for (const path of [`/sessions/${session_id}?`, "/sessions?name=p&"]) {
      const { json } = await call(server, `GET ${path}include_stats=true`);
      expect(json[0] ?? json).toMatchObject({
        feedback_stats: ofAll,
        session_feedback_stats: { whole: { n: 1, avg: 3, values: {} } },
      });
    }
  });

  test("deleting a project deletes the feedback on it and on its runs", async () => {
    const server = await runServer();
    const { json: project } = await call(server, "POST /sessions", { body: { name: "p" } });
    const run = wireRun({ session_name: "p" });
    await call(server, "POST /runs", { body: run });
    const stays = randomUUID();
    for (const target of [{ run_id: run.id }, { session_id: project["id"] }, { run_id: stays }]) {
      await call(server, "POST /feedback", { body: { ...target, key: "k" } });
    }
    await call(server, `DELETE /sessions/${textOf(project["id"])}`);
    expect((await call(server, "GET /feedback")).json).toMatchObject([{ run_id: stays }]);
  });
});

test("rows of another tenant can be neither read nor written", async () => {
  const { me, you } = await twoTenants();
  const { json: project } = await me("POST /sessions", { name: "p" });
  const run = wireRun({ session_name: "p" });
  await me("POST /runs", run);
  const body = { id: randomUUID(), run_id: run.id, key: "k", score: 1 };
  expect((await me("POST /feedback", body)).status).toBe(200);
  const path = `/feedback/${body.id}`;
  const responses = [
    await you(`GET ${path}`),
    await you(`PATCH ${path}`, { score: 0 }),
    await you(`DELETE ${path}`),
    await you("POST /feedback", { session_id: project["id"], key: "k" }),
    await you("POST /feedback", { session_id: randomUUID(), key: "k" }),
  ];
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 404));
  expect((await you(`GET /feedback?run=${run.id}`)).json).toEqual([]);
  // To the other tenant, a run with this id may still arrive, like any unknown run.
  const onItsWay = { run_id: run.id, session_id: project["id"], key: "k", score: 0 };
  expect((await you("POST /feedback", onItsWay)).status).toBe(200);
  const token = { run_id: run.id, feedback_key: "k" };
  expect((await you("POST /feedback/tokens", token)).status).toBe(200);
  expect((await me(`GET /runs/${run.id}`)).json["feedback_stats"]).toMatchObject({ k: { avg: 1 } });
  expect((await me(`GET ${path}`)).json).toMatchObject({ score: 1 });

  // The other tenant sent feedback for this id first: it stays theirs, and is not shown on this tenant's run.
  const early = wireRun({ session_name: "p" });
  await you("POST /feedback", { run_id: early.id, key: "k", score: 0 });
  await me("POST /runs", early);
  expect((await me(`GET /runs/${early.id}`)).json["feedback_stats"]).toBeNull();
  expect((await me("POST /runs/stats", {})).json["feedback_stats"]).toMatchObject({ k: { n: 1 } });
  expect((await you(`GET /feedback?run=${early.id}`)).json).toMatchObject([
    { session_id: null, trace_id: null },
  ]);
  await me(`DELETE /sessions/${textOf(project["id"])}`);
  expect((await you("GET /feedback")).json).toMatchObject([
    { run_id: early.id },
    { run_id: run.id },
  ]);
});
