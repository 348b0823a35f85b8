import { dayMicros } from "../../../model/durations.ts";
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { openTemporaryStore } from "../../../../dist/store/sqlite-store.js";
import { RetentionSweeper } from "../retention-sweeper.ts";
import type { Store } from "../../../store/store.ts";
import { checkFilter } from "../../../filter/checker.ts";
import { runFields } from "../../../filter/fields.ts";
import { createFeedbackDraft } from "../../../../tests/support/feedback-draft.ts";
import { patchOf, StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { call, runServer, textOf } from "../../../../tests/support/running-server.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

async function openFixture(): Promise<StoreFixture> {
  const store: Store = await openTemporaryStore();
  onTestFinished(() => store.close());
  return new StoreFixture(store);
}

const agedRun = (days: number, session_name = "old", fields = {}) =>
  wireRun({ micros: Date.now() * 1_000 - days * dayMicros, session_name, ...fields });

const projectId = async ({ store, tenantId }: StoreFixture, name: string): Promise<string> => {
  const [project] = await store.read.projects.list(tenantId, { name, limit: 1, offset: 0 });
  return project!.id;
};

/** Runs steps until nothing is left to delete. */
async function sweepAll({ store }: StoreFixture): Promise<readonly number[]> {
  const steps: number[] = [];
  let from: string | null = null;
  do {
    const step: { deleted: number; next: string | null } = await store.write.retention.sweep(
      Date.now() * 1_000,
      from,
    );
    steps.push(step.deleted);
    from = step.next;
  } while (from !== null);
  return steps;
}

test("without a rule nothing is deleted", async () => {
  const fixture = await openFixture();
  const run = agedRun(10_000);
  await fixture.send({ post: [run] });
  expect(await sweepAll(fixture)).toEqual([0]);
  expect(await fixture.read(run.id)).toMatchObject({ id: run.id });
});

test("runs older than the tenant's limit are deleted with their feedback; younger ones stay", async () => {
  const fixture = await openFixture();
  const [old, young] = [agedRun(31), agedRun(29)];
  await fixture.send({ post: [old, young] });
  const feedback = await fixture.store.write.feedback.create(
    fixture.tenantId,
    createFeedbackDraft({ runId: old.id, score: 1 }),
  );
  await fixture.store.write.retention.set(fixture.tenantId, { projectId: null, days: 30 });
  expect(await sweepAll(fixture)).toEqual([1, 0]);
  expect(await fixture.read(old.id)).toEqual({});
  expect(await fixture.read(young.id)).toMatchObject({ id: young.id });
  expect(await fixture.store.read.feedback.find(fixture.tenantId, feedback.id)).toBeUndefined();
});

test("deleted runs no longer count in the project's runs", async () => {
  const fixture = await openFixture();
  await fixture.send({ post: [agedRun(31), agedRun(31, "old", { error: "no" }), agedRun(29)] });
  const { store, tenantId } = fixture;
  await store.write.retention.set(tenantId, { projectId: null, days: 30 });
  await sweepAll(fixture);
  const counts = await store.read.runLists.countRuns(tenantId, {
    projectId: await projectId(fixture, "old"),
    isRoot: undefined,
    fromMicros: Date.now() * 1_000 - 40 * dayMicros,
    toMicros: Date.now() * 1_000,
    widthMicros: dayMicros,
  });
  expect(counts).toMatchObject([{ runs: 1, errors: 0 }]);
});

test("filter suggestions omit values of deleted runs, and still include and find those of others", async () => {
  const fixture = await openFixture();
  const output = (word: string) => ({
    name: `name ${word}`,
    tags: [`tag ${word}`],
    extra: { metadata: { [`key-${word}`]: word } },
  });
  const [old, young] = [agedRun(31, "old", output("old")), agedRun(29, "old", output("young"))];
  const patch = patchOf(old, { tags: ["tag patched"] });
  await fixture.send({ post: [old, young], patch: [patch] });
  const { store, tenantId } = fixture;
  await store.write.retention.set(tenantId, { projectId: null, days: 30 });
  await sweepAll(fixture);
  const id = await projectId(fixture, "old");
  const wordsOf = (kind: "name" | "tag" | "metadata_key") =>
    store.read.runLists.listSuggestions(tenantId, {
      projectId: id,
      kind,
      key: "",
      prefix: "",
      limit: 50,
    });
  expect(await wordsOf("name")).toEqual(["name young"]);
  expect(await wordsOf("tag")).toEqual(["tag young"]);
  expect(await wordsOf("metadata_key")).toEqual(["key-young"]);
  const filter = checkFilter('has(tags, "tag young")', runFields);
  expect(await fixture.query({ projectIds: [id], runFilters: [filter] })).toEqual(["name young"]);
});

test("a project's rule takes precedence over the tenant's, and may keep runs forever", async () => {
  const fixture = await openFixture();
  const runs = [agedRun(20, "short"), agedRun(20, "usual"), agedRun(2_000, "ever")];
  await fixture.send({ post: runs });
  const { tenantId, store } = fixture;
  await store.write.retention.set(tenantId, { projectId: null, days: 30 });
  await store.write.retention.set(tenantId, {
    projectId: await projectId(fixture, "short"),
    days: 7,
  });
  const ever = await projectId(fixture, "ever");
  await store.write.retention.set(tenantId, { projectId: ever, days: null });
  await sweepAll(fixture);
  const left = await Promise.all(runs.map(async ({ id }) => (await fixture.read(id))["id"]));
  expect(left).toEqual([undefined, runs[1]!.id, runs[2]!.id]);
  await store.write.retention.clear(tenantId, ever);
  await sweepAll(fixture);
  expect(await fixture.read(runs[2]!.id)).toEqual({});
});

test("a rule of one tenant deletes nothing of another's", async () => {
  const fixture = await openFixture();
  const other = await fixture.store.write.tenants.create({ handle: "other", displayName: "o" });
  const neighbour = new StoreFixture(fixture.store, other.id);
  const run = agedRun(100);
  await neighbour.send({ post: [run] });
  await fixture.store.write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
  await sweepAll(fixture);
  expect(await neighbour.read(run.id)).toMatchObject({ id: run.id });
});

test("a step ends when its time is over, and the next one continues", async () => {
  const fixture = await openFixture();
  await fixture.send({ post: Array.from({ length: 2_500 }, () => agedRun(10)) });
  await fixture.store.write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
  const steps = await sweepAll(fixture);
  expect(steps.reduce((sum, deleted) => sum + deleted, 0)).toBe(2_500);
  expect(Math.max(...steps)).toBeLessThanOrEqual(2_000);
  expect(steps.slice(0, -1)).not.toContain(0);
});

test("a step deletes only a few large runs", async () => {
  const fixture = await openFixture();
  const inputs = { text: "x".repeat(1_200_000) };
  await fixture.send({ post: Array.from({ length: 5 }, () => ({ ...agedRun(10), inputs })) });
  await fixture.store.write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
  const steps = await sweepAll(fixture);
  expect(steps.reduce((sum, deleted) => sum + deleted, 0)).toBe(5);
  // The bytes of two runs are more than a step erases.
  expect(Math.max(...steps)).toBeLessThanOrEqual(2);
});

test("the sweeper runs by itself until everything is deleted, and ends", async () => {
  const fixture = await openFixture();
  const run = agedRun(10);
  await fixture.send({ post: [run] });
  await fixture.store.write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
  const sweeper = new RetentionSweeper(fixture.store, { sweepIntervalMs: 1, maxPauseMs: 1 });
  await vi.waitFor(async () => expect(await fixture.read(run.id)).toEqual({}), {
    timeout: 20_000,
  });
  sweeper.close();
});

test("rules are set, read and removed over HTTP; an invalid number of days is rejected", async () => {
  const server = await runServer();
  const put = (body: unknown) => call(server, "PUT /ui/retention", { body });
  expect((await put({ days: 30 })).json).toEqual([{ project_id: null, days: 30 }]);
  for (const days of [0, -1, 1.5, "30", 40_000]) {
    expect((await put({ days })).status).toBe(422);
  }
  expect((await put({ project_id: randomUUID(), days: 3 })).status).toBe(404);
  const { json } = await call(server, "POST /sessions", { body: { name: "p" } });
  const project_id = textOf(json["id"]);
  expect((await put({ project_id, days: null })).json).toEqual([
    { project_id: null, days: 30 },
    { project_id, days: null },
  ]);
  expect((await put({})).json).toEqual([{ project_id, days: null }]);
});
