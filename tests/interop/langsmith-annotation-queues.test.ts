import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import type { OldClient } from "./langsmith/test-server.ts";
import { versions, newVersions } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("annotation-queues");

/** The id of a queued run, which the client's types omit although its call for removing a run needs it. */
const queueRunIdOf = (run: object | undefined): string =>
  (run as { readonly queue_run_id: string }).queue_run_id;

/** Creates root runs, each named after its index. */
async function makeRuns(client: OldClient, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => crypto.randomUUID());
  for (const [index, id] of ids.entries()) {
    await client.createRun({
      id,
      name: `run ${index}`,
      run_type: "chain",
      inputs: { index },
      outputs: { double: index * 2 },
    });
  }
  return ids;
}

describe.each(versions)("annotation queues of %s", (version) => {
  test("a queue is made, read, changed and deleted", async () => {
    const client = testServer.either(version);
    const queueId = crypto.randomUUID();
    const name = unique("queue <b>");
    const created = await client.createAnnotationQueue({ name, description: "To review", queueId });
    expect(created).toMatchObject({ id: queueId, name, description: "To review" });
    expect(await client.readAnnotationQueue(queueId)).toMatchObject({
      id: queueId,
      name,
      description: "To review",
    });
    const renamed = unique("renamed");
    await client.updateAnnotationQueue(queueId, { name: renamed, description: "Reviewed" });
    expect(await client.readAnnotationQueue(queueId)).toMatchObject({
      name: renamed,
      description: "Reviewed",
    });
    expect(await testServer.reader.annotationQueues.read(queueId)).toMatchObject({ name: renamed });
    await client.deleteAnnotationQueue(queueId);
    await expect(client.readAnnotationQueue(queueId)).rejects.toThrow(/404|not found/u);
    expect(await toArray(client.listAnnotationQueues({ queueIds: [queueId] }))).toEqual([]);
  });

  test("queues are listed by id, by name and by a part of it", async () => {
    const client = testServer.either(version);
    const stem = crypto.randomUUID();
    const first = await client.createAnnotationQueue({ name: `${stem} first` });
    const second = await client.createAnnotationQueue({ name: `${stem} second` });
    const idsOf = async (filter: Parameters<typeof client.listAnnotationQueues>[0]) =>
      new Set((await toArray(client.listAnnotationQueues(filter))).map(({ id }) => id));
    const both = new Set([first.id, second.id]);
    expect(await idsOf({ nameContains: stem })).toEqual(both);
    expect(await idsOf({ queueIds: [...both] })).toEqual(both);
    expect(await idsOf({ name: `${stem} first` })).toEqual(new Set([first.id]));
    expect((await idsOf({ nameContains: stem, limit: 1 })).size).toBe(1);
  });

  test("a queue contains runs in the order in which they were added, each once", async () => {
    const client = testServer.either(version);
    const { id } = await client.createAnnotationQueue({ name: unique("queue") });
    const [first, second, third] = (await makeRuns(client, 3)) as [string, string, string];
    await client.addRunsToAnnotationQueue(id, [second, first]);
    await client.addRunsToAnnotationQueue(id, [third, second]);
    const queued = await Promise.all(
      [0, 1, 2].map((index) => client.getRunFromAnnotationQueue(id, index)),
    );
    expect(queued.map((run) => run.id)).toEqual([second, first, third]);
    expect(queued[0]).toMatchObject({
      name: "run 1",
      inputs: { index: 1 },
      outputs: { double: 2 },
      queue_run_id: expect.stringMatching(/^[0-9a-f-]{36}$/u) as unknown,
      added_at: expect.stringMatching(/^\d{4}-/u) as unknown,
    });
    await expect(client.getRunFromAnnotationQueue(id, 3)).rejects.toThrow("404");
    expect(await testServer.reader.annotationQueues.size(id)).toBe(3);
  });
});

describe("annotation queues of langsmith 0.10 alone", () => {
  test.each(newVersions)("a queue has a rubric, which an update replaces (%s)", async (newer) => {
    const client = testServer.newest(newer);
    const rubricItems = [{ feedback_key: "helpful", description: "Does it help?" }];
    const { id } = await client.createAnnotationQueue({
      name: unique("queue"),
      rubricInstructions: "Read all of it.",
      rubricItems,
    });
    expect(await client.readAnnotationQueue(id)).toMatchObject({
      rubric_instructions: "Read all of it.",
      rubric_items: rubricItems,
    });
    await client.updateAnnotationQueue(id, {
      rubricInstructions: "Read half of it.",
      rubricItems: [{ feedback_key: "correct" }],
    });
    expect(await client.readAnnotationQueue(id)).toMatchObject({
      rubric_instructions: "Read half of it.",
      rubric_items: [{ feedback_key: "correct" }],
    });
  });

  test.each(newVersions)(
    "runs are added by key, listed, counted and taken out (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const { id } = await client.createAnnotationQueue({ name: unique("queue") });
      const ids = await makeRuns(testServer.either("langsmith"), 3);
      const runs = await Promise.all(ids.map((runId) => client.readRun(runId)));
      await client.addRunsToAnnotationQueue(
        id,
        runs.map((run) => ({
          runId: run.id,
          sessionId: run.session_id!,
          startTime: run.start_time!,
        })),
      );
      const listed = await toArray(client.listRunsFromAnnotationQueue(id));
      expect(listed.map((run) => run.id)).toEqual(ids);
      expect(await toArray(client.listRunsFromAnnotationQueue(id, { limit: 2 }))).toHaveLength(2);
      expect(await client.getSizeFromAnnotationQueue(id)).toEqual({ size: 3 });

      await testServer.reader.annotationQueues.updateRun(id, {
        queueRunId: queueRunIdOf(listed[0]),
        lastReviewedTime: new Date(),
      });
      const idsOf = async (status: "needs_my_review" | "completed") =>
        (await toArray(client.listRunsFromAnnotationQueue(id, { status }))).map((run) => run.id);
      expect(await idsOf("completed")).toEqual([ids[0]]);
      expect(await idsOf("needs_my_review")).toEqual(ids.slice(1));

      await client.deleteRunFromAnnotationQueue(id, queueRunIdOf(listed[1]));
      expect(await client.getSizeFromAnnotationQueue(id)).toEqual({ size: 2 });
      const left = await toArray(client.listRunsFromAnnotationQueue(id));
      expect(left.map((run) => run.id)).toEqual([ids[0], ids[2]]);
      expect(await testServer.reader.runs.read(ids[1]!)).toMatchObject({ name: "run 1" });
    },
  );
});

testServer.expectAllCalled();
