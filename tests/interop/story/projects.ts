import { expect } from "vitest";
import type { Story } from "./world.ts";

export const tellProjects: Story = async ({ client, effect }) => {
  const { projects } = client;
  const dataset = await client.datasets.create({ name: "of the projects" });
  const made = await projects.create({
    name: "mill",
    description: "grinds",
    extra: { colour: "red" },
    metadata: { wheel: 1 },
    referenceDatasetId: dataset.id,
  });
  const other = await projects.create({ name: "other mill", upsert: true });
  const read = await projects.read({ projectId: made.id, includeStats: true });
  await projects.read({ projectName: "mill", includeStats: false });
  const found = await projects
    .list({
      projectIds: [made.id, other.id],
      projectName: "mill",
      nameContains: "il",
      referenceDatasetId: dataset.id,
      referenceFree: false,
      metadata: { wheel: 1 },
      includeStats: true,
      limit: 5,
    })
    .toArray();
  await effect(() => {
    expect(read).toMatchObject({ name: "mill", description: "grinds" });
    expect(found.map(({ id }) => id)).toEqual([made.id]);
  });
  await projects.update({
    projectId: made.id,
    name: "windmill",
    description: "turns",
    extra: { colour: "blue" },
    metadata: { wheel: 2 },
    endTime: new Date(),
  });
  await effect(async () => {
    expect(await projects.has({ projectName: "mill" })).toBe(false);
    expect(await projects.read({ projectId: made.id })).toMatchObject({ name: "windmill" });
    expect(await projects.url({ projectId: made.id })).toContain(`/projects/p/${made.id}`);
  });
  await projects.has({ projectId: made.id });
  await projects.url({ projectId: made.id });
  await projects.delete({ projectId: made.id });
  await projects.delete({ projectId: other.id });
  await effect(async () => {
    expect(await projects.has({ projectId: made.id })).toBe(false);
  });
};
