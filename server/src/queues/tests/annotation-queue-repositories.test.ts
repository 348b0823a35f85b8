import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { QueueDraft, QueueQuery } from "../annotation-queue.ts";
import { AnnotationQueueReader } from "../annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../annotation-queue-writer.ts";
import { annotationQueueQueries } from "../annotation-queue-queries.ts";
import { QueueReviewReader } from "../queue-review-reader.ts";
import { QueueReviewWriter } from "../queue-review-writer.ts";
import { queueReviewQueries } from "../queue-review-queries.ts";
import {
  describeRepositories,
  otherId,
  strangeName,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ annotationQueueQueries, queueReviewQueries }, (fixture) => {
  describe("annotation queues", () => {
    const minute = 60_000_000;
    const datasetId = randomUUID();
    const unchanged = {
      name: undefined,
      description: undefined,
      defaultDatasetId: undefined,
      rubricInstructions: undefined,
      rubricItems: undefined,
      metadata: undefined,
      reviewers: {},
    };
    const draft = (rest: Partial<QueueDraft> = {}): QueueDraft => ({
      id: randomUUID(),
      name: "q",
      description: null,
      defaultDatasetId: null,
      rubricInstructions: null,
      rubricItems: null,
      metadata: null,
      reviewers: {},
      createdMicros: null,
      ...rest,
    });
    let nowMicros: number;
    const clock = (): number => nowMicros;
    let reader: AnnotationQueueReader;
    let reviewReader: QueueReviewReader;
    let writer: AnnotationQueueWriter;
    let reviews: QueueReviewWriter;
    beforeEach(async () => {
      nowMicros = 1_000 * minute;
      reader = new AnnotationQueueReader(fixture.db, clock);
      reviewReader = new QueueReviewReader(fixture.db, clock);
      writer = new AnnotationQueueWriter(fixture.db, clock);
      reviews = new QueueReviewWriter(fixture.db, clock);
      await fixture.exec(`
        INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, example_count, is_ready, body)
          VALUES ('${datasetId}', '${tenantId}', '"d"', 1, 1, 0, 1, '{}');
        INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES ('p', '${tenantId}', '"p"', 1)`);
    });
    const create = (rest: Partial<QueueDraft> = {}) =>
      fixture.write(() => writer.create(tenantId, draft(rest)));
    const addRuns = async (queueId: string, runIds: readonly string[]) => {
      const values = runIds.map(
        (id, index) => `('t', '${id}', 'p', '${id}', 'llm', ${index}, NULL, 0, '', 1, 0)`,
      );
      await fixture.exec(`INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, end_us, has_error,
        dotted_order, posted, patched) VALUES ${values.join()} ON CONFLICT DO NOTHING`);
      const keys = runIds.map((runId) => ({ runId, projectId: "p" }));
      return fixture.write(() => writer.addRuns(tenantId, queueId, keys));
    };
    const list = async (query: Partial<QueueQuery> = {}): Promise<string[]> => {
      const found = await reader.list(tenantId, {
        sortBy: "name",
        isDescending: false,
        limit: 100,
        offset: 0,
        ...query,
      });
      return found.map(({ name }) => name);
    };

    test("are created, updated and deleted", async () => {
      const first = draft({
        name: strangeText,
        description: strangeText,
        defaultDatasetId: datasetId,
        metadata: { [strangeText]: 1 },
        reviewers: { num_reviewers_per_item: 2 },
      });
      const created = await create(first);
      expect(created).toMatchObject({ tenantId, name: strangeText, size: 0 });
      expect(await create(first)).toEqual(created);
      await expect(create({ ...first, name: "r" })).rejects.toMatchObject({ status: 409 });
      await expect(create({ defaultDatasetId: randomUUID() })).rejects.toMatchObject({
        status: 404,
      });
      const update = (tenant: string) =>
        fixture.write(() => writer.update(tenant, created.id, { ...unchanged, name: "r" }));
      await expect(update(otherId)).rejects.toMatchObject({ status: 404 });
      const updatedMicros = created.updatedMicros + 1;
      expect(await update(tenantId)).toEqual({ ...created, name: "r", updatedMicros });
      expect(await reader.find(tenantId, created.id)).toMatchObject({ name: "r", updatedMicros });
      const remove = (tenant: string) =>
        fixture.write(() => writer.delete(tenant, [created.id, randomUUID()]));
      expect(await remove(otherId)).toEqual([]);
      expect(await remove(tenantId)).toEqual([created.id]);
      expect(await reader.find(tenantId, created.id)).toBeUndefined();
    });

    test("are listed by filter, in order and in pages", async () => {
      const { id } = await create({ name: "b", createdMicros: 1, defaultDatasetId: datasetId });
      await create({ name: "a", createdMicros: 2 });
      await create({ name: strangeText, createdMicros: 3 });
      await fixture.write(() => writer.create(otherId, draft({ name: "foreign" })));
      await addRuns(id, ["run"]);
      expect(await list()).toEqual([strangeText, "a", "b"]);
      expect(await list({ isDescending: true, limit: 1, offset: 1 })).toEqual(["a"]);
      expect(await list({ sortBy: "created_at" })).toEqual(["b", "a", strangeText]);
      expect(await list({ ids: [id, randomUUID()] })).toEqual(["b"]);
      expect(await list({ name: strangeText })).toEqual([strangeText]);
      expect(await list({ nameContains: "B" })).toEqual([strangeText, "b"]);
      expect(await list({ defaultDatasetId: datasetId })).toEqual(["b"]);
      expect(await list({ runId: "run" })).toEqual(["b"]);
    });

    test("keep their runs in order, each once", async () => {
      const { id: queueId } = await create();
      await expect(
        fixture.write(() =>
          writer.addRuns(tenantId, queueId, [{ runId: "none", projectId: null }]),
        ),
      ).rejects.toMatchObject({ status: 404, message: "Runs not found: none" });
      const [first, second] = await addRuns(queueId, ["r1", "r2"]);
      const [firstId = "", secondId = ""] = [first?.id, second?.id];
      nowMicros += 1;
      expect(await addRuns(queueId, ["r2", "r3", "r3"])).toMatchObject([
        { id: secondId, addedMicros: nowMicros - 1 },
        { runId: "r3", addedMicros: nowMicros },
      ]);
      expect(await reader.readLastAdded(tenantId, ["r1", "r3", "r4"])).toEqual(
        new Map([
          ["r1", nowMicros - 1],
          ["r3", nowMicros],
        ]),
      );
      const key = { queueId, entryId: firstId };
      const move = { addedMicros: nowMicros + 1, reviewedMicros: undefined };
      await fixture.write(() => writer.updateRun(tenantId, key, move));
      const runs = async () => {
        const query = { queueId, status: undefined, limit: 2, offset: 0 };
        return (await reader.listEntries(tenantId, query)).map(({ runId }) => runId);
      };
      expect(await runs()).toEqual(["r2", "r3"]);
      await fixture.write(() => writer.removeRun(tenantId, { queueId, entryId: secondId }));
      expect(await runs()).toEqual(["r3", "r1"]);
      await expect(fixture.write(() => writer.removeRun(otherId, key))).rejects.toMatchObject({
        status: 404,
      });
      expect(await reader.countEntries(tenantId, { queueId, status: undefined })).toBe(2);
    });

    test("show the status of runs to API callers, and complete runs with enough reviewers", async () => {
      const { id: queueId } = await create({ reviewers: { num_reviewers_per_item: 2 } });
      const [first] = await addRuns(queueId, ["r1", "r2"]);
      const key = { queueId, entryId: first?.id ?? "" };
      const review = (reviewedMicros: number | null) =>
        fixture.write(() =>
          writer.updateRun(tenantId, key, { reviewedMicros, addedMicros: undefined }),
        );
      const runs = async (status: "needs_my_review" | "needs_others_review" | "completed") => {
        const query = { queueId, status, limit: 10, offset: 0 };
        const found = await reviewReader.listRuns(tenantId, query);
        expect(await reader.countEntries(tenantId, query)).toBe(found.length);
        return found.map(({ name }) => name);
      };
      expect(await runs("needs_my_review")).toEqual(["r1", "r2"]);
      expect(await review(5)).toMatchObject({
        reviewedMicros: 5,
        completedMicros: null,
        reviews: [{ reviewer: "", claimedUntilMicros: null, doneMicros: 5 }],
      });
      expect(await review(7)).toMatchObject({ reviewedMicros: 7 });
      expect(await runs("needs_others_review")).toEqual(["r1"]);
      const reviewers = { num_reviewers_per_item: 1 };
      await fixture.write(() => writer.update(tenantId, queueId, { ...unchanged, reviewers }));
      expect(await runs("completed")).toEqual(["r1"]);
      expect(await review(null)).toMatchObject({ reviewedMicros: null, reviews: [] });
      expect(await runs("needs_my_review")).toEqual(["r1", "r2"]);
    });

    test("are reviewed by one reviewer after the other", async () => {
      const { id: queueId } = await create();
      const entries = await addRuns(queueId, ["r1", "r2", "r3"]);
      const ids = entries.map(({ id }) => id);
      const claim = async (reviewer: string, kind: "next" | "after" | "before", place = 0) => {
        const pick = kind === "next" ? { kind } : { kind, entryId: ids[place] ?? "" };
        const request = { queueId, reviewer, choice: pick };
        return (await fixture.write(() => reviews.claim(tenantId, request)))?.index;
      };
      const keyOf = (reviewer: string, place: number) => ({
        queueId,
        entryId: ids[place] ?? "",
        reviewer,
      });
      expect([await claim("ann", "next"), await claim(strangeName, "next")]).toEqual([0, 1]);
      expect([await claim("cy", "after", 0), await claim("cy", "before", 2)]).toEqual([
        2,
        undefined,
      ]);
      await fixture.write(() => reviews.release(tenantId, keyOf("cy", 2), false));
      await fixture.write(() => reviews.release(tenantId, keyOf("ann", 0), true));
      expect([await claim("ann", "next"), await claim("cy", "before", 1)]).toEqual([2, 0]);
      await fixture.write(() => reviews.release(tenantId, keyOf("cy", 0), false));
      await fixture.write(() => reviews.finish(tenantId, keyOf("ann", 2)));
      expect(await claim("ann", "next")).toBe(0);
      await expect(
        fixture.write(() => reviews.finish(tenantId, keyOf("ann", 1))),
      ).rejects.toMatchObject({
        status: 409,
      });
      expect(await reviewReader.readProgress(tenantId, queueId, "ann")).toEqual({
        total: 3,
        completed: 1,
        reviewers: [
          { name: strangeName, done: 0, claimed: 1 },
          { name: "ann", done: 1, claimed: 1 },
          { name: "cy", done: 0, claimed: 0 },
        ],
        lastDoneId: ids[2],
      });
      expect(await fixture.write(() => reviews.reopen(tenantId, keyOf("ann", 2)))).toMatchObject({
        index: 2,
        claimedUntilMicros: nowMicros + minute,
        reviewedMicros: null,
        completedMicros: null,
      });
      await fixture.write(() => writer.removeRun(tenantId, keyOf("ann", 0)));
      await fixture.write(() => writer.delete(tenantId, [queueId]));
      expect(await reviewReader.readProgress(tenantId, queueId, "ann")).toEqual({
        total: 0,
        completed: 0,
        reviewers: [],
        lastDoneId: null,
      });
    });
  });
});
