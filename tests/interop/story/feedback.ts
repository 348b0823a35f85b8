import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellFeedback: Story = async ({ client, checkEffect, recordTrace }) => {
  const { feedback } = client;
  const { rootId, startedAt } = await recordTrace({ project: "of the feedback" });
  const { id: projectId } = await client.projects.read({ projectName: "of the feedback" });
  const created = await feedback.create({
    id: randomUUID(),
    runId: rootId,
    key: "correct",
    score: 0.5,
    value: { much: true },
    comment: "fair",
    correction: { right: "answer" },
    feedbackConfig: { type: "continuous", min: 0, max: 1 },
    sourceType: "model",
    sourceMetadata: { judge: "j" },
    sourceRunId: rootId,
    traceId: rootId,
    runProjectId: projectId,
    runStartTime: startedAt,
  });
  const uploadResult = await feedback.upload([{ runId: rootId, key: "uploaded", score: 1 }]);
  await checkEffect(() => expect(uploadResult).toMatchObject({ read: 1, created: 1 }));
  const ofProject = await feedback.create({ projectId, key: "overall", score: true });
  await feedback.update(created.id, {
    score: 1,
    value: "good",
    comment: "better",
    correction: "text",
    feedbackConfig: { type: "continuous", min: 0, max: 1 },
  });
  const read = await feedback.read(created.id);
  const found = await feedback
    .list({
      runIds: [rootId],
      keys: ["correct"],
      sourceTypes: ["model"],
      level: "run",
      hasScore: true,
      hasComment: true,
      minCreatedAt: new Date(startedAt.getTime() - 60_000),
      maxCreatedAt: new Date(startedAt.getTime() + 60_000),
      limit: 5,
    })
    .toArray();
  const ofProjects = await feedback.list({ projectIds: [projectId], level: "project" }).toArray();
  await checkEffect(() => {
    expect(read).toMatchObject({ score: 1, value: "good", comment: "better" });
    expect(found.map(({ id }) => id)).toEqual([created.id]);
    expect(ofProjects.map(({ id }) => id)).toEqual([ofProject.id]);
  });
  const token = await feedback.createToken(rootId, "by-link", {
    expiration: { days: 1, hours: 2, minutes: 3 },
    feedbackConfig: { type: "categorical", categories: [{ value: 1, label: "good" }] },
  });
  await feedback.createTokens([
    { runId: rootId, feedbackKey: "one", expiration: new Date(Date.now() + 3_600_000) },
    { runId: rootId, feedbackKey: "two" },
  ]);
  const tokens = await feedback.listTokens(rootId).toArray();
  await checkEffect(() => {
    expect(tokens.map(({ id }) => id)).toContain(token.id);
    expect(tokens).toHaveLength(3);
  });
  await feedback.delete(created.id);
  await checkEffect(async () => {
    await expect(feedback.read(created.id)).rejects.toMatchObject({ status: 404 });
  });
};
