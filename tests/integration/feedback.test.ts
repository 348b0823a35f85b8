import { randomUUID } from "node:crypto";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/main/client.ts";
import type { Run } from "../../src/model/resources/run-response.ts";

const hostile =
  "<script>alert(1)</script>'; DROP TABLE feedback; --\"\r\nx-injected: 1\u0000 \ud800 😀";

const apiKey = "secret";
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:", apiKeys: [apiKey] });
});
afterAll(() => server.close());

function openClient(): Client {
  const client = new Client({ endpoint: server.url, apiKey, projectName: "integration" });
  onTestFinished(async () => void (await client.close()));
  return client;
}

/** Records runs and waits until the server has them. Returns them ordered by start. */
async function record(client: Client, names: readonly string[]): Promise<readonly Run[]> {
  const runs = names.map((name) => client.startRun({ name }));
  runs.forEach((run) => run.end());
  await client.flush();
  return Promise.all(runs.map(({ id }) => client.runs.read(id)));
}

describe("feedback", () => {
  test("on a run is created, found, updated and deleted, with its texts unchanged", async () => {
    const client = openClient();
    const [run] = await record(client, ["judged"]);
    const runId = run?.id ?? "";
    const created = await client.feedback.create({
      runId,
      key: "correct",
      score: true,
      value: { deep: [hostile, null] },
      comment: hostile,
      correction: { right: hostile },
      sourceType: "model",
      sourceMetadata: { [hostile]: 1 },
      sourceRunId: runId,
      feedbackConfig: { type: "continuous", min: 0, max: 1 },
    });
    expect(created).toMatchObject({
      runId,
      projectId: run?.projectId,
      traceId: runId,
      score: true,
      value: { deep: [hostile, null] },
      comment: hostile,
      correction: { right: hostile },
      source: { type: "model", metadata: { [hostile]: 1, __run: { run_id: runId } } },
      feedbackConfig: { type: "continuous", min: 0, max: 1 },
    });
    expect(await client.feedback.read(created.id)).toEqual(created);
    expect(await client.feedback.list({ runIds: [runId] }).toArray()).toEqual([created]);
    expect((await client.runs.read(runId)).feedbackStats).toEqual({
      correct: { n: 1, avg: 1, values: {} },
    });
    const changed = await client.feedback.update(created.id, { score: 0.5, comment: null });
    const { comment: _comment, ...unchanged } = created;
    expect(changed).toEqual({ ...unchanged, score: 0.5, modifiedAt: changed.modifiedAt });
    await client.feedback.delete(created.id);
    await expect(client.feedback.read(created.id)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        "Failed to read feedback: 404 Feedback not found. Check the id or name, the endpoint and the tenant of the key",
    });
  });

  test("on a project, and by its filters", async () => {
    const client = openClient();
    const project = await client.projects.create({ name: randomUUID() });
    const created = await client.feedback.create({
      projectId: project.id,
      key: "k",
      value: "good",
    });
    expect(created).toMatchObject({
      projectId: project.id,
      value: "good",
      source: { type: "api" },
    });
    expect(created.runId).toBeUndefined();
    const find = (filter: Parameters<typeof client.feedback.list>[0]) =>
      client.feedback.list({ projectIds: [project.id], ...filter }).toArray();
    expect(await find({ level: "project", keys: ["k"], hasScore: false })).toEqual([created]);
    expect(await find({ level: "run" })).toEqual([]);
    expect(await find({ sourceTypes: ["app"] })).toEqual([]);
    expect(await find({ minCreatedAt: new Date(Date.now() + 60_000) })).toEqual([]);
  });

  test("repeated with the same id, it is stored once; with different content it is a conflict", async () => {
    const client = openClient();
    const feedback = { id: randomUUID(), runId: randomUUID(), key: "k", score: 1 };
    const created = await client.feedback.create(feedback);
    expect(await client.feedback.create(feedback)).toEqual(created);
    await expect(client.feedback.create({ ...feedback, score: 2 })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    expect(await client.feedback.list({ runIds: [feedback.runId] }).toArray()).toEqual([created]);
  });

  test("a list crosses pages, and more runs than an address holds", async () => {
    const client = openClient();
    const runIds = Array.from({ length: 230 }, () => randomUUID());
    await Promise.all(runIds.map((runId) => client.feedback.create({ runId, key: "many" })));
    const found = await client.feedback.list({ runIds }).toArray();
    expect(new Set(found.map(({ runId }) => runId))).toEqual(new Set(runIds));
    expect(await client.feedback.list({ keys: ["many"] }).toArray()).toHaveLength(230);
    expect(await client.feedback.list({ keys: ["many"], limit: 101 }).toArray()).toHaveLength(101);
  });
});

