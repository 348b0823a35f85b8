import { expect } from "vitest";
import type { Story, StoryContext } from "./story-context.ts";

export const tellProjects: Story = async (context) => {
  const { client, checkEffect } = context;
  const { projects } = client;
  const dataset = await client.datasets.create({ name: "of the projects" });
  const created = await projects.create({
    name: "mill",
    description: "grinds",
    extra: { colour: "red" },
    metadata: { wheel: 1 },
    referenceDatasetId: dataset.id,
  });
  const other = await projects.create({ name: "other mill", upsert: true });
  const read = await projects.read({ projectId: created.id, includeStats: true });
  await projects.read({ projectName: "mill", includeStats: false });
  const found = await projects
    .list({
      projectIds: [created.id, other.id],
      projectName: "mill",
      nameContains: "il",
      referenceDatasetId: dataset.id,
      referenceFree: false,
      metadata: { wheel: 1 },
      includeStats: true,
      limit: 5,
    })
    .toArray();
  await checkEffect(() => {
    expect(read).toMatchObject({ name: "mill", description: "grinds" });
    expect(found.map(({ id }) => id)).toEqual([created.id]);
  });
  await projects.update({
    projectId: created.id,
    name: "windmill",
    description: "turns",
    extra: { colour: "blue" },
    metadata: { wheel: 2 },
    endTime: new Date(),
  });
  await checkEffect(async () => {
    expect(await projects.has({ projectName: "mill" })).toBe(false);
    expect(await projects.read({ projectId: created.id })).toMatchObject({ name: "windmill" });
    expect(await projects.url({ projectId: created.id })).toContain(`/projects/p/${created.id}`);
  });
  await tellViews(context, created.id);
  await projects.has({ projectId: created.id });
  await projects.url({ projectId: created.id });
  await projects.delete({ projectId: created.id });
  await projects.delete({ projectId: other.id });
  await checkEffect(async () => {
    expect(await projects.has({ projectId: created.id })).toBe(false);
  });
};

async function tellViews({ client, checkEffect }: StoryContext, projectId: string): Promise<void> {
  const { views } = client;
  const created = await views.create({
    projectId,
    name: "slow",
    description: "over a second",
    filter: 'gt(latency, "1s")',
    traceFilter: 'eq(name, "root")',
    treeFilter: 'eq(status, "error")',
  });
  await views.create({ projectName: "windmill", name: "all" });
  const listed = await views.list({ projectId, limit: 5 }).toArray();
  const read = await views.read({ projectId, viewId: created.id });
  const updated = await views.update({ projectId, viewId: created.id, name: "fast", filter: "" });
  await checkEffect(() => {
    expect(listed.map(({ name }) => name)).toEqual(["all", "slow"]);
    expect(read).toEqual(created);
    expect(created).toMatchObject({ projectId, name: "slow", filter: 'gt(latency, "1s")' });
    expect(updated).toMatchObject({ name: "fast", traceFilter: 'eq(name, "root")' });
    expect(updated.filter).toBeUndefined();
  });
  await views.delete({ projectId, viewId: created.id });
  await checkEffect(async () => {
    await expect(views.read({ projectId, viewId: created.id })).rejects.toThrow(/View not found/);
  });
}
