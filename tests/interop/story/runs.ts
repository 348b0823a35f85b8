import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellRuns: Story = async ({ client, endpoint, checkEffect, recordTrace }) => {
  const { runs } = client;
  const { rootId, childId, startedAt } = await recordTrace({ project: "of the runs" });
  const { id: projectId } = await client.projects.read({ projectName: "of the runs" });
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
      select: ["id", "name", "parentRunId"],
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
  await checkEffect(() => {
    expect(read).toMatchObject({ id: rootId, childRuns: [{ id: childId }] });
    expect(found).toMatchObject([{ id: childId, name: "child", parentRunId: rootId }]);
    expect(byFilter.map(({ id }) => id)).toEqual([childId]);
    expect(stats.runCount).toBe(1);
  });
  const id = randomUUID();
  const noteText = Buffer.from("a note");
  const moved = await runs.upload([
    {
      id,
      trace_id: id,
      dotted_order: `20260102T030405000006Z${id}`,
      name: "moved",
      run_type: "chain",
      start_time: "2026-01-02T03:04:05.000006Z",
      end_time: "2026-01-02T03:04:06.000006Z",
      inputs: { q: 1 },
      outputs: { a: 1 },
      session_name: "of the runs",
      attachments: { note: ["text/plain", noteText] },
    },
  ]);
  const files = await runs.readAttachments(id);
  const note = files["note"] ?? { presignedUrl: `${endpoint}/info` };
  const bytes = await runs.readAttachment(note);
  await checkEffect(() => {
    expect(moved).toMatchObject({ read: 1, created: 1, rejected: 0 });
    expect(Buffer.from(bytes)).toEqual(noteText);
  });
  const share = await runs.share(rootId);
  const shared = await runs.readShared(share.url);
  const url = await runs.url(childId);
  await checkEffect(() => {
    expect(shared.id).toBe(rootId);
    expect(url).toContain(childId);
  });
  await runs.unshare(rootId);
  await checkEffect(async () => {
    await expect(runs.readShared(share.url)).rejects.toMatchObject({ status: 404 });
  });
};
