import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { FeedbackQuery } from "../feedback.ts";
import { feedbackQueries } from "../feedback-queries.ts";
import { FeedbackReader } from "../feedback-reader.ts";
import { FeedbackTrendReader } from "../feedback-trend.ts";
import { FeedbackWriter } from "../feedback-writer.ts";
import type { FeedbackDraft } from "../../runs/run-feedback.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import { createFeedbackDraft } from "../../../tests/support/feedback-draft.ts";

describeRepositories({ feedbackQueries }, (fixture) => {
  describe("feedback", () => {
    const noFilter = { readStats: () => ({ filtered: { n: 1, avg: null, values: {} } }) };
    const sealer = TokenKeys.createRandom();
    const createReader = (keys = sealer) => new FeedbackReader(fixture.db, keys, noFilter);
    const createWriter = () =>
      new FeedbackWriter(
        fixture.db,
        { keyOf: (_kind, _tenantId, id) => id, assignQualifiedKey: (_kind, _tenantId, id) => id },
        sealer,
      );
    const create = (rest: Partial<FeedbackDraft> = {}, tenant = tenantId) =>
      fixture.write(() => createWriter().create(tenant, createFeedbackDraft(rest)));
    const list = async (query: Partial<FeedbackQuery> = {}) => {
      const found = await createReader().list(tenantId, { limit: 100, offset: 0, ...query });
      return found.map(({ key }) => key);
    };
    const insertComparative = async () => {
      const id = randomUUID();
      await fixture.exec(`INSERT INTO comparatives
          (tenant_id, id, dataset_id, name_json, created_us, modified_us, digest)
        VALUES ('${tenantId}', '${id}', 'd', '"c"', 1, 1, 'x')`);
      return id;
    };

    test("is read back as it was created, whatever its texts contain", async () => {
      const given = createFeedbackDraft({
        key: strangeText,
        score: true,
        value: { [strangeText]: [1, null] },
        comment: strangeText,
        correction: { a: strangeText },
        config: { type: "continuous" },
        sourceType: strangeText,
        sourceMetadata: { b: 1 },
        extra: { c: null },
        createdMicros: 1_700_000_000_000_001,
      });
      const created = await create(given);
      expect(created).toEqual({ ...given, modifiedMicros: given.createdMicros, run: null });
      expect(await createReader().find(tenantId, given.id)).toEqual(created);
      expect(await createReader().find(otherId, given.id)).toBeUndefined();
      expect(await create(given)).toEqual(created);
      await expect(create({ ...given, score: false })).rejects.toMatchObject({ status: 409 });
      expect(await create({ id: given.id }, otherId)).toMatchObject({ key: "k" });
    });

    test("is about a run that may arrive later, or an existing project or comparison", async () => {
      const projectId = await fixture.insertProject();
      const runId = await fixture.insertRun(projectId);
      const run = { traceId: "trace", startMicros: 7, isRoot: true };
      expect(await create({ runId })).toMatchObject({ runId, projectId, run });
      const childId = await fixture.insertRun(projectId, { parentId: runId });
      expect(await create({ runId: childId })).toMatchObject({ run: { ...run, isRoot: false } });
      expect(await create({ runId }, otherId)).toMatchObject({ projectId: null, run: null });
      expect(await create({ runId: null, projectId })).toMatchObject({ projectId, run: null });
      const missing = { status: 404 };
      await expect(create({ runId: null, projectId }, otherId)).rejects.toMatchObject(missing);
      await expect(create({ comparativeId: randomUUID() })).rejects.toMatchObject(missing);
      const comparativeId = await insertComparative();
      expect(await create({ comparativeId })).toMatchObject({ comparativeId });
    });

    test("is updated in the given fields, and deleted", async () => {
      const created = await create({ score: 0.5, comment: "c" });
      const changes = {
        score: 1,
        value: null,
        comment: undefined,
        correction: "better",
        config: undefined,
      };
      const updated = await fixture.write(() =>
        createWriter().update(tenantId, created.id, changes),
      );
      expect(updated).toEqual({
        ...created,
        score: 1,
        correction: "better",
        modifiedMicros: updated.modifiedMicros,
      });
      expect(updated.modifiedMicros).toBeGreaterThan(created.modifiedMicros);
      const missing = { status: 404 };
      const update = () => createWriter().update(otherId, created.id, changes);
      await expect(fixture.write(update)).rejects.toMatchObject(missing);
      const remove = (tenant: string) =>
        fixture.write(() => createWriter().delete(tenant, created.id));
      await expect(remove(otherId)).rejects.toMatchObject(missing);
      await remove(tenantId);
      await expect(remove(tenantId)).rejects.toMatchObject(missing);
    });

    test("is listed by filter, latest first and in pages", async () => {
      const [projectId, otherProjectId] = [
        await fixture.insertProject(),
        await fixture.insertProject(),
      ];
      const comparativeId = await insertComparative();
      const runId = await fixture.insertRun(projectId);
      // The run's project counts, not the one that the caller names.
      await create({ runId, projectId: otherProjectId, key: "a", score: 1, createdMicros: 1 });
      await create({ key: "b", comparativeId, comment: strangeText, createdMicros: 2 });
      await create({ runId: null, projectId, key: strangeText, sourceType: "s", createdMicros: 3 });
      await create({ runId, key: "foreign" }, otherId);
      expect(await list()).toEqual([strangeText, "b", "a"]);
      expect(await list({ limit: 1, offset: 1 })).toEqual(["b"]);
      expect(await list({ runIds: [runId, randomUUID()] })).toEqual(["a"]);
      expect(await list({ runIds: [] })).toEqual([]);
      expect(await list({ projectIds: [projectId] })).toEqual([strangeText, "a"]);
      expect(await list({ projectIds: [otherProjectId] })).toEqual([]);
      expect(await list({ keys: [strangeText, "b"] })).toEqual([strangeText, "b"]);
      expect(await list({ sourceTypes: ["s"] })).toEqual([strangeText]);
      expect(await list({ level: "run" })).toEqual(["b", "a"]);
      expect(await list({ level: "session" })).toEqual([strangeText]);
      expect(await list({ hasScore: true })).toEqual(["a"]);
      expect(await list({ hasScore: false, hasComment: true })).toEqual(["b"]);
      expect(await list({ hasComment: false })).toEqual([strangeText, "a"]);
      expect(await list({ comparativeId })).toEqual(["b"]);
      expect(await list({ minCreatedMicros: 2, maxCreatedMicros: 2 })).toEqual(["b"]);
    });

    test("is summed up by run, project and comparison, and read for charts", async () => {
      const projectId = await fixture.insertProject();
      const comparativeId = await insertComparative();
      const runId = await fixture.insertRun(projectId);
      const prose = "p".repeat(300);
      await create({ runId, score: 0.25, value: "good", createdMicros: 1 });
      await create({ runId, comparativeId, score: true, value: "good", createdMicros: 2 });
      await create({ runId, value: prose, createdMicros: 3 });
      await create({ runId: null, projectId, value: 7, createdMicros: 4 });
      await create({ runId: null, projectId: await fixture.insertProject(), createdMicros: 5 });
      await create({ runId, score: 9 }, otherId);
      const reader = createReader();
      const ofRun = { k: { n: 3, avg: 0.625, values: { good: 2 } } };
      const ofComparison = { k: { n: 1, avg: 1, values: { good: 1 } } };
      expect(await reader.readStatsOfRuns(tenantId, [runId, "x"])).toEqual(
        new Map([[runId, ofRun]]),
      );
      expect(await reader.readStatsOfRuns(tenantId, [runId], comparativeId)).toEqual(
        new Map([[runId, ofComparison]]),
      );
      expect(await reader.statsOfProjectRuns(tenantId, [projectId])).toEqual(
        new Map([[projectId, ofRun]]),
      );
      expect(await reader.statsOfProjects(tenantId, [projectId])).toEqual(
        new Map([[projectId, { k: { n: 1, avg: null, values: { 7: 1 } } }]]),
      );
      expect(await reader.statsOfComparatives(tenantId, [comparativeId])).toEqual(
        new Map([[comparativeId, ofComparison]]),
      );
      expect(await reader.readStatsOfFilter(tenantId, { projectIds: [] })).toEqual(
        noFilter.readStats(),
      );
      const read = (limit: number) =>
        new FeedbackTrendReader(fixture.db).read(tenantId, {
          projectId,
          fromMicros: 2,
          toMicros: 6,
          limit,
        });
      const points = [
        { key: "k", atMicros: 4, score: null, value: "7" },
        { key: "k", atMicros: 3, score: null, value: null },
        { key: "k", atMicros: 2, score: 1, value: "good" },
      ];
      expect(await read(10)).toEqual({ points, isComplete: true });
      expect(await read(3)).toEqual({ points: points.slice(0, 2), isComplete: false });
    });

    test("may be submitted under tokens, which are stored encrypted", async () => {
      const runId = randomUUID();
      const [past, future] = [1, 4_000_000_000_000_000];
      const config = { [strangeText]: 1 };
      const created = await fixture.write(() =>
        createWriter().createTokens(
          tenantId,
          [past, future, future].map((expiresMicros, index) => ({
            runId,
            key: `${strangeText}${index}`,
            config: index === 0 ? config : null,
            expiresMicros,
          })),
        ),
      );
      const page = { limit: 10, offset: 0 };
      expect(await createReader().listTokens(tenantId, runId, page)).toEqual(created);
      expect(await createReader().listTokens(tenantId, runId, { limit: 1, offset: 1 })).toEqual([
        created[1],
      ]);
      expect(await createReader().listTokens(otherId, runId, page)).toEqual([]);
      expect(await createReader().findToken(String(created[0]?.token))).toEqual(created[0]);
      expect(await createReader().findToken(randomUUID())).toBeUndefined();
      // With another key, expired tokens are left out; the others can't be shown.
      const stranger = createReader(TokenKeys.createRandom());
      expect(await stranger.listTokens(tenantId, runId, { limit: 1, offset: 2 })).toEqual([]);
      await expect(stranger.listTokens(tenantId, runId, page)).rejects.toMatchObject({
        status: 409,
      });
    });
  });
});
