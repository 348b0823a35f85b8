import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { AnnotationQueues } from "../../src/api/annotation-queues.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const wireQueue = { id, tenant_id: "t", name: "q", queue_type: "single", description: null };
const wireRun = { id: other, name: "r", run_type: "chain", queue_run_id: id, added_at: "t" };

const queuesAt = (endpoint: string): AnnotationQueues =>
  new AnnotationQueues(createTestHttp(endpoint).http.call);

const queryOf = (target: string): URLSearchParams =>
  new URL(target.split(" ")[1] ?? "", "http://host.test").searchParams;

describe("requests", () => {
  test("create sends its arguments with a generated id, and again after a lost response", async () => {
    const statuses = [200, 502, 200];
    const server = await mswServer(
      on.post("*/annotation-queues", () =>
        HttpResponse.json(wireQueue, { status: statuses.shift() ?? 500 }),
      ),
    );
    const queues = queuesAt(server.endpoint);
    await queues.create({ name: "q" });
    await queues.create({
      name: "<b>\r\nx: '; DROP TABLE queues",
      description: "d",
      rubricInstructions: "Be kind",
      rubricItems: [
        {
          feedbackKey: "k",
          description: "d",
          isRequired: true,
          scoreDescriptions: { "1": "good" },
        },
      ],
      defaultDatasetId: other,
      metadata: { keptAsIs: 1 },
    });
    const [first, second, third] = server.requests;
    expect(first).toMatchObject({ target: "POST /annotation-queues" });
    expect(first?.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      name: "q",
    });
    expect(second?.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      name: "<b>\r\nx: '; DROP TABLE queues",
      description: "d",
      rubric_instructions: "Be kind",
      rubric_items: [
        {
          feedback_key: "k",
          description: "d",
          is_required: true,
          score_descriptions: { "1": "good" },
        },
      ],
      default_dataset: other,
      metadata: { keptAsIs: 1 },
    });
    expect(third?.body).toEqual(second?.body);
  });

  test("a limit of 250 is three pages, none longer than 100", async () => {
    const stored = Array.from({ length: 300 }, () => ({ ...wireQueue, id: randomUUID() }));
    const server = await mswServer(
      on.get("*/annotation-queues", ({ request }) => {
        const { searchParams } = new URL(request.url);
        const offset = Number(searchParams.get("offset"));
        return HttpResponse.json(stored.slice(offset, offset + Number(searchParams.get("limit"))));
      }),
    );
    const found = await queuesAt(server.endpoint).list({ limit: 250 }).toArray();
    expect(found).toHaveLength(250);
    const pages = server.requests.map(({ target }) => [...queryOf(target).values()]);
    expect(pages).toEqual([
      ["100", "0"],
      ["100", "99"],
      ["52", "198"],
    ]);
  });

  test("every filter of list is a separate query parameter", async () => {
    const server = await mswServer(on.get("*/annotation-queues", () => HttpResponse.json([])));
    const queues = queuesAt(server.endpoint);
    const filter = { ids: [id, other], name: "n&m", nameContains: "n", defaultDatasetId: id };
    await queues.list(filter).toArray();
    expect([...queryOf(server.requests[0]?.target ?? "")]).toEqual([
      ["ids", id],
      ["ids", other],
      ["name", "n&m"],
      ["name_contains", "n"],
      ["dataset_id", id],
      ["limit", "100"],
      ["offset", "0"],
    ]);
    expect(await queues.list({ ids: [] }).toArray()).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  test("update sends its arguments, including null, and returns nothing", async () => {
    const server = await mswServer(on.patch("*/annotation-queues/*", () => HttpResponse.json({})));
    const queues = queuesAt(server.endpoint);
    expect(await queues.update(id, { name: "n", description: null, rubricItems: null })).toBe(
      undefined,
    );
    expect(server.requests).toMatchObject([
      {
        target: `PATCH /annotation-queues/${id}`,
        body: { name: "n", description: null, rubric_items: null },
      },
    ]);
  });

  test("runs are added by id, or with project and start time; an empty list sends no request", async () => {
    const entry = { id, queue_id: id, run_id: other, added_at: "t", last_reviewed_time: null };
    const server = await mswServer(
      on.post("*/annotation-queues/*", () => HttpResponse.json([entry])),
    );
    const queues = queuesAt(server.endpoint);
    const key = { runId: other, projectId: id, startTime: new Date("2026-11-21T10:11:12Z") };
    const expected = [{ queueRunId: id, queueId: id, runId: other, addedAt: "t" }];
    expect(await queues.addRuns(id, { runIds: [other, id] })).toStrictEqual(expected);
    expect(await queues.addRuns(id, { runs: [key] })).toStrictEqual(expected);
    expect(await queues.addRuns(id, { runIds: [] })).toEqual([]);
    const startTime = "2026-11-21T10:11:12.000Z";
    expect(server.requests).toMatchObject([
      { target: `POST /annotation-queues/${id}/runs`, body: [other, id] },
      {
        target: `POST /annotation-queues/${id}/runs/by-key`,
        body: [{ run_id: other, session_id: id, start_time: startTime }],
      },
    ]);
  });

  test("a queued run is read, listed, reviewed and removed", async () => {
    const server = await mswServer(
      on.get("*/annotation-queues/:id/run/:index", () => HttpResponse.json(wireRun)),
      on.get("*/annotation-queues/:id/runs", () => HttpResponse.json([wireRun])),
      on.get("*/annotation-queues/:id/size", () => HttpResponse.json({ size: 3 })),
      on.patch("*/annotation-queues/:id/runs/:run", () => HttpResponse.json(null)),
      on.delete("*/annotation-queues/:id/runs/:run", () => HttpResponse.json({})),
    );
    const queues = queuesAt(server.endpoint);
    const run = { id: other, name: "r", runType: "chain" };
    const expected = { run, queueRunId: id, addedAt: "t" };
    expect(await queues.readRun(id)).toStrictEqual(expected);
    expect(await queues.readRun(id, { index: 7 })).toStrictEqual(expected);
    expect(await queues.listRuns(id, { status: "completed", limit: 5 }).toArray()).toEqual([
      expected,
    ]);
    expect(await queues.size(id)).toBe(3);
    const place = { queueRunId: other };
    await queues.updateRun(id, { ...place, lastReviewedTime: new Date(0) });
    await queues.updateRun(id, { ...place, lastReviewedTime: null, addedAt: "2026-11-21" });
    await queues.removeRun(id, place);
    expect(server.requests.map(({ target }) => target)).toEqual([
      `GET /annotation-queues/${id}/run/0`,
      `GET /annotation-queues/${id}/run/7`,
      `GET /annotation-queues/${id}/runs?status=completed&limit=5&offset=0`,
      `GET /annotation-queues/${id}/size`,
      `PATCH /annotation-queues/${id}/runs/${other}`,
      `PATCH /annotation-queues/${id}/runs/${other}`,
      `DELETE /annotation-queues/${id}/runs/${other}`,
    ]);
    expect(server.requests[4]?.body).toEqual({ last_reviewed_time: "1970-01-01T00:00:00.000Z" });
    expect(server.requests[5]?.body).toEqual({
      last_reviewed_time: null,
      added_at: "2026-11-21T00:00:00Z",
    });
  });
});

