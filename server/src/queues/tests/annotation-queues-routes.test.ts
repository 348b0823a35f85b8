import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { anyText, containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { multipart, multipartType, wireRun } from "../../../tests/support/wire-runs.ts";

const hostile =
  "<script>alert(1)</script>'; DROP TABLE annotation_queues; --\"\r\nx-injected: 1\u0000 \ud800 😀";

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);
const listOf = (json: Json): readonly Json[] => json as unknown as readonly Json[];

type Server = Awaited<ReturnType<typeof runServer>>;

async function sendRuns(server: Server, count: number): Promise<readonly string[]> {
  const post = Array.from({ length: count }, () => wireRun({ session_name: "p" }));
  await call(server, "POST /runs/batch", { body: { post } });
  return post.map(({ id }) => id);
}

async function makeQueue(server: Server, name = "q"): Promise<string> {
  const { json } = await call(server, "POST /annotation-queues", { body: { name } });
  return textOf(json["id"]);
}

/** The runs of a queue, as their indexes in `ids`. */
async function orderOf(
  server: Server,
  path: string,
  ids: readonly string[],
): Promise<readonly number[]> {
  const { json } = await call(server, `GET ${path}`);
  return listOf(json).map((run) => ids.indexOf(textOf(run["id"])));
}

describe("queues", () => {
  test("a queue is created, read, updated and deleted; its texts stay unchanged", async () => {
    const server = await runServer();
    const body = {
      id: randomUUID(),
      name: hostile,
      description: hostile,
      rubric_instructions: hostile,
      rubric_items: [
        { feedback_key: hostile, description: hostile, value_descriptions: { [hostile]: hostile } },
      ],
      metadata: { [hostile]: [hostile] },
      num_reviewers_per_item: 2,
    };
    const created = await call(server, "POST /api/v1/annotation-queues", { body });
    expect(created).toMatchObject({
      status: 200,
      json: {
        ...body,
        tenant_id: anyText(),
        queue_type: "single",
        default_dataset: null,
        total_runs: 0,
        enable_reservations: true,
        created_at: anyText(),
        updated_at: anyText(),
      },
    });
    const path = `/annotation-queues/${body.id}`;
    expect((await call(server, `GET ${path}`)).json).toEqual(created.json);
    expect((await call(server, "GET /annotation-queues")).json).toEqual([created.json]);
    const changes = { name: "n", description: null, rubric_items: null, reservation_minutes: 5 };
    const changed = await call(server, `PATCH ${path}`, {
      body: { ...changes, metadata: { __missing__: "__missing__" } },
    });
    expect(changed).toMatchObject({ status: 200, json: { ...body, ...changes } });
    expect((await call(server, `GET ${path}`)).json).toEqual(changed.json);
    expect(await call(server, `DELETE ${path}`)).toMatchObject({ status: 200, json: {} });
    const detail = `Annotation queue with ID ${body.id} not found`;
    const missing = [
      call(server, `GET ${path}`),
      call(server, `PATCH ${path}`, { body: changes }),
      call(server, `DELETE ${path}`),
      call(server, `GET ${path}/size`),
      call(server, `GET ${path}/runs`),
      call(server, `GET ${path}/run/0`),
      call(server, `POST ${path}/runs`, { body: [] }),
      call(server, `PATCH ${path}/runs/${body.id}`, { body: {} }),
      call(server, `DELETE ${path}/runs/${body.id}`),
    ];
    for (const response of await Promise.all(missing)) {
      expect(response).toMatchObject({ status: 404, json: { detail } });
    }
  });

  test("repeating a post changes nothing; a different queue with the same id is a conflict", async () => {
    const server = await runServer();
    const body = { id: randomUUID(), name: "q" };
    const created = await call(server, "POST /annotation-queues", { body });
    await call(server, `PATCH /annotation-queues/${body.id}`, { body: { name: "renamed" } });
    expect((await call(server, "POST /annotation-queues", { body })).json).toMatchObject({
      name: "renamed",
      created_at: created.json["created_at"],
    });
    const other = { ...body, description: "d" };
    expect(await call(server, "POST /annotation-queues", { body: other })).toMatchObject({
      status: 409,
      json: { detail: `Annotation queue ${body.id} already exists with different content.` },
    });
  });

  test("a list applies its filters and its order, page by page", async () => {
    const server = await runServer();
    const names = ["b", "Ab", "c"];
    const ids: string[] = [];
    for (const [day, name] of names.entries()) {
      const body = { name, created_at: `2026-01-0${day + 1}T00:00:00Z` };
      ids.push(textOf((await call(server, "POST /annotation-queues", { body })).json["id"]));
    }
    const list = async (query: string): Promise<readonly unknown[]> =>
      listOf((await call(server, `GET /annotation-queues?${query}`)).json).map(
        (one) => one["name"],
      );
    expect(await list("")).toEqual(["c", "Ab", "b"]);
    expect(await list("sort_by_desc=false&limit=2&offset=1")).toEqual(["Ab", "c"]);
    expect(await list("sort_by=name&sort_by_desc=false")).toEqual(["Ab", "b", "c"]);
    expect(await list("name=b")).toEqual(["b"]);
    expect(await list("name_contains=B")).toEqual(["Ab", "b"]);
    expect(await list(`ids=${ids[0]}&ids=${ids[2]}`)).toEqual(["c", "b"]);
    expect(await list(`dataset_id=${randomUUID()}`)).toEqual([]);
  });

  test("several queues are deleted at once; the response lists those that did not exist", async () => {
    const server = await runServer();
    const ids = [await makeQueue(server), await makeQueue(server), await makeQueue(server)];
    const missing = randomUUID();
    const path = (some: readonly string[]): string =>
      `DELETE /annotation-queues?${some.map((id) => `queue_ids=${id}`).join("&")}`;
    expect(await call(server, path(ids.slice(0, 1)))).toMatchObject({
      status: 200,
      json: { deleted: [ids[0]], not_found: [] },
    });
    expect(await call(server, path([ids[1] ?? "", missing]))).toMatchObject({
      status: 207,
      json: { deleted: [ids[1]], not_found: [missing] },
    });
    expect((await call(server, path([missing]))).status).toBe(404);
    expect((await call(server, "DELETE /annotation-queues")).status).toBe(422);
    expect((await call(server, path(Array.from({ length: 101 }, () => missing)))).status).toBe(422);
    expect((await call(server, "GET /annotation-queues")).json).toMatchObject([{ id: ids[2] }]);
  });
});

