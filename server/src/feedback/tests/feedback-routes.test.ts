import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { anyText, containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { multipart, multipartType, wireRun } from "../../../tests/support/wire-runs.ts";

/** Texts that must be returned unchanged. */
const hostile =
  "<script>alert(1)</script>'; DROP TABLE feedback; --\"\r\nx-injected: 1\u0000 \ud800 😀";

const idsOf = (json: Json): readonly unknown[] =>
  (json as unknown as readonly Json[]).map((one) => one["id"]);

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

describe("feedback", () => {
  test("is created, read, updated and deleted; its texts stay unchanged", async () => {
    const server = await runServer();
    const run = wireRun();
    await call(server, "POST /runs", { body: run });
    const body = {
      id: randomUUID(),
      run_id: run.id,
      key: hostile.slice(0, 180),
      score: true,
      value: { deep: [hostile, null, 1.5] },
      comment: hostile,
      correction: { right: hostile },
      feedback_source: {
        type: "model",
        metadata: { __run: { run_id: run.id }, [hostile]: hostile },
      },
      feedback_config: { type: "continuous", min: 0, max: 1, categories: null },
    };
    const created = await call(server, "POST /feedback", { body });
    expect(created).toMatchObject({
      status: 200,
      json: {
        ...body,
        trace_id: run.trace_id,
        session_id: anyText(),
        start_time: "2026-11-21T10:11:12.345678Z",
        is_root: true,
        comparative_experiment_id: null,
        created_at: anyText(),
        modified_at: anyText(),
      },
    });
    const path = `/api/v1/feedback/${body.id}`;
    expect((await call(server, `GET ${path}/`)).json).toEqual(created.json);
    const changes = { score: 0.25, comment: null, correction: hostile };
    const changed = await call(server, `PATCH ${path}`, { body: changes });
    expect(changed.json).toMatchObject({ ...body, ...changes });
    expect(textOf(changed.json["modified_at"]) > textOf(created.json["modified_at"])).toBe(true);
    expect((await call(server, `GET ${path}`)).json).toEqual(changed.json);
    expect(await call(server, `DELETE ${path}`)).toMatchObject({ status: 200, json: {} });
    for (const method of ["GET", "DELETE"]) {
      expect((await call(server, `${method} ${path}`)).status).toBe(404);
    }
    expect((await call(server, `PATCH ${path}`, { body: changes })).status).toBe(404);
  });

  test("is stored once when the post is repeated; different feedback with the same id is a conflict", async () => {
    const server = await runServer();
    const body = { id: randomUUID(), run_id: randomUUID(), key: "k", score: 1 };
    const created = await call(server, "POST /feedback", { body });
    expect((await call(server, "POST /feedback", { body })).json).toEqual(created.json);
    await call(server, `PATCH /feedback/${body.id}`, { body: { score: 0 } });
    const again = await call(server, "POST /feedback", { body });
    expect(again).toMatchObject({ status: 200, json: { score: 0 } });
    expect(await call(server, "POST /feedback", { body: { ...body, score: 2 } })).toMatchObject({
      status: 409,
      json: { detail: `Feedback ${body.id} already exists with different content.` },
    });
    expect(idsOf((await call(server, "GET /feedback")).json)).toEqual([body.id]);
  });

  test("can be sent before its run is received", async () => {
    const server = await runServer();
    const run = wireRun();
    const { json } = await call(server, "POST /feedback", { body: { run_id: run.id, key: "k" } });
    expect(json).toMatchObject({ run_id: run.id, session_id: null, trace_id: null });
    await call(server, "POST /runs", { body: run });
    const read = await call(server, `GET /feedback/${textOf(json["id"])}`);
    expect(read.json).toMatchObject({ session_id: anyText(), trace_id: run.trace_id });
  });

  test("accepts the configuration under the name that clients use", async () => {
    const server = await runServer();
    const feedbackConfig = { type: "categorical", categories: [{ value: 1, label: "good" }] };
    const body = { run_id: randomUUID(), key: "k", feedbackConfig };
    const { json } = await call(server, "POST /feedback", { body });
    expect(json["feedback_config"]).toEqual(feedbackConfig);
  });

  test("is listed by every filter, latest first, page by page", async () => {
    const server = await runServer();
    const { json: project } = await call(server, "POST /sessions", { body: { name: "p" } });
    const run = wireRun({ session_name: "p" });
    await call(server, "POST /runs", { body: run });
    const other = randomUUID();
    const bodies = [
      { run_id: run.id, key: "a,b", score: 1, created_at: "2026-01-01T00:00:00Z" },
      { run_id: run.id, key: "c", comment: "", created_at: "2026-01-02T00:00:00Z" },
      {
        run_id: other,
        key: "c",
        feedback_source: { type: "model" },
        created_at: "2026-01-03T00:00:00Z",
      },
      { session_id: project["id"], key: "c", created_at: "2026-01-04T00:00:00Z" },
    ];
    const ids: unknown[] = [];
    for (const body of bodies) {
      ids.push((await call(server, "POST /feedback", { body })).json["id"]);
    }
    const list = async (query: string): Promise<readonly number[]> =>
      idsOf((await call(server, `GET /feedback?${query}`)).json).map((id) => ids.indexOf(id));
    const session = textOf(project["id"]);
    const expected: readonly (readonly [string, readonly number[]])[] = [
      ["", [3, 2, 1, 0]],
      ["limit=2", [3, 2]],
      ["limit=2&offset=3", [0]],
      [`run=${run.id}`, [1, 0]],
      [`run=${run.id}&run=${other}`, [2, 1, 0]],
      [`run=${run.id},${other.toUpperCase()}`, [2, 1, 0]],
      ["run=", []],
      ["key=a%2Cb", [0]],
      ["key=a%2Cb&key=c", [3, 2, 1, 0]],
      ["source=model", [2]],
      ["source=model&source=api&limit=100", [3, 2, 1, 0]],
      [`session=${session}`, [3, 1, 0]],
      [`session=${session}&level=session`, [3]],
      [`session=${session}&level=run&key=c`, [1]],
      ["level=run", [2, 1, 0]],
      ["has_score=true", [0]],
      ["has_score=false&has_comment=true", [1]],
      ["min_created_at=2026-01-02T00:00:00Z&max_created_at=2026-01-03T00:00:00Z", [2, 1]],
      [`comparative_experiment_id=${other}`, []],
      [`user=${other}`, []],
    ];
    for (const [query, found] of expected) {
      expect([query, await list(query)]).toEqual([query, found]);
    }
  });

  test("with malformed content, filters or ids is rejected with 422", async () => {
    const server = await runServer();
    const run_id = randomUUID();
    const bodies = [
      {},
      { key: "k" },
      { key: "k", run_id: null, session_id: null },
      { key: "", run_id },
      { key: "k".repeat(181), run_id },
      { key: 1, run_id },
      { key: "k", run_id: "x" },
      { key: "k", run_id, id: "x" },
      { key: "k", run_id, session_id: "x" },
      { key: "k", run_id, comparative_experiment_id: "x" },
      { key: "k", run_id, score: "1" },
      { key: "k", run_id, comment: 1 },
      { key: "k", run_id, correction: [] },
      { key: "k", run_id, feedback_source: "api" },
      { key: "k", run_id, feedback_source: { metadata: { __run: { run_id: "x" } } } },
      { key: "k", run_id, feedback_config: { type: "other" } },
      { key: "k", run_id, created_at: "soon" },
      [],
      null,
      `{"key":"k","run_id":"${run_id}","score":1e999}`,
      `{"key":"k","run_id":"${run_id}","value":${"[".repeat(2_000)}${"]".repeat(2_000)}}`,
      '{"key":',
    ];
    const queries = [
      "limit=0",
      "limit=101",
      "limit=-1",
      "limit=NaN",
      "limit=1.5",
      "offset=-1",
      "run=x",
      "session=x",
      "level=trace",
      "has_score=perhaps",
      "comparative_experiment_id=x",
      "min_created_at=soon",
      "user=x",
    ];
    const responses = [
      ...bodies.map((body) => call(server, "POST /feedback", { body })),
      ...queries.map((query) => call(server, `GET /feedback?${query}`)),
      call(server, "GET /feedback/x"),
      call(server, "PATCH /feedback/x", { body: {} }),
      call(server, "DELETE /feedback/x"),
    ];
    for (const { status, text } of await Promise.all(responses)) {
      expect([status, text]).toEqual([422, containing('"detail"')]);
    }
    expect((await call(server, "GET /feedback")).json).toEqual([]);
  });

  test("in parts next to runs is stored with them, each independently", async () => {
    const server = await runServer();
    const run = wireRun();
    const id = randomUUID();
    const feedback = { id, key: "k", score: 0.5, comment: hostile };
    const part = (body: unknown, name = `feedback.${run.id}`) => ({
      name,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const send = (parts: readonly ReturnType<typeof part>[]) =>
      call(server, "POST /runs/multipart", {
        body: multipart(parts),
        headers: { "content-type": multipartType },
      });
    const sent = await send([
      part(run, `post.${run.id}`),
      part(feedback),
      part({ key: "" }),
      part({ key: "k", run_id: randomUUID() }),
      part("{"),
      part(feedback, "feedback.x"),
    ]);
    expect(sent).toMatchObject({ status: 202, json: { accepted: 2, duplicates: 0 } });
    expect(sent.json["rejected"]).toMatchObject([
      { id: run.id, operation: null, reason: containing("is not valid feedback: /key") },
      { id: run.id, reason: containing("but the part's name has another id") },
      { id: run.id, reason: containing("is not JSON") },
      { id: "x", reason: containing("is not a UUID") },
    ]);
    expect((await call(server, `GET /feedback?run=${run.id}`)).json).toMatchObject([
      { ...feedback, run_id: run.id, trace_id: run.trace_id },
    ]);
    const again = await send([part(feedback), part({ ...feedback, score: 1 })]);
    expect(again).toMatchObject({
      status: 202,
      json: { accepted: 0, duplicates: 1, rejected: [{ reason: containing("different content") }] },
    });
    expect((await send([part({ key: "" })])).status).toBe(422);
  });
});
