import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { containing } from "./support/matchers.ts";
import { call, runServer } from "./support/running-server.ts";
import type { RunningServer } from "@millrace/server";

/** SQLite can store later times, but they can't be read back: they exceed the exact range of a JavaScript number. */
const latest = "2255-06-05T23:47:34.740991Z";
const later = "2255-06-05T23:47:34.740992Z";
const tooLate = "is after 2255-06-05, the last day that can be stored";

const stampOf = (time: string): string => time.replaceAll(/[-:.]/g, "");

function runAt(start: string, over: Readonly<Record<string, unknown>> = {}) {
  const id = randomUUID();
  return {
    id,
    trace_id: id,
    dotted_order: `${stampOf(start)}${id}`,
    name: "late",
    run_type: "chain",
    start_time: start,
    session_name: "late",
    ...over,
  };
}

const post = (server: RunningServer, run: object) => call(server, "POST /runs", { body: run });

describe("a time that can't be stored is rejected with the reason", () => {
  test.each<[string, object]>([
    ["the start of a run", runAt(later, { dotted_order: undefined, trace_id: undefined })],
    ["its end", runAt("2026-11-21T10:11:12.345678Z", { end_time: later })],
    [
      "its end in the year 9999",
      runAt("2026-11-21T10:11:12.345678Z", { end_time: "9999-12-31T23:59:59Z" }),
    ],
  ])("%s", async (_title, run) => {
    const server = await runServer();
    const refused = await post(server, run);
    expect(refused).toMatchObject({ status: 400, json: { detail: containing(tooLate) } });
    const whole = await call(server, "POST /runs/batch", { body: { post: [run] } });
    expect([whole.status, whole.text]).toEqual([422, containing(tooLate)]);
  });

  test("the start in a dotted order is checked, alone and in a batch", async () => {
    const server = await runServer();
    const run = runAt(later, { start_time: "2026-11-21T10:11:12.345678Z" });
    for (const response of [
      await post(server, run),
      await call(server, "POST /runs/batch", { body: { post: [run] } }),
    ]) {
      expect(response.text).toContain("the start in dotted_order is after 2255-06-05");
    }
  });

  test.each<[string, string, object]>([
    ["the start of a project", "POST /sessions", { name: "p", start_time: later }],
    ["a dataset's creation", "POST /datasets", { name: "d", created_at: later }],
    [
      "feedback's creation",
      "POST /feedback",
      { run_id: randomUUID(), key: "k", created_at: later },
    ],
    ["a queue's creation", "POST /annotation-queues", { name: "q", created_at: later }],
  ])("%s", async (_title, target, body) => {
    const server = await runServer();
    expect(await call(server, target, { body })).toMatchObject({
      status: 422,
      json: { detail: containing(tooLate) },
    });
  });

  test("the expiry of a token is checked", async () => {
    const server = await runServer();
    const token = { run_id: randomUUID(), feedback_key: "k" };
    for (const over of [
      { expires_at: later },
      { expires_in: { days: 365 * 300, hours: 0, minutes: 0 } },
    ]) {
      const response = await call(server, "POST /feedback/tokens", { body: { ...token, ...over } });
      expect(response.status).toBe(422);
      expect(response.text).toContain("2255-06-05");
    }
  });
});

test("the latest time that can be stored is read back everywhere", async () => {
  const server = await runServer();
  const run = runAt(latest, { end_time: latest });
  expect((await call(server, "POST /runs/batch", { body: { post: [run] } })).status).toBe(202);
  expect((await post(server, runAt(latest, { end_time: latest }))).status).toBe(202);
  const read = await call(server, `GET /runs/${run.id}`);
  expect(read).toMatchObject({
    status: 200,
    json: { start_time: latest, end_time: latest },
  });
  const listed = await call(server, "POST /runs/query", {
    body: { session: [read.json["session_id"]], end_time: "9999-12-31T23:59:59Z" },
  });
  expect(listed.json["runs"]).toHaveLength(2);
  const projects = await call(server, "GET /sessions?name=late&include_stats=true");
  expect(projects).toMatchObject({ status: 200, json: [{ run_count: 2 }] });
});

test("the bound of a query may be arbitrarily late", async () => {
  const server = await runServer();
  const run = runAt("2026-11-21T10:11:12.345678Z");
  expect((await post(server, run)).status).toBe(202);
  for (const filter of ['lt(start_time, "9999-12-31T23:59:59Z")', 'lt(start_time, "9999-12-31")']) {
    const { json } = await call(server, "POST /runs/query", {
      body: { filter, trace: run.id, end_time: "9999-12-31T23:59:59.999999Z" },
    });
    expect([filter, json]).toMatchObject([filter, { runs: [{ id: run.id }] }]);
  }
  const { json } = await call(server, "GET /feedback?max_created_at=9999-12-31T23:59:59Z");
  expect(json).toEqual([]);
});
