import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { commentQueries, CommentRepository } from "../comment-repository.ts";
import { commentLimits } from "../comment.ts";
import type { CommentDraft } from "../comment.ts";

const ada = { name: strangeText, key: null };
const key = { id: randomUUID(), name: strangeText };
const firstPage = { limit: 100, offset: 0 };
const notFound = { status: 404 };
const { findTrace, ...ownQueries } = commentQueries;

describeRepositories({ ownQueries, found: { findTrace } }, (fixture) => {
  const create = () => {
    const clock = { nowMicros: 1_000 };
    const comments = new CommentRepository(fixture.db, () => (clock.nowMicros += 1));
    const write = (draft: Omit<CommentDraft, "id" | "author"> & Partial<CommentDraft>) =>
      fixture.write(() => comments.create(tenantId, { id: randomUUID(), author: ada, ...draft }));
    return { comments, write };
  };

  test("comments on a run are listed in pages, the oldest first, for its tenant only", async () => {
    const { comments, write } = create();
    const target = { runId: await fixture.insertRun(await fixture.insertProject()) };
    const other = { runId: await fixture.insertRun(await fixture.insertProject()) };
    const first = await write({ target, text: strangeText });
    const second = await write({ target, text: "second", author: { name: null, key } });
    const third = await write({ target, text: "third", author: { name: "Bo", key } });
    await write({ target: other, text: "elsewhere" });
    expect(first).toEqual({
      id: first.id,
      target,
      text: strangeText,
      author: ada,
      createdMicros: first.createdMicros,
      editedMicros: null,
    });
    expect(await comments.list(tenantId, target, firstPage)).toEqual({
      comments: [first, second, third],
      total: 3,
    });
    expect(await comments.list(tenantId, target, { limit: 1, offset: 1 })).toEqual({
      comments: [second],
      total: 3,
    });
    await expect(comments.list(otherId, target, firstPage)).rejects.toMatchObject(notFound);
    await expect(
      comments.create(otherId, { id: randomUUID(), target, text: "x", author: ada }),
    ).rejects.toMatchObject(notFound);
  });

  test("comments on an example are listed, for its tenant only", async () => {
    const { comments, write } = create();
    const target = { exampleId: await fixture.insertExample(randomUUID()) };
    const comment = await write({ target, text: "unclear" });
    expect(await comments.list(tenantId, target, firstPage)).toEqual({
      comments: [comment],
      total: 1,
    });
    await expect(comments.list(otherId, target, firstPage)).rejects.toMatchObject(notFound);
    await expect(
      comments.list(tenantId, { exampleId: randomUUID() }, firstPage),
    ).rejects.toMatchObject(notFound);
  });

  test("the comments of a trace are counted by run", async () => {
    const { comments, write } = create();
    const projectId = await fixture.insertProject();
    const traceId = randomUUID();
    const [first, second] = [
      await fixture.insertRun(projectId, { traceId }),
      await fixture.insertRun(projectId, { traceId }),
    ];
    await fixture.insertRun(projectId, { traceId });
    await write({ target: { runId: first }, text: "a" });
    await write({ target: { runId: first }, text: "b" });
    await write({ target: { runId: second }, text: "c" });
    await write({ target: { runId: await fixture.insertRun(projectId) }, text: "other trace" });
    const counts = await comments.countInTrace(tenantId, traceId);
    expect(new Map(counts.map(({ runId, count }) => [runId, count]))).toEqual(
      new Map([
        [first, 2],
        [second, 1],
      ]),
    );
    expect(await comments.countInTrace(otherId, traceId)).toEqual([]);
  });

  test("the comments of a dataset are counted by example", async () => {
    const { comments, write } = create();
    const datasetId = randomUUID();
    const first = await fixture.insertExample(datasetId);
    await write({ target: { exampleId: first }, text: "a" });
    await write({ target: { exampleId: first }, text: "b" });
    const runId = await fixture.insertRun(await fixture.insertProject());
    await write({ target: { runId }, text: "c" });
    expect(await comments.countInDataset(tenantId, datasetId)).toEqual([
      { exampleId: first, count: 2 },
    ]);
    expect(await comments.countInDataset(otherId, datasetId)).toEqual([]);
    expect(await comments.countInDataset(tenantId, randomUUID())).toEqual([]);
  });

  test("only the author changes and deletes a comment: the same key and the same name", async () => {
    const { comments, write } = create();
    const target = { runId: await fixture.insertRun(await fixture.insertProject()) };
    const author = { name: "Ada", key };
    const { id } = await write({ target, text: "first", author });
    const others = [
      { name: "Bo", key },
      { name: null, key },
      { name: "Ada", key: null },
      { name: "Ada", key: { ...key, id: randomUUID() } },
    ];
    for (const other of others) {
      const own = { id, author: other };
      await expect(comments.update(tenantId, own, "x")).rejects.toMatchObject({ status: 403 });
      await expect(comments.delete(tenantId, own)).rejects.toMatchObject({ status: 403 });
    }
    await expect(comments.update(otherId, { id, author }, "x")).rejects.toMatchObject(notFound);
    const unchanged = await fixture.write(() => comments.update(tenantId, { id, author }, "first"));
    expect(unchanged.editedMicros).toBeNull();
    // The key was renamed since: its id says who it is.
    const renamed = { name: "Ada", key: { ...key, name: "renamed" } };
    const changed = await fixture.write(() =>
      comments.update(tenantId, { id, author: renamed }, strangeText),
    );
    expect(changed).toMatchObject({ id, text: strangeText, author });
    expect(changed.editedMicros).toBeGreaterThan(changed.createdMicros);
    expect((await comments.list(tenantId, target, firstPage)).comments).toEqual([changed]);
    await fixture.write(() => comments.delete(tenantId, { id, author }));
    expect((await comments.list(tenantId, target, firstPage)).total).toBe(0);
    await expect(comments.delete(tenantId, { id, author })).rejects.toMatchObject(notFound);
  });

  test("writing the same comment again changes nothing, and another one can't have its id", async () => {
    const { comments, write } = create();
    const target = { runId: await fixture.insertRun(await fixture.insertProject()) };
    const draft = { id: randomUUID(), target, text: "once" };
    const first = await write(draft);
    expect(await write(draft)).toEqual(first);
    await expect(write({ ...draft, text: "twice" })).rejects.toMatchObject({ status: 409 });
    await expect(write({ ...draft, author: { name: "Bo", key: null } })).rejects.toMatchObject({
      status: 409,
    });
    expect((await comments.list(tenantId, target, firstPage)).comments).toEqual([first]);
  });

  test("a run has a limited number of comments", async () => {
    const { comments, write } = create();
    const runId = await fixture.insertRun(await fixture.insertProject());
    const rows = Array.from(
      { length: commentLimits.perTarget },
      (_, index) => `('${tenantId}', 'c${index}', '${runId}', 'trace', '"x"', ${index})`,
    );
    await fixture.exec(
      `INSERT INTO comments (tenant_id, id, run_id, trace_id, text_json, created_us) VALUES ${rows.join()}`,
    );
    await expect(write({ target: { runId }, text: "one more" })).rejects.toMatchObject({
      status: 409,
      message:
        "The run already has the maximum of 1000 comments. Delete one that is no longer needed.",
    });
    expect((await comments.list(tenantId, { runId }, firstPage)).total).toBe(1_000);
  });
});
