import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellAnnotationQueues: Story = async ({ client, checkEffect, recordTrace }) => {
  const { annotationQueues: queues } = client;
  const { rootId, childId, startedAt } = await recordTrace({ project: "of the queue" });
  const { id: projectId } = await client.projects.read({ projectName: "of the queue" });
  const dataset = await client.datasets.create({ name: "of the queue" });
  const fields = {
    description: "to read",
    rubricInstructions: "Read all of it.",
    rubricItems: [
      {
        feedbackKey: "correct",
        description: "Is it?",
        valueDescriptions: { good: "It is." },
        scoreDescriptions: { "1": "It is." },
        isRequired: true,
      },
    ],
    defaultDatasetId: dataset.id,
    metadata: { team: "t" },
  };
  const { id } = await queues.create({ name: "queue", ...fields });
  await queues.update(id, { name: "line", ...fields, description: null });
  const read = await queues.read(id);
  const found = await queues
    .list({ ids: [id], name: "line", nameContains: "in", defaultDatasetId: dataset.id, limit: 5 })
    .toArray();
  await checkEffect(() => {
    expect(read).toMatchObject({ name: "line", metadata: { team: "t" } });
    expect(found.map((one) => one.id)).toEqual([id]);
  });
  const [entry] = await queues.addRuns(id, { runIds: [rootId] });
  await queues.addRuns(id, { runs: [{ runId: childId, projectId, startTime: startedAt }] });
  const queueRunId = entry!.queueRunId;
  await checkEffect(async () => {
    expect(await queues.size(id)).toBe(2);
    expect(await queues.readRun(id, { index: 1 })).toMatchObject({ run: { id: childId } });
  });
  await queues.size(id);
  await queues.readRun(id, { index: 0 });
  await queues.updateRun(id, {
    queueRunId,
    lastReviewedTime: new Date(),
    addedAt: new Date(Date.now() + 1_000),
  });
  const reviewed = await queues.listRuns(id, { status: "completed", limit: 5 }).toArray();
  await checkEffect(() => {
    expect(reviewed.map((one) => one.queueRunId)).toEqual([queueRunId]);
  });
  await queues.removeRun(id, { queueRunId });
  await checkEffect(async () => {
    expect(await queues.size(id)).toBe(1);
  });
  await queues.delete(id);
  await checkEffect(async () => {
    await expect(queues.read(id)).rejects.toMatchObject({ status: 404 });
  });
};