describe("responses", () => {
  test("a queue has its rubric with this client's field names", async () => {
    const item = { feedback_key: "k", value_descriptions: { a: "A" }, is_required: null };
    const server = await mswServer(
      on.get("*/annotation-queues/:id", () =>
        HttpResponse.json({
          ...wireQueue,
          rubric_items: [item],
          rubric_instructions: "i",
          metadata: { a: 1 },
        }),
      ),
    );
    expect(await queuesAt(server.endpoint).read(id)).toStrictEqual({
      id,
      tenantId: "t",
      name: "q",
      rubricInstructions: "i",
      rubricItems: [{ feedbackKey: "k", valueDescriptions: { a: "A" } }],
      metadata: { a: 1 },
    });
  });

  test("a missing queue is reported with the message of the product specification", async () => {
    const server = await mswServer(
      on.all("*/annotation-queues/*", () => HttpResponse.json({ detail: "no" }, { status: 404 })),
    );
    const queues = queuesAt(server.endpoint);
    const calls = [
      queues.read(id),
      queues.update(id, { name: "n" }),
      queues.delete(id),
      queues.size(id),
      queues.listRuns(id).toArray(),
    ];
    const message = `Annotation queue with ID ${id} not found. Check the id (client.annotationQueues.list()), the endpoint and the tenant of the key`;
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ reason: { code: "NOT_FOUND", status: 404, message } })),
    );
    // Here the run may be missing instead of the queue; the server's own message says which.
    await expect(queues.readRun(id)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        "Failed to read run of annotation queue: 404 no. Check the id or name, the endpoint and the tenant of the key",
    });
  });

  test("a response that is not a queue is a ResponseError", async () => {
    const server = await mswServer(
      on.all("*/annotation-queues/*", () => HttpResponse.json({ id })),
      on.get("*/annotation-queues", () => HttpResponse.json({})),
    );
    const queues = queuesAt(server.endpoint);
    const calls = [
      queues.read(id),
      queues.readRun(id),
      queues.size(id),
      queues.list().toArray(),
      queues.listRuns(id).toArray(),
      queues.addRuns(id, { runIds: [id] }),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ reason: { code: "ANSWER" } })),
    );
  });
});
