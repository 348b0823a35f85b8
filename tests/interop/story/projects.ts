import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellProjects: Story = async ({ client, checkEffect }) => {
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
  await projects.has({ projectId: created.id });
  await projects.url({ projectId: created.id });
  await projects.delete({ projectId: created.id });
  await projects.delete({ projectId: other.id });
  await checkEffect(async () => {
    expect(await projects.has({ projectId: created.id })).toBe(false);
  });
};
