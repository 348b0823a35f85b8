import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";
import { containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

test("malformed queues, runs, entries and filters are rejected with 422", async () => {
  const server = await runServer();
  const id = randomUUID();
  const path = `/annotation-queues/${id}`;
  const bodies = [
    {},
    { name: "" },
    { name: 1 },
    { name: "q", id: "x" },
    { name: "q", default_dataset: "x" },
    { name: "q", description: 1 },
    { name: "q", rubric_items: [{}] },
    { name: "q", rubric_items: {} },
    { name: "q", metadata: [] },
    { name: "q", created_at: "soon" },
    [],
    null,
  ];
  const targets: readonly (readonly [string, unknown?])[] = [
    ...bodies.map((body) => ["POST /annotation-queues", body] as const),
    ...["limit=0", "limit=101", "limit=-1", "limit=NaN", "offset=-1", "ids=x", "dataset_id=x"].map(
      (query) => [`GET /annotation-queues?${query}`] as const,
    ),
    ["GET /annotation-queues?sort_by=id"],
    ["GET /annotation-queues?sort_by_desc=perhaps"],
    ["DELETE /annotation-queues?queue_ids=x"],
    ["GET /annotation-queues/x"],
    ["PATCH /annotation-queues/x", {}],
    [`PATCH ${path}`, { name: 1 }],
    [`PATCH ${path}`, { name: "" }],
    ["DELETE /annotation-queues/x"],
    ["GET /annotation-queues/x/queues"],
    ["GET /annotation-queues/x/size"],
    [`GET ${path}/size?status=done`],
    [`GET ${path}/runs?limit=101`],
    [`GET ${path}/runs?status=done`],
    [`GET ${path}/run/-1`],
    [`GET ${path}/run/1.5`],
    [`GET ${path}/run/NaN`],
    [`GET ${path}/run/1e3`],
    [`POST ${path}/runs`, {}],
    [`POST ${path}/runs`, ["x"]],
    [`POST ${path}/runs`, [1]],
    [`POST ${path}/runs/by-key`, [{ session_id: id }]],
    [`POST ${path}/runs/by-key`, [{ run_id: id, session_id: "x" }]],
    [`PATCH ${path}/runs/x`, {}],
    [`PATCH ${path}/runs/${id}`, { last_reviewed_time: "soon" }],
    [`PATCH ${path}/runs/${id}`, { added_at: true }],
    [`DELETE ${path}/runs/x`],
  ];
  for (const [target, body] of targets) {
    const { status, text } = await call(server, target, { body });
    expect([target, body, status, text]).toEqual([target, body, 422, containing('"detail"')]);
  }
  expect((await call(server, "GET /annotation-queues")).json).toEqual([]);
});

test("rows of another tenant can be neither read nor written", async () => {
  const { me, you } = await twoTenants();
  const run = wireRun();
  await me("POST /runs", run);
  const dataset = (await me("POST /datasets", { name: "d" })).json["id"];
  const body = { name: "q", default_dataset: dataset };
  const { json } = await me("POST /annotation-queues", body);
  expect(json).toMatchObject(body);
  const path = `/annotation-queues/${textOf(json["id"])}`;
  const added = await me(`POST ${path}/runs`, [run.id]);
  const place = `${path}/runs/${textOf(added.json[0]?.["id"])}`;
  const own = textOf((await you("POST /annotation-queues", { name: "mine" })).json["id"]);
  const responses = [
    await you(`GET ${path}`),
    await you(`PATCH ${path}`, { name: "taken over" }),
    await you(`DELETE ${path}`),
    await you(`DELETE /annotation-queues?queue_ids=${textOf(json["id"])}`),
    await you(`GET ${path}/runs`),
    await you(`GET ${path}/run/0`),
    await you(`GET ${path}/size`),
    await you(`POST ${path}/runs`, []),
    await you(`PATCH ${place}`, { last_reviewed_time: null }),
    await you(`DELETE ${place}`),
    await you(`POST /annotation-queues/${own}/runs`, [run.id]),
    await you(`GET /annotation-queues/${run.id}/queues`),
    await you("POST /annotation-queues", body),
    await you(`PATCH /annotation-queues/${own}`, { default_dataset: dataset }),
  ];
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 404));
  expect((await you("GET /annotation-queues")).json).toMatchObject([{ id: own }]);
  expect((await me(`GET ${path}`)).json).toMatchObject({ ...body, total_runs: 1 });
});