describe("runs in a queue", () => {
  test("are listed in the order in which they were added, each once, and are removed one by one", async () => {
    const server = await runServer();
    const ids = await sendRuns(server, 4);
    const path = `/annotation-queues/${await makeQueue(server)}`;
    const [one = "", two = "", three = "", four = ""] = ids;
    const added = await call(server, `POST ${path}/runs`, { body: [three, one, three] });
    expect(added).toMatchObject({
      status: 200,
      json: [
        { id: anyText(), run_id: three, last_reviewed_time: null, added_at: anyText() },
        { run_id: one },
      ],
    });
    const again = await call(server, `POST ${path}/runs`, { body: [two, three] });
    expect(again.json[1]).toEqual(added.json[0]);
    const { json: run } = await call(server, `GET /runs/${four}`);
    const key = { run_id: four, session_id: run["session_id"], start_time: run["start_time"] };
    expect((await call(server, `POST ${path}/runs/by-key`, { body: [key] })).status).toBe(200);
    expect(await orderOf(server, `${path}/runs`, ids)).toEqual([2, 0, 1, 3]);
    expect(await orderOf(server, `${path}/runs?limit=2&offset=1`, ids)).toEqual([0, 1]);
    expect((await call(server, `GET ${path}/size`)).json).toEqual({ size: 4 });
    expect((await call(server, `GET ${path}`)).json).toMatchObject({ total_runs: 4 });

    const first = await call(server, `GET ${path}/run/0`);
    expect(first.json).toMatchObject({
      id: three,
      name: "a run",
      dotted_order: anyText(),
      queue_run_id: added.json[0]?.["id"],
      added_at: added.json[0]?.["added_at"],
      last_reviewed_time: null,
    });
    const place = `${path}/runs/${textOf(first.json["queue_run_id"])}`;
    expect((await call(server, `DELETE ${place}`)).status).toBe(200);
    expect((await call(server, `DELETE ${place}`)).status).toBe(404);
    expect((await call(server, `GET ${path}/run/0`)).json).toMatchObject({ id: one });
    expect(await call(server, `GET ${path}/run/3`)).toMatchObject({
      status: 404,
      json: { detail: "There is no run at index 3: the queue has 3 runs" },
    });
    expect((await call(server, `GET /runs/${three}`)).status).toBe(200);
    await call(server, `POST ${path}/runs`, { body: [three] });
    expect(await orderOf(server, `${path}/runs`, ids)).toEqual([0, 1, 3, 2]);
  });

  test("a review is stored, and a later added_at moves the run back", async () => {
    const server = await runServer();
    const ids = await sendRuns(server, 2);
    const path = `/annotation-queues/${await makeQueue(server)}`;
    const { json } = await call(server, `POST ${path}/runs`, { body: ids });
    const place = `${path}/runs/${textOf(json[0]?.["id"])}`;
    const last_reviewed_time = "2026-11-21T10:11:12.123456Z";
    const patched = await call(server, `PATCH ${place}`, { body: { last_reviewed_time } });
    expect(patched.json).toMatchObject({ ...(json[0] as object), last_reviewed_time });
    expect((await call(server, `GET ${path}/run/0`)).json).toMatchObject({ last_reviewed_time });
    const bySize = async (status: string): Promise<Json> =>
      (await call(server, `GET ${path}/size?status=${status}`)).json;
    expect(await bySize("completed")).toEqual({ size: 1 });
    expect(await bySize("needs_my_review")).toEqual({ size: 1 });
    expect(await bySize("needs_others_review")).toEqual({ size: 0 });
    expect(await orderOf(server, `${path}/runs?status=completed`, ids)).toEqual([0]);
    expect(await orderOf(server, `${path}/runs?status=needs_my_review`, ids)).toEqual([1]);
    expect(await orderOf(server, `${path}/runs?status=needs_others_review`, ids)).toEqual([]);
    await call(server, `PATCH ${place}`, { body: { added_at: "2099-01-01T00:00:00Z" } });
    expect(await orderOf(server, `${path}/runs`, ids)).toEqual([1, 0]);
    const cleared = await call(server, `PATCH ${place}`, {
      body: { last_reviewed_time: null, added_at: null },
    });
    expect(cleared.json).toMatchObject({
      last_reviewed_time: null,
      added_at: "2099-01-01T00:00:00.000000Z",
    });
    // A run that is added later still comes last.
    const [late = ""] = await sendRuns(server, 1);
    await call(server, `POST ${path}/runs`, { body: [late] });
    expect(await orderOf(server, `${path}/runs`, [...ids, late])).toEqual([1, 0, 2]);
  });

  test("unknown runs are listed in the error, and no run is added", async () => {
    const server = await runServer();
    const [known = ""] = await sendRuns(server, 1);
    const path = `/annotation-queues/${await makeQueue(server)}`;
    const unknown = [randomUUID(), randomUUID()];
    expect(await call(server, `POST ${path}/runs`, { body: [known, ...unknown] })).toMatchObject({
      status: 404,
      json: { detail: `Runs not found: ${unknown.join(", ")}` },
    });
    const many = Array.from({ length: 30 }, () => randomUUID());
    expect((await call(server, `POST ${path}/runs`, { body: many })).json).toMatchObject({
      detail: containing(" and 10 more"),
    });
    const key = { run_id: known, session_id: randomUUID(), start_time: "2026-01-01T00:00:00Z" };
    expect((await call(server, `POST ${path}/runs/by-key`, { body: [key] })).status).toBe(404);
    expect((await call(server, `GET ${path}/size`)).json).toEqual({ size: 0 });
  });

  test("a run lists its queues; deleting a queue or project removes its entries", async () => {
    const server = await runServer();
    const [run = "", other = ""] = await sendRuns(server, 2);
    const queues = [await makeQueue(server, "a"), await makeQueue(server, "b")];
    for (const queue of queues) {
      await call(server, `POST /annotation-queues/${queue}/runs`, { body: [run] });
    }
    const queuesOf = async (id: string): Promise<readonly unknown[]> =>
      listOf((await call(server, `GET /annotation-queues/${id}/queues`)).json).map(
        (one) => one["name"],
      );
    expect(await queuesOf(run)).toEqual(["b", "a"]);
    expect(await queuesOf(other)).toEqual([]);
    await call(server, `DELETE /annotation-queues/${queues[0]}`);
    expect(await queuesOf(run)).toEqual(["b"]);
    expect((await call(server, `GET /annotation-queues/${randomUUID()}/queues`)).status).toBe(404);
    const { json } = await call(server, `GET /runs/${run}`);
    await call(server, `DELETE /sessions/${textOf(json["session_id"])}`);
    expect((await call(server, `GET /annotation-queues/${queues[1]}/size`)).json).toEqual({
      size: 0,
    });
  });
});

test("a queued run includes its feedback and attachment URLs, like the run itself", async () => {
  const server = await runServer();
  const run = wireRun();
  const parts = [
    { name: `post.${run.id}`, body: JSON.stringify(run) },
    { name: `attachment.${run.id}.page`, body: "<b>", contentType: "text/html" },
    { name: `feedback.${run.id}`, body: JSON.stringify({ key: "k", score: 1 }) },
  ];
  const headers = { "content-type": multipartType };
  await call(server, "POST /runs/multipart", { body: multipart(parts), headers });
  const path = `/annotation-queues/${await makeQueue(server)}`;
  await call(server, `POST ${path}/runs`, { body: [run.id] });
  const { json } = await call(server, `GET ${path}/run/0`);
  expect(json["feedback_stats"]).toEqual({ k: { n: 1, avg: 1, values: {} } });
  const response = await fetch(textOf(json["s3_urls"]?.["attachment.page"]?.["presigned_url"]));
  expect(await response.text()).toBe("<b>");
});
