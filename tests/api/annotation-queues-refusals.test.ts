import { describe, expect, test } from "vitest";
import type { AddRuns, UpdateQueuedRun } from "../../src/api/annotation-queue-input.ts";
import { AnnotationQueues } from "../../src/api/annotation-queues.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

const queuesAt = (endpoint: string): AnnotationQueues =>
  new AnnotationQueues(createTestHttp(endpoint).http.call);

describe("refused before anything is sent", () => {
  test("invalid ids, names, positions, limits and changes", async () => {
    const server = await mswServer();
    const queues = queuesAt(server.endpoint);
    const key = { runId: id, projectId: id, startTime: "2026-11-21" };
    const failures = [
      queues.create({ name: "" }),
      queues.create({ name: 7 as unknown as string }),
      queues.create({ name: "q", id: "x" }),
      queues.create({ name: "q", defaultDatasetId: "x" }),
      queues.read("x"),
      queues.update("x", { name: "n" }),
      queues.update(id, {}),
      queues.update(id, { name: "" }),
      queues.delete("x"),
      queues.addRuns("x", { runIds: [id] }),
      queues.addRuns(id, { runIds: [id, "x"] }),
      queues.addRuns(id, {} as AddRuns),
      queues.addRuns(id, { runIds: [id], runs: [] } as unknown as AddRuns),
      queues.addRuns(id, { runs: [{ ...key, runId: "x" }] }),
      queues.addRuns(id, { runs: [{ ...key, projectId: "x" }] }),
      queues.addRuns(id, { runs: [{ ...key, startTime: "soon" }] }),
      queues.readRun("x"),
      queues.readRun(id, { index: -1 }),
      queues.readRun(id, { index: 0.5 }),
      queues.readRun(id, { index: Number.NaN }),
      queues.updateRun("x", { queueRunId: id, addedAt: new Date(0) }),
      queues.updateRun(id, { queueRunId: "x", addedAt: new Date(0) }),
      queues.updateRun(id, { queueRunId: id, lastReviewedTime: "soon" }),
      queues.updateRun(id, { queueRunId: id } satisfies UpdateQueuedRun),
      queues.removeRun("x", { queueRunId: id }),
      queues.removeRun(id, { queueRunId: "x" }),
      queues.size("x"),
    ];
    expect(await Promise.allSettled(failures)).toMatchObject(
      failures.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
    );
    for (const limit of [0, -1, Number.NaN, 1.5]) {
      expect(() => queues.list({ limit })).toThrow(/^limit must be/);
      expect(() => queues.listRuns(id, { limit })).toThrow(/^limit must be/);
    }
    expect(() => queues.list({ ids: ["x"] })).toThrow('Invalid UUID for annotation queue id: "x"');
    expect(() => queues.listRuns("x")).toThrow('Invalid UUID for annotation queue id: "x"');
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const queues = queuesAt(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      queues.create({ name: "q", signal }),
      queues.read(id, { signal }),
      queues.list({ signal }).toArray(),
      queues.update(id, { name: "n", signal }),
      queues.delete(id, { signal }),
      queues.addRuns(id, { runIds: [id], signal }),
      queues.readRun(id, { signal }),
      queues.listRuns(id, { signal }).toArray(),
      queues.updateRun(id, { queueRunId: id, addedAt: new Date(0), signal }),
      queues.removeRun(id, { queueRunId: id, signal }),
      queues.size(id, { signal }),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});
