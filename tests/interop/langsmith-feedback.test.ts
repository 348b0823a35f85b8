import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import type { OldClient } from "./langsmith/test-server.ts";
import { versions, newVersions } from "./langsmith/methods.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("feedback");

interface MadeRun {
  readonly id: string;
  readonly project: string;
}

async function makeRun(client: OldClient, fields: object = {}): Promise<MadeRun> {
  const [id, project] = [crypto.randomUUID(), unique("project")];
  await client.createRun({
    id,
    name: "judged",
    run_type: "chain",
    inputs: { question: "Weather?" },
    outputs: { answer: "Rain." },
    project_name: project,
    ...fields,
  });
  return { id, project };
}

describe.each(versions)("feedback of %s", (version) => {
  test("feedback is created with all its fields, and read", async () => {
    const client = testServer.either(version);
    const { id: runId } = await makeRun(client);
    const { id: sourceRunId } = await makeRun(client);
    const feedbackId = crypto.randomUUID();
    const created = await client.createFeedback(runId, "helpful", {
      feedbackId,
      score: 0.75,
      value: unusualText,
      correction: { answer: "Sun." },
      comment: `<b>${unusualText}`,
      sourceInfo: { model: "judge" },
      feedbackSourceType: "model",
      sourceRunId,
      feedbackConfig: { type: "continuous", min: 0, max: 1, categories: null },
    });
    expect(created.id).toBe(feedbackId);
    expect(await client.readFeedback(feedbackId)).toMatchObject({
      id: feedbackId,
      run_id: runId,
      key: "helpful",
      score: 0.75,
      value: unusualText,
      correction: { answer: "Sun." },
      comment: `<b>${unusualText}`,
      feedback_source: {
        type: "model",
        metadata: { model: "judge", __run: { run_id: sourceRunId } },
      },
    });
    expect(await testServer.reader.feedback.read(feedbackId)).toMatchObject({
      runId,
      key: "helpful",
    });
    const run = await testServer.reader.runs.read(runId);
    expect(run.feedbackStats).toMatchObject({ helpful: { n: 1, avg: 0.75 } });
  });

  test("a project gets feedback like a run", async () => {
    const client = testServer.either(version);
    const { id: projectId } = await client.createProject({ projectName: unique("project") });
    const { id } = await client.createFeedback(null, "summary", { score: 1, projectId });
    expect(await client.readFeedback(id)).toMatchObject({
      run_id: null,
      session_id: projectId,
      score: 1,
    });
  });

  test("an update changes only the given fields, and deleted feedback does not exist any more", async () => {
    const client = testServer.either(version);
    const { id: runId } = await makeRun(client);
    const { id } = await client.createFeedback(runId, "helpful", { score: 0, comment: "before" });
    await client.updateFeedback(id, { score: 1 });
    expect(await client.readFeedback(id)).toMatchObject({ score: 1, comment: "before" });
    await client.updateFeedback(id, {
      value: "fine",
      correction: { answer: "Sun." },
      comment: "after",
    });
    expect(await client.readFeedback(id)).toMatchObject({
      score: 1,
      value: "fine",
      correction: { answer: "Sun." },
      comment: "after",
    });
    await client.deleteFeedback(id);
    await expect(client.readFeedback(id)).rejects.toThrow("404");
    expect(await toArray(client.listFeedback({ runIds: [runId] }))).toEqual([]);
  });

  test("feedback is listed by runs, keys and sources, and over several pages", async () => {
    const client = testServer.either(version);
    const first = await makeRun(client);
    const second = await makeRun(client);
    const created = [
      await client.createFeedback(first.id, "helpful", { score: 1 }),
      await client.createFeedback(first.id, "correct", { score: 0, feedbackSourceType: "model" }),
      await client.createFeedback(second.id, "helpful", { score: true }),
    ].map(({ id }) => id);
    const idsOf = async (filter: Parameters<typeof client.listFeedback>[0]) =>
      new Set((await toArray(client.listFeedback(filter))).map(({ id }) => id));
    const runIds = [first.id, second.id];
    expect(await idsOf({ runIds })).toEqual(new Set(created));
    expect(await idsOf({ runIds: [first.id] })).toEqual(new Set(created.slice(0, 2)));
    expect(await idsOf({ runIds, feedbackKeys: ["correct"] })).toEqual(new Set([created[1]]));
    expect(await idsOf({ runIds, feedbackKeys: ["helpful", "correct"] })).toEqual(new Set(created));
    expect(await idsOf({ runIds, feedbackSourceTypes: ["model"] })).toEqual(new Set([created[1]]));
    const many = await makeRun(client);
    for (let index = 0; index < 101; index += 1) {
      await client.createFeedback(many.id, `key ${index}`, { score: index });
    }
    expect((await idsOf({ runIds: [many.id] })).size).toBe(101);
  });

  test("the address of a token accepts feedback without a key", async () => {
    const client = testServer.either(version);
    const { id: runId } = await makeRun(client);
    const byLink = await client.createPresignedFeedbackToken(runId, "helpful");
    const byPost = await client.createPresignedFeedbackToken(runId, "correct", {
      expiration: { days: 1, hours: 2, minutes: 3 },
      feedbackConfig: { type: "continuous", min: 0, max: 1, categories: null },
    });
    const tokens = await toArray(client.listPresignedFeedbackTokens(runId));
    expect(new Set(tokens.map(({ id }) => id))).toEqual(new Set([byLink.id, byPost.id]));
    const lifeMs = new Date(byPost.expires_at).getTime() - Date.now();
    expect(Math.abs(lifeMs - ((24 + 2) * 60 + 3) * 60_000)).toBeLessThan(60_000);

    expect((await fetch(`${byLink.url}?score=0.5&comment=fine`)).status).toBe(200);
    const post = { method: "POST", body: JSON.stringify({ score: 1, correction: { a: 1 } }) };
    expect((await fetch(byPost.url, post)).status).toBe(200);
    const listed = await toArray(client.listFeedback({ runIds: [runId] }));
    const byKey = new Map(listed.map((feedback) => [feedback.key, feedback]));
    expect(byKey.get("helpful")).toMatchObject({ score: 0.5, comment: "fine", run_id: runId });
    expect(byKey.get("correct")).toMatchObject({ score: 1, correction: { a: 1 } });
    expect(listed).toHaveLength(2);
  });

  test("an expired token accepts no feedback, and an expiry in the past is refused", async () => {
    const client = testServer.either(version);
    const { id: runId } = await makeRun(client);
    // Long enough for a request that waits while a server is busy or is being replaced.
    const { url } = await client.createPresignedFeedbackToken(runId, "late", {
      expiration: new Date(Date.now() + 1_500).toISOString(),
    });
    const status = async () => (await fetch(`${url}?score=1`)).status;
    await expect.poll(status, { interval: 100, timeout: 20_000 }).toBe(410);
    const before = await toArray(client.listFeedback({ runIds: [runId] }));
    expect(await status()).toBe(410);
    expect(await toArray(client.listFeedback({ runIds: [runId] }))).toEqual(before);
    // The old client returns whatever the server sent.
    const past = await client
      .createPresignedFeedbackToken(runId, "late", { expiration: "2020-01-01T00:00:00Z" })
      .then(JSON.stringify, String);
    expect(past).toMatch(
      /the expir(?:y|ation) must be in the future|expiration must be in the future/u,
    );
  });

  test("the result of an evaluator becomes feedback on the run", async () => {
    const client = testServer.either(version);
    const created = await makeRun(client);
    const run = await client.readRun(created.id);
    const results = await client.logEvaluationFeedback(
      {
        results: [
          { key: "correct", score: 1, comment: "yes", evaluatorInfo: { judge: "rule" } },
          { key: "tone", value: "calm" },
        ],
      },
      run,
      { suite: "nightly" },
    );
    expect(results).toHaveLength(2);
    const listed = await toArray(client.listFeedback({ runIds: [created.id] }));
    const byKey = new Map(listed.map((feedback) => [feedback.key, feedback]));
    expect(byKey.get("correct")).toMatchObject({
      score: 1,
      comment: "yes",
      feedback_source: { type: "model", metadata: { judge: "rule", suite: "nightly" } },
    });
    expect(byKey.get("tone")).toMatchObject({ value: "calm" });
  });
});

