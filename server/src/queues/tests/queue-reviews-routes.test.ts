import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../tests/support/matchers.ts";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

/** A server with one queue of `count` runs. */
async function queueOf(count: number, fields: object = {}) {
  const server = await runServer();
  const post = Array.from({ length: count }, () => wireRun({ session_name: "p" }));
  await call(server, "POST /runs/batch", { body: { post } });
  const created = await call(server, "POST /annotation-queues", { body: { name: "q", ...fields } });
  const id = textOf(created.json["id"]);
  const runIds = post.map((run) => run.id);
  const { json: places } = await call(server, `POST /annotation-queues/${id}/runs`, {
    body: runIds,
  });
  const entryId = (index: number): string => textOf(places[index]?.["id"]);
  const claim = (reviewer: string, rest: object = {}) =>
    call(server, `POST /ui/annotation-queues/${id}/claim`, { body: { reviewer, ...rest } });
  const act = (what: "done" | "release" | "reopen", entry: string, body: object) =>
    call(server, `POST /ui/annotation-queues/${id}/runs/${entry}/${what}`, { body });
  return { server, id, runIds, entryId, claim, act };
}

test("reviewers who claim at the same time get different runs", async () => {
  const { claim, entryId } = await queueOf(8);
  const names = Array.from({ length: 12 }, (_, index) => `reviewer ${index}`);
  const responses = await Promise.all(names.map((name) => claim(name)));
  const given = responses.map(({ json }) => json["run"] && textOf(json["run"]["id"]));
  const all = Array.from({ length: 8 }, (_, index) => entryId(index));
  expect(new Set(given.filter((id) => id))).toEqual(new Set(all));
  expect(given.filter((id) => !id)).toHaveLength(4);
});

test("of two reviewers who finish one run at the same time, one is rejected, and the error names the other", async () => {
  const { act, entryId, server, id } = await queueOf(1, { enable_reservations: false });
  const responses = await Promise.all(
    ["ann", "bob"].map((reviewer) => act("done", entryId(0), { reviewer })),
  );
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 409]));
  const winner = responses[0]?.status === 200 ? "ann" : "bob";
  const refused = responses.find(({ status }) => status === 409);
  expect(refused?.json).toEqual({ detail: `The run was reviewed by ${winner}` });
  const { json } = await call(
    server,
    `GET /ui/annotation-queues/${id}/progress?reviewer=${winner}`,
  );
  expect(json).toEqual({
    total: 1,
    completed: 1,
    mine: 1,
    claimed_by_others: 0,
    last_done: entryId(0),
    reviewers: [{ name: winner, done: 1, claimed: 0 }],
  });
});

test("a claimed run includes who has claimed it and until when, also when read from its queue", async () => {
  const { claim, act, server, id, runIds, entryId } = await queueOf(2, { reservation_minutes: 5 });
  const before = Date.now();
  const { json } = await claim("ann");
  expect(json["run"]).toMatchObject({
    id: entryId(0),
    run_id: runIds[0],
    index: 0,
    completed_at: null,
    reviews: [{ reviewer: "ann", claimed_until: anyText(), done_at: null }],
  });
  const until = Date.parse(textOf(json["run"]?.["claimed_until"]));
  expect(until).toBeGreaterThanOrEqual(before + 300_000);
  expect(until).toBeLessThan(before + 360_000);
  const queued = await call(server, `GET /annotation-queues/${id}/run/0`);
  expect(queued.json).toMatchObject({ reserved_by: [anyText()], completed_by: [] });
  const reservedBy = queued.json["reserved_by"]?.[0];
  expect((await act("done", entryId(0), { reviewer: "ann" })).json).toMatchObject({
    last_reviewed_time: anyText(),
  });
  expect((await call(server, `GET /annotation-queues/${id}/run/0`)).json).toMatchObject({
    reserved_by: [],
    completed_by: [reservedBy],
  });
});

test("a run can be skipped, finished, reopened and claimed by its position", async () => {
  const { claim, act, entryId } = await queueOf(3);
  const idOf = ({ json }: { readonly json: Json }): string => textOf(json["run"]?.["id"]);
  expect(idOf(await claim("ann"))).toBe(entryId(0));
  expect((await act("release", entryId(0), { reviewer: "ann", skipped: true })).status).toBe(200);
  expect(idOf(await claim("ann"))).toBe(entryId(1));
  expect((await act("done", entryId(1), { reviewer: "ann" })).status).toBe(200);
  expect(idOf(await claim("ann", { before: entryId(1) }))).toBe(entryId(0));
  expect(idOf(await claim("ann", { after: entryId(1) }))).toBe(entryId(2));
  expect(idOf(await act("reopen", entryId(1), { reviewer: "ann" }))).toBe(entryId(1));
  expect((await claim("bob", { queue_run_id: entryId(1) })).status).toBe(409);
});

