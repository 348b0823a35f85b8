import { expect } from "vitest";
import type { Story } from "./world.ts";

export const tellRuns: Story = async ({ client, effect, recordTrace }) => {
  const { runs } = client;
  const { rootId, childId, startedAt } = await recordTrace({ project: "of the runs" });
  const { id: projectId } = await client.projects.read({ name: "of the runs" });
  const read = await runs.read(rootId, { withChildRuns: true });
  await runs.read(childId);
  const filter = {
    projectIds: [projectId],
    projectNames: ["of the runs"],
    ids: [rootId, childId],
    traceId: rootId,
    runType: "chain",
    error: false,
    startTime: new Date(startedAt.getTime() - 60_000),
    endTime: new Date(startedAt.getTime() + 60_000),
  } as const;
  const found = await runs
    .list({
      ...filter,
      parentRunId: rootId,
      isRoot: false,
      select: ["id", "name", "parent_run_id"],
      order: "asc",
      limit: 5,
    })
    .toArray();
  await runs.list({ query: "child", referenceExampleIds: [rootId], limit: 1 }).toArray();
  const text = 'eq(name, "child")';
  const byFilter = await runs
    .list({ ...filter, filter: text, traceFilter: 'eq(name, "root")', treeFilter: text })
    .toArray();
  const stats = await runs.stats({ ...filter, filter: "eq(is_root, true)" });
  await effect(() => {
    expect(read).toMatchObject({ id: rootId, child_runs: [{ id: childId }] });
    expect(found).toMatchObject([{ id: childId, name: "child", parent_run_id: rootId }]);
    expect(byFilter.map(({ id }) => id)).toEqual([childId]);
    expect(stats.runCount).toBe(1);
  });
  const share = await runs.share(rootId);
  const shared = await runs.readShared(share.url);
  const url = await runs.url(childId);
  await effect(() => {
    expect(shared.id).toBe(rootId);
    expect(url).toContain(childId);
  });
  await runs.unshare(rootId);
  await effect(async () => {
    await expect(runs.readShared(share.url)).rejects.toMatchObject({ status: 404 });
  });
};