test("a token accepts feedback through a plain fetch without a key, and is listed", async () => {
  const client = openClient();
  const runId = randomUUID();
  const config = { type: "continuous", min: 0, max: 1 } as const;
  const token = await client.feedback.createToken(runId, "thumbs", { feedbackConfig: config });
  const [later, sooner] = await client.feedback.createTokens([
    { runId, feedbackKey: "later", expiration: { days: 1 } },
    { runId, feedbackKey: "sooner", expiration: new Date(Date.now() + 60_000) },
  ]);
  expect(await client.feedback.listTokens(runId).toArray()).toEqual([token, later, sooner]);
  const inHours = (Date.parse(token.expiresAt) - Date.now()) / 3_600_000;
  expect(Math.round(inHours * 10) / 10).toBe(3);

  const link = new URL(token.url);
  link.search = new URLSearchParams({ score: "1", comment: hostile.toWellFormed() }).toString();
  expect((await fetch(link)).status).toBe(200);
  const body = JSON.stringify({ score: false, comment: hostile, metadata: { page: "/a" } });
  expect((await fetch(token.url, { method: "POST", body })).status).toBe(200);
  expect((await fetch(`${server.url}/feedback?run=${runId}`)).status).toBe(401);
  expect(await client.feedback.list({ runIds: [runId] }).toArray()).toMatchObject([
    { key: "thumbs", score: false, comment: hostile, source: { metadata: { page: "/a" } } },
    { key: "thumbs", score: 1, comment: hostile.toWellFormed(), feedbackConfig: config },
  ]);
});

test("a queue is created, filled, reviewed in order, and emptied", async () => {
  const client = openClient();
  const runs = await record(client, ["first", "second", "third"]);
  const runIds = runs.map(({ id }) => id);
  const queue = await client.annotationQueues.create({
    name: hostile,
    description: hostile,
    rubricInstructions: hostile,
    rubricItems: [{ feedbackKey: "correct", scoreDescriptions: { "1": hostile } }],
    metadata: { [hostile]: hostile },
  });
  const { id } = queue;
  expect(await client.annotationQueues.read(id)).toEqual(queue);
  const entries = await client.annotationQueues.addRuns(id, { runIds: runIds.slice(0, 2) });
  expect(entries.map(({ runId }) => runId)).toEqual(runIds.slice(0, 2));
  const third = runs[2];
  const key = {
    runId: third?.id ?? "",
    projectId: third?.projectId ?? "",
    startTime: String(third?.startTime),
  };
  await client.annotationQueues.addRuns(id, { runs: [key] });
  await client.annotationQueues.addRuns(id, { runIds });
  expect(await client.annotationQueues.size(id)).toBe(3);
  const first = await client.annotationQueues.readRun(id);
  expect(first).toMatchObject({ queueRunId: entries[0]?.queueRunId, run: { name: "first" } });
  expect(first.lastReviewedTime).toBeUndefined();
  const { queueRunId } = first;
  await client.annotationQueues.updateRun(id, { queueRunId, lastReviewedTime: new Date(0) });
  const namesOf = async (options = {}): Promise<readonly string[]> => {
    const queued = await client.annotationQueues.listRuns(id, options).toArray();
    return queued.map(({ run }) => run.name);
  };
  expect(await namesOf({ status: "completed" })).toEqual(["first"]);
  expect(await namesOf({ status: "needs_my_review" })).toEqual(["second", "third"]);
  await client.annotationQueues.removeRun(id, { queueRunId });
  expect(await namesOf()).toEqual(["second", "third"]);
  await expect(client.annotationQueues.readRun(id, { index: 2 })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message:
      "Failed to read run of annotation queue: 404 There is no run at index 2: the queue has 2 runs. Check the id or name, the endpoint and the tenant of the key",
  });
  const unknown = randomUUID();
  await expect(client.annotationQueues.addRuns(id, { runIds: [unknown] })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining(unknown) as unknown,
  });

  await client.annotationQueues.update(id, { name: "renamed", rubricItems: null });
  const listed = await client.annotationQueues.list({ ids: [id] }).toArray();
  expect(listed).toMatchObject([{ name: "renamed", description: hostile, totalRuns: 2 }]);
  await client.annotationQueues.delete(id);
  await expect(client.annotationQueues.read(id)).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: `Annotation queue with ID ${id} not found. Check the id (client.annotationQueues.list()), the endpoint and the tenant of the key`,
  });
});

test("a list of queues spans several pages of 100", async () => {
  const client = openClient();
  const label = randomUUID();
  const names = Array.from({ length: 130 }, (_, n) => `${label} ${n}`);
  await Promise.all(names.map((name) => client.annotationQueues.create({ name })));
  const namesOf = async (limit?: number): Promise<readonly string[]> =>
    (await client.annotationQueues.list({ nameContains: label, limit }).toArray()).map(
      ({ name }) => name,
    );
  expect(new Set(await namesOf())).toEqual(new Set(names));
  expect(await namesOf(101)).toHaveLength(101);
});