test("queues are listed with their progress", async () => {
  const { act, entryId, server, id } = await queueOf(2, { name: "one" });
  await call(server, "POST /annotation-queues", { body: { name: "two" } });
  await act("done", entryId(0), { reviewer: "ann" });
  const list = await call(
    server,
    "GET /ui/annotation-queues?reviewer=ann&sort_by=name&sort_by_desc=false",
  );
  expect(list.json).toMatchObject([
    { id, name: "one", total_runs: 2, progress: { total: 2, completed: 1, mine: 1 } },
    { name: "two", progress: { total: 0, completed: 0, mine: 0, reviewers: [] } },
  ]);
  expect((await call(server, "GET /ui/annotation-queues?name_contains=two")).json).toMatchObject([
    { name: "two" },
  ]);
});

test("the runs of a queue are listed with their reviews, and without payloads", async () => {
  const { act, entryId, server, id, runIds } = await queueOf(3);
  await act("done", entryId(1), { reviewer: "ann" });
  const list = async (query: string): Promise<Json> =>
    (await call(server, `GET /ui/annotation-queues/${id}/runs?${query}`)).json;
  const all = await list("");
  expect(all).toMatchObject([
    {
      id: entryId(0),
      run_id: runIds[0],
      session_id: anyText(),
      name: "a run",
      has_error: false,
      reviews: [],
    },
    { completed_at: anyText(), reviews: [{ reviewer: "ann", done_at: anyText() }] },
    { end_time: null, run_type: "chain" },
  ]);
  expect(all[0]).not.toHaveProperty("inputs");
  expect(await list("status=completed")).toEqual([all[1]]);
  expect(await list("limit=1&offset=2")).toEqual([all[2]]);
});

describe("refusals", () => {
  test.each([
    ["no name", {}],
    ["an empty name", { reviewer: "" }],
    ["a name with spaces around it", { reviewer: " ann" }],
    ["a name of 65 characters", { reviewer: "a".repeat(65) }],
    ["a control character", { reviewer: "a\u0000b" }],
    ["half a character", { reviewer: "a\ud800" }],
    ["two places", { reviewer: "a", after: randomUUID(), before: randomUUID() }],
    ["no UUID", { reviewer: "a", after: "1" }],
  ])("a claim with %s is 422", async (_title, body) => {
    const { server, id } = await queueOf(0);
    expect(await call(server, `POST /ui/annotation-queues/${id}/claim`, { body })).toMatchObject({
      status: 422,
    });
  });

  test("a missing queue or run is 404, and a reviewer's name may be in any script", async () => {
    const { server, claim, act } = await queueOf(1);
    const path = `/ui/annotation-queues/${randomUUID()}`;
    const body = { reviewer: "ann" };
    expect((await call(server, `POST ${path}/claim`, { body })).status).toBe(404);
    expect((await call(server, `GET ${path}/progress`)).status).toBe(404);
    for (const what of ["done", "release", "reopen"] as const) {
      expect((await act(what, randomUUID(), body)).status).toBe(404);
    }
    expect((await claim("Ænne 你好 😀")).json).toMatchObject({
      run: { reviews: [{ reviewer: "Ænne 你好 😀" }] },
    });
  });

  test.each([
    { num_reviewers_per_item: 0 },
    { num_reviewers_per_item: 101 },
    { reservation_minutes: 0 },
    { reservation_minutes: 1_441 },
  ])("a queue with %j is 422", async (fields) => {
    const server = await runServer();
    const body = { name: "q", ...fields };
    expect((await call(server, "POST /annotation-queues", { body })).status).toBe(422);
  });

  test("another tenant's queue does not exist", async () => {
    const { me, you } = await twoTenants();
    const { json } = await me("POST /annotation-queues", { name: "mine" });
    const path = `/ui/annotation-queues/${textOf(json["id"])}`;
    expect((await you(`POST ${path}/claim`, { reviewer: "you" })).status).toBe(404);
    expect((await you(`GET ${path}/progress`)).status).toBe(404);
    expect((await you("GET /ui/annotation-queues")).json).toEqual([]);
    expect((await me(`POST ${path}/claim`, { reviewer: "me" })).json).toEqual({ run: null });
  });
});
