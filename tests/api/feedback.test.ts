import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { Feedbacks } from "../../src/api/feedback.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const wireFeedback = { id, key: "k", run_id: other, feedback_source: { type: "api" } };
const wireToken = { id, url: "http://t.test/x", expires_at: "2030-01-01T00:00:00Z" };

const feedbackAt = (endpoint: string): Feedbacks =>
  new Feedbacks(createTestHttp(endpoint).http.call, noUploads);

describe("requests", () => {
  test("create sends its arguments, with a generated id", async () => {
    const server = await mswServer(on.post("*/feedback", () => HttpResponse.json(wireFeedback)));
    const feedback = feedbackAt(server.endpoint);
    await feedback.create({ runId: other, key: "k", score: false });
    await feedback.create({
      id,
      projectId: other,
      key: "k\r\nx-injected: 1",
      score: 0.5,
      value: { a: [null, "\u0000"] },
      comment: "<b>'; DROP TABLE feedback; --\ud800",
      correction: { right: true },
      feedbackConfig: { type: "continuous", min: 0, max: 1 },
      sourceType: "model",
      sourceMetadata: { model: "m" },
      sourceRunId: id,
      comparativeExperimentId: id,
      createdAt: "2024-05-01T00:00:00.000001Z",
    });
    await feedback.create({
      runId: other,
      key: "k",
      traceId: id,
      runProjectId: id,
      runStartTime: "2026-11-21T10:11:12.123456Z",
    });
    const [first, second, third] = server.requests;
    expect(first).toMatchObject({ target: "POST /feedback" });
    expect(first?.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/) as unknown,
      run_id: other,
      key: "k",
      score: false,
      feedback_source: { type: "api", metadata: {} },
    });
    const config = { type: "continuous", min: 0, max: 1 };
    expect(second?.body).toEqual({
      id,
      run_id: null,
      key: "k\r\nx-injected: 1",
      score: 0.5,
      value: { a: [null, "\u0000"] },
      comment: "<b>'; DROP TABLE feedback; --\ud800",
      correction: { right: true },
      feedback_config: config,
      feedbackConfig: config,
      feedback_source: { type: "model", metadata: { model: "m", __run: { run_id: id } } },
      comparative_experiment_id: id,
      session_id: other,
      created_at: "2024-05-01T00:00:00.000001Z",
    });
    expect(second?.headers.get("x-injected")).toBeNull();
    expect(third?.body).toMatchObject({
      trace_id: id,
      session_id: id,
      start_time: "2026-11-21T10:11:12.123456Z",
    });
  });

  test("a create whose response is lost is sent again with the same id", async () => {
    let tries = 0;
    const server = await mswServer(
      on.post("*/feedback", () => {
        tries += 1;
        return tries === 1
          ? HttpResponse.json({ detail: "later" }, { status: 502 })
          : HttpResponse.json(wireFeedback);
      }),
    );
    await feedbackAt(server.endpoint).create({ runId: other, key: "k" });
    const ids = server.requests.map(({ body }) => (body as { readonly id: string }).id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test("every filter of list is a separate query parameter", async () => {
    const server = await mswServer(on.get("*/feedback", () => HttpResponse.json([])));
    const filter = {
      runIds: [id, other],
      projectIds: [id],
      keys: ["a&b", "c"],
      sourceTypes: ["api", "auto_eval"],
      level: "project",
      hasScore: true,
      hasComment: false,
      comparativeExperimentId: other,
      minCreatedAt: new Date("2026-11-21T10:11:12Z"),
      maxCreatedAt: "2026-11-22T00:00:00.000001Z",
    } as const;
    await feedbackAt(server.endpoint).list(filter).toArray();
    const query = new URL(server.requests[0]?.target.slice(4) ?? "", server.endpoint).searchParams;
    expect([...query]).toEqual([
      ["run", id],
      ["run", other],
      ["session", id],
      ["key", "a&b"],
      ["key", "c"],
      ["source", "api"],
      ["source", "auto_eval"],
      ["level", "session"],
      ["has_score", "true"],
      ["has_comment", "false"],
      ["comparative_experiment_id", other],
      ["min_created_at", "2026-11-21T10:11:12.000Z"],
      ["max_created_at", "2026-11-22T00:00:00.000001Z"],
      ["limit", "100"],
      ["offset", "0"],
    ]);
  });

  test("more runs than fit into one URL take several requests, up to the limit", async () => {
    const server = await mswServer(
      on.get("*/feedback", ({ request }) => {
        const { searchParams } = new URL(request.url);
        const [offset, limit] = [searchParams.get("offset"), searchParams.get("limit")].map(Number);
        // Each run has one feedback, with the id of the run.
        const ids = searchParams.getAll("run").slice(offset, (offset ?? 0) + (limit ?? 0));
        return HttpResponse.json(ids.map((runId) => ({ ...wireFeedback, id: runId })));
      }),
    );
    const feedback = feedbackAt(server.endpoint);
    const runIds = Array.from({ length: 250 }, () => randomUUID());
    expect(await feedback.list({ runIds, limit: 120 }).toArray()).toHaveLength(120);
    const queries = server.requests.map(
      ({ target }) => new URL(target.slice(4), server.endpoint).searchParams,
    );
    expect(queries.map((query) => [query.getAll("run").length, query.get("limit")])).toEqual([
      [100, "100"],
      [100, "21"],
      [100, "20"],
    ]);
  });

  test("a list of no runs, keys or sources is empty, and sends no request", async () => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    for (const filter of [{ runIds: [] }, { projectIds: [] }, { keys: [] }, { sourceTypes: [] }]) {
      expect(await feedback.list(filter).toArray()).toEqual([]);
    }
    expect(server.requests).toEqual([]);
  });

  test("update sends its arguments, including null", async () => {
    const server = await mswServer(on.patch("*/feedback/*", () => HttpResponse.json(wireFeedback)));
    await feedbackAt(server.endpoint).update(id, { score: null, comment: "c" });
    expect(server.requests).toMatchObject([
      { target: `PATCH /feedback/${id}`, body: { score: null, comment: "c" } },
    ]);
  });

  test("a token lasts three hours, or as long as requested", async () => {
    const server = await mswServer(
      on.post("*/feedback/tokens", () => HttpResponse.json({ ...wireToken, feedback_key: "k" })),
    );
    const feedback = feedbackAt(server.endpoint);
    const at = "2099-01-01T00:00:00.000Z";
    const token = await feedback.createToken(other, "k");
    await feedback.createToken(other, "k", { expiration: { days: 1, minutes: 5 } });
    await feedback.createToken(other, "k", {
      expiration: at,
      feedbackConfig: { type: "freeform" },
    });
    await feedback.createToken(other, "k", { expiration: new Date(at) });
    const body = { run_id: other, feedback_key: "k" };
    expect(server.requests.map((request) => request.body)).toEqual([
      { ...body, expires_in: { days: 0, hours: 3, minutes: 0 } },
      { ...body, expires_in: { days: 1, hours: 0, minutes: 5 } },
      { ...body, expires_at: at, feedback_config: { type: "freeform" } },
      { ...body, expires_at: at },
    ]);
    expect(token).toEqual({
      id,
      url: "http://t.test/x",
      expiresAt: "2030-01-01T00:00:00Z",
      feedbackKey: "k",
    });
  });

  test("several tokens take one request and are returned in order; none take no request", async () => {
    const server = await mswServer(
      on.post("*/feedback/tokens", async ({ request }) => {
        const body = (await request.json()) as readonly object[];
        return HttpResponse.json(body.map((one) => ({ ...wireToken, ...one })));
      }),
    );
    const feedback = feedbackAt(server.endpoint);
    const requests = ["a", "b"].map((feedbackKey) => ({ runId: id, feedbackKey }));
    const tokens = await feedback.createTokens(requests);
    expect(tokens.map(({ feedbackKey }) => feedbackKey)).toEqual(["a", "b"]);
    expect(await feedback.createTokens([])).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  test("the tokens of a run take one request, however many there are", async () => {
    const tokens = Array.from({ length: 150 }, () => ({ ...wireToken, feedback_key: "k" }));
    const server = await mswServer(on.get("*/feedback/tokens", () => HttpResponse.json(tokens)));
    expect(await feedbackAt(server.endpoint).listTokens(id).toArray()).toHaveLength(150);
    expect(server.requests.map(({ target }) => target)).toEqual([
      `GET /feedback/tokens?run_id=${id}`,
    ]);
  });
});

describe("responses", () => {
  test("null fields are absent", async () => {
    const wire = { ...wireFeedback, score: null, value: null, correction: null, comment: null };
    const full = {
      ...wire,
      score: true,
      value: [1],
      correction: "c",
      comment: "",
      session_id: id,
      created_at: "t",
    };
    const answers = [wire, full];
    const server = await mswServer(
      on.get("*/feedback/:id", () => HttpResponse.json(answers.shift())),
    );
    const feedback = feedbackAt(server.endpoint);
    const common = { id, key: "k", runId: other, source: { type: "api", metadata: {} } };
    expect(await feedback.read(id)).toStrictEqual(common);
    expect(await feedback.read(id)).toStrictEqual({
      ...common,
      score: true,
      value: [1],
      correction: "c",
      comment: "",
      projectId: id,
      createdAt: "t",
    });
  });

  test("a response that is not feedback is a ResponseError", async () => {
    const answers: readonly unknown[] = [null, [], {}, { ...wireFeedback, key: 7 }];
    const rest = [...answers];
    const server = await mswServer(
      on.get("*/feedback/:id", () => HttpResponse.json(rest.shift() as null)),
    );
    const feedback = feedbackAt(server.endpoint);
    for (const _answer of answers) {
      await expect(feedback.read(id)).rejects.toMatchObject({ code: "ANSWER" });
    }
  });

  test("a delete whose first response is lost succeeds, and one of missing feedback is not found", async () => {
    const statuses = [502, 404, 404];
    const server = await mswServer(
      on.delete("*/feedback/:id", () => HttpResponse.json({}, { status: statuses.shift() ?? 500 })),
    );
    const feedback = feedbackAt(server.endpoint);
    expect(await feedback.delete(id)).toBeUndefined();
    await expect(feedback.delete(id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