test("langsmith 0.1 evaluates a run against its example", async () => {
  const client = testServer.old();
  const { id: datasetId } = await client.createDataset(unique("dataset"));
  const example = await client.createExample({ q: 1 }, { answer: "Rain." }, { datasetId });
  const { id } = await makeRun(client, { reference_example_id: example.id });
  const feedback = await client.evaluateRun(
    id,
    {
      evaluateRun: (run, reference) =>
        Promise.resolve({
          key: "exact",
          score: JSON.stringify(run.outputs) === JSON.stringify(reference?.outputs),
        }),
    },
    { loadChildRuns: true, sourceInfo: { suite: "nightly" } },
  );
  expect(await client.readFeedback(feedback.id)).toMatchObject({
    run_id: id,
    key: "exact",
    feedback_source: { metadata: { suite: "nightly" } },
  });
});

test.each(newVersions)(
  "langsmith 0.10 says which project and trace a judged run is of (%s)",
  async (newer) => {
    const client = testServer.newest(newer);
    const { id: runId, project: projectName } = await makeRun(testServer.either("langsmith"));
    const { id: sessionId } = await client.readProject({ projectName });
    const created = await client.createFeedback({
      runId,
      sessionId,
      traceId: runId,
      key: "helpful",
      score: 1,
      startTime: Date.now(),
      extendTraceRetention: false,
    });
    expect(await client.readFeedback(created.id)).toMatchObject({ run_id: runId, score: 1 });
    const summary = await client.createFeedback({
      projectId: sessionId,
      key: "summary",
      score: 0.5,
    });
    expect(await client.readFeedback(summary.id)).toMatchObject({ session_id: sessionId });
    const run = await client.readRun(runId);
    await client.logEvaluationFeedback({
      evaluatorResponse: [{ key: "listed", score: 0 }],
      run,
      projectId: sessionId,
    });
    const keys = (await toArray(client.listFeedback({ runIds: [runId] }))).map(({ key }) => key);
    expect(new Set(keys)).toEqual(new Set(["helpful", "listed"]));
  },
);

testServer.expectAllCalled();
