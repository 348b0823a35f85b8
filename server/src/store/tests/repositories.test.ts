import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FeedbackQuery } from "../../feedback/feedback.ts";
import { feedbackQueries } from "../../feedback/feedback-queries.ts";
import { FeedbackReader } from "../../feedback/feedback-reader.ts";
import { FeedbackTrend } from "../../feedback/feedback-trend.ts";
import { FeedbackWriter } from "../../feedback/feedback-writer.ts";
import type { FeedbackDraft } from "../../runs/run-feedback.ts";
import { shareQueries } from "../../shares/share-queries.ts";
import { ShareReader } from "../../shares/share-reader.ts";
import { ShareWriter } from "../../shares/share-writer.ts";
import { digestToken } from "../../storage/share-token.ts";
import { TokenKeys } from "../../storage/sqlite/token-keys.ts";
import type { QueueDraft, QueueQuery } from "../../queues/annotation-queue.ts";
import { AnnotationQueueReader } from "../../queues/annotation-queue-reader.ts";
import { AnnotationQueueWriter } from "../../queues/annotation-queue-writer.ts";
import { annotationQueueQueries } from "../../queues/annotation-queue-queries.ts";
import { QueueReviewReader } from "../../queues/queue-review-reader.ts";
import { QueueReviewWriter } from "../../queues/queue-review-writer.ts";
import { queueReviewQueries } from "../../queues/queue-review-queries.ts";
import type { ComparativeDraft, ComparativeQuery } from "../../experiments/comparative.ts";
import { comparativeQueries } from "../../experiments/comparative-queries.ts";
import { ComparativeReader } from "../../experiments/comparative-reader.ts";
import { ComparativeWriter } from "../../experiments/comparative-writer.ts";
import type { ProjectDraft, ProjectQuery } from "../../projects/project.ts";
import { ProjectReader } from "../../projects/project-reader.ts";
import { projectQueries } from "../../projects/project-queries.ts";
import { ProjectWriter } from "../../projects/project-writer.ts";
import type { PromptDraft, PromptQuery } from "../../prompts/prompt.ts";
import { promptQueries } from "../../prompts/prompt-queries.ts";
import { PromptReader } from "../../prompts/prompt-reader.ts";
import { PromptWriter } from "../../prompts/prompt-writer.ts";
import { retentionQueries } from "../../runs/retention/retention-queries.ts";
import { RetentionRules } from "../../runs/retention/retention-rules.ts";
import { RetentionWriter } from "../../runs/retention/retention-writer.ts";
import { tenantQueries } from "../../tenants/tenant-queries.ts";
import { TenantReader } from "../../tenants/tenant-reader.ts";
import { TenantWriter } from "../../tenants/tenant-writer.ts";
import { LongWrite } from "../../storage/long-write.ts";
import { createEngines } from "../../../tests/support/repository-engines.ts";
import type { RepositoryEngine } from "../../../tests/support/repository-engines.ts";

// The repositories of small resources are written once. The same tests run on SQLite and on PostgreSQL, compiled to
// WebAssembly, and at the end each query of the repositories has run on PostgreSQL.

/** NUL and half of a surrogate pair, which a text column can't store, and a backslash before what looks like an escape. */
const strangeText = `<b>'; DROP TABLE projects; --\u0000\ud800"\\u0000 \u00e9`;

/** A text that a text column can store. */
const strangeName = `<b>'; DROP TABLE runs; -- \u00e9`;

const [tenantId, otherId] = [randomUUID(), randomUUID()];

const { engines, findUnused } = createEngines();

describe.each(engines)("on %s", (_engine, open) => {
  let engine: RepositoryEngine;

  beforeAll(async () => {
    engine = await open();
  });

  beforeEach(async () => {
    await engine.exec(`DELETE FROM projects; DELETE FROM prompts; DELETE FROM prompt_commits;
      DELETE FROM prompt_tags; DELETE FROM prompt_likes; DELETE FROM tenants; DELETE FROM runs;
      DELETE FROM datasets; DELETE FROM annotation_queue_runs; DELETE FROM annotation_queues;
      DELETE FROM comparatives; DELETE FROM comparative_experiments;
      DELETE FROM api_keys; DELETE FROM settings; DELETE FROM feedback; DELETE FROM feedback_tokens;
      DELETE FROM shares; DELETE FROM trace_shares; DELETE FROM thread_shares;
      INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES
        ('${tenantId}', 'mill', '"mill"', 1), ('${otherId}', NULL, '"other"', 2)`);
  });

  afterAll(() => engine.close());

  /** Calls a write as the writer thread does. */
  const write = <Result>(call: () => Promise<Result>): Promise<Result> => engine.transact(call);

  const insertProject = async (owner = tenantId) => {
    const id = randomUUID();
    await engine.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us)
      VALUES ('${id}', '${owner}', '"${id}"', 1)`);
    return id;
  };

  const insertRun = async (
    projectId: string,
    rest: { readonly id?: string; readonly traceId?: string; readonly parentId?: string } = {},
  ) => {
    const { id = randomUUID(), traceId = "trace", parentId = "" } = rest;
    const parent = parentId === "" ? "NULL" : `'${parentId}'`;
    await engine.exec(`INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, has_error,
        parent_run_id, dotted_order, posted, patched)
      VALUES ('${traceId}', '${id}', '${projectId}', 'r', 'llm', 7, 0, ${parent}, '', 1, 0)`);
    return id;
  };

  describe("projects", () => {
    const draft = (rest: Partial<ProjectDraft> = {}): ProjectDraft => ({
      id: randomUUID(),
      name: "p",
      description: null,
      startMicros: 1_700_000_000_000_001,
      endMicros: null,
      extra: null,
      referenceDatasetId: null,
      upsert: false,
      ...rest,
    });
    const unchanged = { name: null, description: null, endMicros: null, extra: null };
    const deleted: (readonly string[])[] = [];
    const createWriter = (): ProjectWriter =>
      new ProjectWriter(
        engine.db,
        {
          keyOf: (_kind, _tenantId, id) => id,
          assignQualifiedKey: async (_kind, owner, id) => `${id}/${owner}`,
        },
        {
          deleteAll: (_tenantId, ids) =>
            new LongWrite(
              (function* deleteAll(): Generator<void, void> {
                deleted.push(ids);
                yield;
              })(),
            ),
          clearCache: () => undefined,
        },
      );
    const create = (rest: Partial<ProjectDraft> = {}, tenant = tenantId) =>
      write(() => createWriter().create(tenant, draft(rest)));
    const list = async (query: Partial<ProjectQuery> = {}): Promise<string[]> => {
      const found = await new ProjectReader(engine.db).list(tenantId, {
        limit: 100,
        offset: 0,
        ...query,
      });
      return found.map((project) => project.name);
    };

    test("are read back as they were created, whatever their texts contain", async () => {
      const created = await create({
        name: strangeText,
        description: strangeText,
        endMicros: 1_700_000_000_000_002,
        extra: { metadata: { [strangeText]: strangeText }, deep: [1, null, { a: true }] },
        referenceDatasetId: randomUUID(),
      });
      expect(created).toMatchObject({ tenantId, name: strangeText });
      expect(await new ProjectReader(engine.db).find(tenantId, created.id)).toEqual(created);
      expect(await new ProjectReader(engine.db).find(otherId, created.id)).toBeUndefined();
      expect(await list({ name: strangeText })).toEqual([strangeText]);
    });

    test("keep a name and an id that are taken; another tenant's id gets a longer key", async () => {
      const { id } = await create();
      await expect(create()).rejects.toMatchObject({ status: 409, message: /name/ });
      await expect(create({ id, name: "q" })).rejects.toMatchObject({ status: 409, message: /id/ });
      expect(await create({ id }, otherId)).toMatchObject({ id, tenantId: otherId });
      expect(await new ProjectReader(engine.db).find(otherId, `${id}/${otherId}`)).toBeDefined();
      expect(await list()).toEqual(["p"]);
    });

    test("are updated by an upsert and by an update, in the given fields only", async () => {
      const first = await create({ description: "d", extra: { a: 1 } });
      expect(await create({ upsert: true, extra: { b: 2 } })).toEqual({
        ...first,
        extra: { b: 2 },
      });
      await create({ name: "taken" });
      const update = (name: string, id = first.id) =>
        write(() => createWriter().update(tenantId, id, { ...unchanged, name }));
      await expect(update("taken")).rejects.toMatchObject({ status: 409 });
      await expect(update("q", randomUUID())).rejects.toMatchObject({ status: 404 });
      expect(await update("q")).toEqual({ ...first, name: "q", extra: { b: 2 } });
      expect(await list()).toEqual(["q", "taken"]);
    });

    test("are deleted by the engine, and only if all of them exist", async () => {
      const [{ id: one }, { id: two }] = [await create(), await create({ name: "q" })];
      const remove = async (ids: readonly string[]) =>
        (await write(() => createWriter().deleteMany(tenantId, ids))).finish();
      await expect(remove([one, randomUUID()])).rejects.toMatchObject({ status: 404 });
      expect(deleted).toEqual([]);
      await remove([one, two, one]);
      expect(deleted.splice(0)).toEqual([[one, two]]);
    });

    test("are listed by filter, in order and in pages", async () => {
      const dataset = randomUUID();
      const metadata = { team: "a", deep: { x: 1, y: [2] } };
      const { id } = await create({ name: "a1", extra: { metadata }, startMicros: 3 });
      await create({ name: "A2", extra: { metadata: { team: "a" } }, startMicros: 1 });
      await create({ name: "b1", referenceDatasetId: dataset, startMicros: 2 });
      await create({ name: "foreign" }, otherId);
      // Upper case sorts before lower case: texts are compared by bytes.
      expect(await list()).toEqual(["A2", "a1", "b1"]);
      expect(await list({ isDescending: true, limit: 1, offset: 1 })).toEqual(["a1"]);
      expect(await list({ sortBy: "start_time" })).toEqual(["A2", "b1", "a1"]);
      expect(await list({ ids: [id, randomUUID()] })).toEqual(["a1"]);
      expect(await list({ ids: [] })).toEqual([]);
      expect(await list({ referenceDatasetIds: [dataset] })).toEqual(["b1"]);
      expect(await list({ isReferenceFree: true })).toEqual(["A2", "a1"]);
      expect(await list({ isReferenceFree: false })).toEqual(["b1"]);
      expect(await list({ nameContains: "A" })).toEqual(["A2", "a1"]);
      expect(await list({ metadata: { deep: { y: [2], x: 1 } } })).toEqual(["a1"]);
      expect(await list({ metadata: { team: "a" }, limit: 1, offset: 1 })).toEqual(["a1"]);
    });
  });

  describe("prompts", () => {
    const noFields = {
      description: null,
      readme: null,
      tags: [],
      restrictedMode: false,
      source: null,
    };
    const draft = (handle: string, rest: Partial<PromptDraft> = {}): PromptDraft => ({
      handle,
      repoType: "prompt",
      isPublic: false,
      fields: noFields,
      ...rest,
    });
    const unchanged = {
      isPublic: null,
      isArchived: null,
      description: null,
      readme: null,
      tags: null,
      restrictedMode: null,
    };
    const own = (repo: string) => ({ owner: "-", repo });
    let reader: PromptReader;
    let writer: PromptWriter;
    beforeEach(() => {
      reader = new PromptReader(engine.db);
      writer = new PromptWriter(engine.db);
    });
    const create = (handle: string, rest: Partial<PromptDraft> = {}) =>
      write(() => writer.create(tenantId, draft(handle, rest)));
    const commit = (parent: string | null, manifest: object) =>
      write(() =>
        writer.commit(tenantId, own("p"), {
          manifest: JSON.stringify(manifest),
          parent,
          description: strangeText,
        }),
      );
    const list = async (query: Partial<PromptQuery> = {}, tenant = tenantId) => {
      const { prompts, total } = await reader.list(tenant, {
        repoTypes: ["prompt"],
        sort: "repo_handle",
        direction: "asc",
        limit: 100,
        offset: 0,
        ...query,
      });
      return [total, ...prompts.map(({ handle }) => handle)];
    };

    test("are created, read, updated and deleted", async () => {
      const fields = { ...noFields, description: strangeText, tags: [strangeText, "a"] };
      const created = await create("p", { fields, isPublic: true });
      expect(created).toMatchObject({ owner: "mill", fields, isLiked: false, commitTags: [] });
      expect(await reader.find(tenantId, own("p"))).toEqual(created);
      expect(await reader.find(otherId, { owner: "mill", repo: "p" })).toEqual(created);
      await expect(create("p")).rejects.toMatchObject({ status: 409 });
      await expect(
        write(() => writer.create(otherId, draft("p", { isPublic: true }))),
      ).rejects.toMatchObject({ status: 422 });
      const changes = { ...unchanged, isPublic: false, isArchived: true, readme: "r" };
      const updated = await write(() => writer.update(tenantId, own("p"), changes));
      expect(updated).toMatchObject({ isArchived: true, fields: { ...fields, readme: "r" } });
      expect(updated.updatedMicros).toBeGreaterThan(created.updatedMicros);
      expect(await reader.find(otherId, { owner: "mill", repo: "p" })).toBeUndefined();
      await expect(
        write(() => writer.delete(otherId, { owner: "mill", repo: "p" })),
      ).rejects.toMatchObject({ status: 404 });
      expect(await write(() => writer.delete(tenantId, own("p")))).toBe(created.id);
      expect(await reader.find(tenantId, own("p"))).toBeUndefined();
    });

    test("are deleted by id, if the tenant owns them", async () => {
      const { id } = await create("p");
      const remove = (tenant: string) => write(() => writer.deleteMany(tenant, [id, randomUUID()]));
      expect(await remove(otherId)).toEqual([]);
      expect(await remove(tenantId)).toEqual([id]);
      expect(await list()).toEqual([0]);
    });

    test("are liked once by each tenant", async () => {
      await create("p", { isPublic: true });
      const like = (tenant: string, isLiked: boolean) =>
        write(() => writer.like(tenant, { owner: "mill", repo: "p" }, isLiked));
      expect(await like(tenantId, true)).toBe(1);
      expect(await like(tenantId, true)).toBe(1);
      expect(await like(otherId, true)).toBe(2);
      expect(await reader.find(tenantId, own("p"))).toMatchObject({ isLiked: true, likes: 2 });
      expect(await like(tenantId, false)).toBe(1);
      expect(await reader.find(tenantId, own("p"))).toMatchObject({ isLiked: false, likes: 1 });
    });

    test("are listed by filter, in order and in pages", async () => {
      const fields = { ...noFields, description: `Water ${strangeText}`, tags: ["a", "b"] };
      await create("wheel", { fields: { ...fields, source: "external" } });
      await create("water", { isPublic: true });
      await create("tool", { repoType: "skill" });
      expect(await list()).toEqual([2, "water", "wheel"]);
      expect(await list({ limit: 1, offset: 1 })).toEqual([2, "wheel"]);
      expect(await list({}, otherId)).toEqual([1, "water"]);
      expect(await list({ repoTypes: ["skill", "prompt"] })).toEqual([3, "tool", "water", "wheel"]);
      expect(await list({ text: "WATER" })).toEqual([2, "water", "wheel"]);
      const relevance = { text: "water", sort: "relevance", direction: "desc" } as const;
      expect(await list(relevance)).toEqual([2, "water", "wheel"]);
      expect(await list({ sort: "updated_at", direction: "desc" })).toEqual([2, "water", "wheel"]);
      expect(await list({ tenantId: otherId })).toEqual([0]);
      expect(await list({ tenantHandle: "mill" })).toEqual([2, "water", "wheel"]);
      expect(await list({ isPublic: true })).toEqual([1, "water"]);
      expect(await list({ isArchived: true })).toEqual([0]);
      expect(await list({ hasCommits: true })).toEqual([0]);
      expect(await list({ hasCommits: false })).toEqual([2, "water", "wheel"]);
      expect(await list({ source: "external" })).toEqual([1, "wheel"]);
      expect(await list({ tags: ["b", "a"] })).toEqual([1, "wheel"]);
      expect(await list({ tags: ["a", "c"] })).toEqual([0]);
    });

    test("keep their commits, which build on each other", async () => {
      await create("p");
      await expect(reader.pull(tenantId, own("p"), "latest")).rejects.toMatchObject({
        status: 404,
      });
      const first = await commit(null, { text: strangeText });
      const second = await commit(first.hash, { text: "second" });
      expect(second).toMatchObject({ parentId: first.id, description: strangeText });
      await expect(commit(first.hash, { text: "third" })).rejects.toMatchObject({ status: 409 });
      await expect(commit("latest", { text: "second" })).rejects.toMatchObject({ status: 409 });
      expect(await reader.listCommits(tenantId, own("p"), { limit: 1, offset: 0 })).toEqual({
        commits: [second],
        total: 2,
      });
      const pulled = { commit: first, manifest: JSON.stringify({ text: strangeText }) };
      for (const name of [first.hash, first.hash.slice(0, 12)]) {
        expect(await reader.pull(tenantId, own("p"), name)).toEqual(pulled);
      }
      expect(await reader.find(tenantId, own("p"))).toMatchObject({
        commits: 2,
        lastHash: second.hash,
      });
    });

    test("count how often a commit is read", async () => {
      await create("p");
      const { id } = await commit(null, {});
      await write(() => writer.count(id, "views"));
      await write(() => writer.count(id, "downloads"));
      await write(() => writer.count(id, "downloads"));
      const counts = { views: 1, downloads: 2 };
      expect(await reader.find(tenantId, own("p"))).toMatchObject(counts);
      expect((await reader.pull(tenantId, own("p"), "latest")).commit).toMatchObject(counts);
    });

    test("have tags, which move", async () => {
      await create("p");
      const first = await commit(null, {});
      const second = await commit("latest", { a: 1 });
      const tag = (name: string, commitId: string, mustExist = false) =>
        write(() => writer.writeTag(tenantId, own("p"), { name, commitId, mustExist }));
      await expect(tag("prod", first.id, true)).rejects.toMatchObject({ status: 404 });
      await expect(tag("prod", randomUUID())).rejects.toMatchObject({ status: 404 });
      const created = await tag("prod", first.id);
      expect(await reader.readTag(tenantId, own("p"), "prod")).toEqual(created);
      expect((await reader.pull(tenantId, own("p"), "prod")).commit).toEqual(first);
      const moved = await tag("prod", second.id, true);
      expect(moved).toMatchObject({ id: created.id, commitHash: second.hash });
      await tag("dev", second.id);
      expect((await reader.listTags(tenantId, own("p"))).map((one) => one.name)).toEqual([
        "dev",
        "prod",
      ]);
      expect(await reader.find(tenantId, own("p"))).toMatchObject({ commitTags: ["dev", "prod"] });
      const page = { limit: 10, offset: 0 };
      expect(await reader.listCommits(tenantId, own("p"), { ...page, tag: "prod" })).toEqual({
        commits: [second],
        total: 1,
      });
      await write(() => writer.deleteTag(tenantId, own("p"), "prod"));
      await expect(reader.readTag(tenantId, own("p"), "prod")).rejects.toMatchObject({
        status: 404,
      });
    });
  });

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
      reader = new AnnotationQueueReader(engine.db, clock);
      reviewReader = new QueueReviewReader(engine.db, clock);
      writer = new AnnotationQueueWriter(engine.db, clock);
      reviews = new QueueReviewWriter(engine.db, clock);
      await engine.exec(`
        INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, example_count, is_ready, body)
          VALUES ('${datasetId}', '${tenantId}', '"d"', 1, 1, 0, 1, '{}');
        INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES ('p', '${tenantId}', '"p"', 1)`);
    });
    const create = (rest: Partial<QueueDraft> = {}) =>
      write(() => writer.create(tenantId, draft(rest)));
    const addRuns = async (queueId: string, runIds: readonly string[]) => {
      const values = runIds.map(
        (id, index) => `('t', '${id}', 'p', '${id}', 'llm', ${index}, NULL, 0, '', 1, 0)`,
      );
      await engine.exec(`INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, end_us, has_error,
        dotted_order, posted, patched) VALUES ${values.join()} ON CONFLICT DO NOTHING`);
      const keys = runIds.map((runId) => ({ runId, projectId: "p" }));
      return write(() => writer.addRuns(tenantId, queueId, keys));
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
        write(() => writer.update(tenant, created.id, { ...unchanged, name: "r" }));
      await expect(update(otherId)).rejects.toMatchObject({ status: 404 });
      const updatedMicros = created.updatedMicros + 1;
      expect(await update(tenantId)).toEqual({ ...created, name: "r", updatedMicros });
      expect(await reader.find(tenantId, created.id)).toMatchObject({ name: "r", updatedMicros });
      const remove = (tenant: string) =>
        write(() => writer.delete(tenant, [created.id, randomUUID()]));
      expect(await remove(otherId)).toEqual([]);
      expect(await remove(tenantId)).toEqual([created.id]);
      expect(await reader.find(tenantId, created.id)).toBeUndefined();
    });

    test("are listed by filter, in order and in pages", async () => {
      const { id } = await create({ name: "b", createdMicros: 1, defaultDatasetId: datasetId });
      await create({ name: "a", createdMicros: 2 });
      await create({ name: strangeText, createdMicros: 3 });
      await write(() => writer.create(otherId, draft({ name: "foreign" })));
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
        write(() => writer.addRuns(tenantId, queueId, [{ runId: "none", projectId: null }])),
      ).rejects.toMatchObject({ status: 404, message: "Runs not found: none" });
      const [first, second] = await addRuns(queueId, ["r1", "r2"]);
      const [firstId = "", secondId = ""] = [first?.id, second?.id];
      nowMicros += 1;
      expect(await addRuns(queueId, ["r2", "r3", "r3"])).toMatchObject([
        { id: secondId, addedMicros: nowMicros - 1 },
        { runId: "r3", addedMicros: nowMicros },
      ]);
      expect(await reader.lastAdded(tenantId, ["r1", "r3", "r4"])).toEqual(
        new Map([
          ["r1", nowMicros - 1],
          ["r3", nowMicros],
        ]),
      );
      const key = { queueId, entryId: firstId };
      const move = { addedMicros: nowMicros + 1, reviewedMicros: undefined };
      await write(() => writer.updateRun(tenantId, key, move));
      const runs = async () => {
        const query = { queueId, status: undefined, limit: 2, offset: 0 };
        return (await reader.listEntries(tenantId, query)).map(({ runId }) => runId);
      };
      expect(await runs()).toEqual(["r2", "r3"]);
      await write(() => writer.removeRun(tenantId, { queueId, entryId: secondId }));
      expect(await runs()).toEqual(["r3", "r1"]);
      await expect(write(() => writer.removeRun(otherId, key))).rejects.toMatchObject({
        status: 404,
      });
      expect(await reader.size(tenantId, { queueId, status: undefined })).toBe(2);
    });

    test("show the status of runs to API callers, and complete runs with enough reviewers", async () => {
      const { id: queueId } = await create({ reviewers: { num_reviewers_per_item: 2 } });
      const [first] = await addRuns(queueId, ["r1", "r2"]);
      const key = { queueId, entryId: first?.id ?? "" };
      const review = (reviewedMicros: number | null) =>
        write(() => writer.updateRun(tenantId, key, { reviewedMicros, addedMicros: undefined }));
      const runs = async (status: "needs_my_review" | "needs_others_review" | "completed") => {
        const query = { queueId, status, limit: 10, offset: 0 };
        const found = await reviewReader.listRuns(tenantId, query);
        expect(await reader.size(tenantId, query)).toBe(found.length);
        return found.map(({ name }) => name);
      };
      expect(await runs("needs_my_review")).toEqual(["r1", "r2"]);
      expect(await review(5)).toMatchObject({
        reviewedMicros: 5,
        completedMicros: null,
        reviews: [{ reviewer: "", untilMicros: null, doneMicros: 5 }],
      });
      expect(await review(7)).toMatchObject({ reviewedMicros: 7 });
      expect(await runs("needs_others_review")).toEqual(["r1"]);
      const reviewers = { num_reviewers_per_item: 1 };
      await write(() => writer.update(tenantId, queueId, { ...unchanged, reviewers }));
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
        return (await write(() => reviews.claim(tenantId, request)))?.index;
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
      await write(() => reviews.release(tenantId, keyOf("cy", 2), false));
      await write(() => reviews.release(tenantId, keyOf("ann", 0), true));
      expect([await claim("ann", "next"), await claim("cy", "before", 1)]).toEqual([2, 0]);
      await write(() => reviews.release(tenantId, keyOf("cy", 0), false));
      await write(() => reviews.finish(tenantId, keyOf("ann", 2)));
      expect(await claim("ann", "next")).toBe(0);
      await expect(write(() => reviews.finish(tenantId, keyOf("ann", 1)))).rejects.toMatchObject({
        status: 409,
      });
      expect(await reviewReader.progress(tenantId, queueId, "ann")).toEqual({
        total: 3,
        completed: 1,
        reviewers: [
          { name: strangeName, done: 0, claimed: 1 },
          { name: "ann", done: 1, claimed: 1 },
          { name: "cy", done: 0, claimed: 0 },
        ],
        lastDone: ids[2],
      });
      expect(await write(() => reviews.reopen(tenantId, keyOf("ann", 2)))).toMatchObject({
        index: 2,
        untilMicros: nowMicros + minute,
        reviewedMicros: null,
        completedMicros: null,
      });
      await write(() => writer.removeRun(tenantId, keyOf("ann", 0)));
      await write(() => writer.delete(tenantId, [queueId]));
      expect(await reviewReader.progress(tenantId, queueId, "ann")).toEqual({
        total: 0,
        completed: 0,
        reviewers: [],
        lastDone: null,
      });
    });
  });

  describe("comparative experiments", () => {
    const dataset = randomUUID();
    beforeEach(() =>
      engine.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us, reference_dataset_id) VALUES
        ('a', '${tenantId}', '"a \\u0000"', 1, '${dataset}'), ('b', '${tenantId}', '"b"', 1, '${dataset}'),
        ('other', '${tenantId}', '"o"', 1, '${randomUUID()}'), ('none', '${tenantId}', '"n"', 1, NULL)`),
    );
    const draft = (rest: Partial<ComparativeDraft> = {}): ComparativeDraft => ({
      id: randomUUID(),
      name: null,
      description: null,
      experimentIds: ["b", "a"],
      datasetId: null,
      extra: null,
      createdMicros: null,
      ...rest,
    });
    const create = (rest: Partial<ComparativeDraft> = {}, tenant = tenantId) =>
      write(() => new ComparativeWriter(engine.db).create(tenant, draft(rest)));
    const list = (query: Partial<ComparativeQuery> = {}) =>
      new ComparativeReader(engine.db).list(tenantId, {
        datasetId: dataset,
        sortBy: "name",
        isDescending: false,
        limit: 100,
        offset: 0,
        ...query,
      });

    test("are created once, on one dataset", async () => {
      const first = draft({
        name: strangeText,
        description: strangeText,
        extra: { [strangeText]: 1 },
        createdMicros: 5,
      });
      const created = await create(first);
      const { experimentIds: _ids, ...kept } = first;
      expect(created).toEqual({
        ...kept,
        tenantId,
        datasetId: dataset,
        modifiedMicros: 5,
        experiments: [
          { id: "b", name: "b" },
          { id: "a", name: "a \u0000" },
        ],
      });
      expect(await create(first)).toEqual(created);
      await expect(create({ ...first, extra: null })).rejects.toMatchObject({ status: 409 });
      const refused = [
        [["a", "x"], 404, "Experiments not found: x"],
        [["a", "other"], 422, `Experiments are not on dataset ${dataset}: other`],
        [["none"], 422, "A reference dataset is required"],
      ] as const;
      for (const [experimentIds, status, message] of refused) {
        await expect(create({ experimentIds })).rejects.toMatchObject({ status, message });
      }
      await expect(create({}, otherId)).rejects.toMatchObject({ status: 404 });
      await engine.exec("DELETE FROM projects WHERE id = 'b'");
      expect((await list()).map(({ experiments }) => experiments.length)).toEqual([1]);
    });

    test("are listed by filter, in order and in pages", async () => {
      const names = async (query: Partial<ComparativeQuery> = {}) =>
        (await list(query)).map(({ name }) => name);
      const { id } = await create({ name: "b", createdMicros: 1 });
      await create({ name: "A", createdMicros: 2 });
      await create({ createdMicros: 3 });
      expect(await names()).toEqual([null, "A", "b"]);
      expect(await names({ isDescending: true, limit: 2, offset: 1 })).toEqual(["A", null]);
      expect(await names({ sortBy: "created_at" })).toEqual(["b", "A", null]);
      expect(await names({ ids: [id, randomUUID()] })).toEqual(["b"]);
      expect(await names({ name: "A" })).toEqual(["A"]);
      expect(await names({ nameContains: "a" })).toEqual(["A"]);
      expect(await names({ datasetId: randomUUID() })).toEqual([]);
    });
  });

  describe("tenants", () => {
    let reader: TenantReader;
    let writer: TenantWriter;
    beforeEach(() => {
      reader = new TenantReader(engine.db);
      writer = new TenantWriter(engine.db);
    });

    test("are created, found and listed; a handle belongs to one of them", async () => {
      const create = (handle: string | null) =>
        write(() => writer.create({ handle, displayName: strangeText }));
      const created = await create("acme");
      expect(created).toMatchObject({ handle: "acme", displayName: strangeText });
      expect(await reader.find(created.id)).toEqual(created);
      expect(await reader.findByHandle("acme")).toEqual(created);
      expect(await reader.find(randomUUID())).toBeUndefined();
      expect(await reader.findByHandle("none")).toBeUndefined();
      await expect(create("acme")).rejects.toMatchObject({ status: 409 });
      await expect(create("A b")).rejects.toMatchObject({ status: 422 });
      const nameless = await create(null);
      const setHandle = (id: string, handle: string) => write(() => writer.setHandle(id, handle));
      expect(await setHandle(nameless.id, "set")).toEqual({ ...nameless, handle: "set" });
      expect(await setHandle(nameless.id, "set")).toEqual({ ...nameless, handle: "set" });
      await expect(setHandle(nameless.id, "mill")).rejects.toMatchObject({ status: 409 });
      await expect(setHandle(randomUUID(), "free")).rejects.toMatchObject({ status: 404 });
      const ids = (await reader.list()).map(({ id }) => id);
      expect(ids.slice(0, 2)).toEqual([tenantId, otherId]);
      expect(ids).toHaveLength(4);
    });

    test("have keys, which give access until they are revoked", async () => {
      const create = (tenant: string) =>
        write(() => writer.createKey(tenant, { name: strangeText }));
      await expect(create(randomUUID())).rejects.toMatchObject({ status: 404 });
      expect(await reader.hasKeys()).toBe(false);
      const { id, key } = await create(tenantId);
      const other = await create(otherId);
      expect(await reader.hasKeys()).toBe(true);
      expect(await reader.findByKey(key)).toBe(tenantId);
      expect(await reader.findByKey(other.key)).toBe(otherId);
      const revoke = (keyId: string) => write(() => writer.revokeKey(keyId));
      const revoked = await revoke(id);
      expect(revoked).toMatchObject({ id, tenantId, name: strangeText, hint: key.slice(-4) });
      expect(revoked.revokedMicros).not.toBeNull();
      expect(await revoke(id)).toEqual(revoked);
      await expect(revoke(randomUUID())).rejects.toMatchObject({ status: 404 });
      expect(await reader.findByKey(key)).toBeUndefined();
      expect(await reader.listKeys(tenantId)).toEqual([revoked]);
      expect((await reader.listKeys()).map((listed) => listed.id).toSorted()).toEqual(
        [id, other.id].toSorted(),
      );
    });
  });

  test("retention rules apply to the projects of their tenant, and are replaced and removed", async () => {
    const day = 86_400_000_000;
    const [first, second, foreign] = [randomUUID(), randomUUID(), randomUUID()].toSorted();
    await engine.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us) VALUES
      ('${first}', '${tenantId}', '"a"', 1), ('${second}', '${tenantId}', '"b"', 1),
      ('${foreign}', '${otherId}', '"a"', 1)`);
    const deletions: unknown[][] = [];
    let runsLeft = 0;
    const writer = new RetentionWriter(engine.db, {
      deleteSome: (...args) => {
        deletions.push(args);
        return runsLeft;
      },
    });
    const rules = (tenant = tenantId) => new RetentionRules(engine.db).list(tenant);
    const set = (projectId: string | null, days: number | null) =>
      write(() => writer.set(tenantId, { projectId, days }));
    const sweep = async (from: string | null = null) => {
      const step = await write(() => writer.sweep(100 * day, from));
      return [step, deletions.splice(0).map(([, project, before]) => [project, before])];
    };
    const end = { deleted: 0, next: null };
    await set(first ?? "", null);
    expect(await sweep()).toEqual([end, []]);
    await set(null, 7);
    await set(second ?? "", 5);
    await set(second ?? "", 30);
    await expect(set(foreign ?? "", 1)).rejects.toMatchObject({ status: 404 });
    expect(await rules()).toEqual([
      { projectId: null, days: 7 },
      { projectId: first, days: null },
      { projectId: second, days: 30 },
    ]);
    expect(await rules(otherId)).toEqual([]);
    expect(await sweep()).toEqual([end, [[second, 70 * day]]]);
    await write(() => writer.clear(tenantId, first ?? ""));
    runsLeft = 3;
    expect(await sweep()).toEqual([{ deleted: 3, next: first }, [[first, 93 * day]]]);
    expect(await sweep(second)).toEqual([{ deleted: 3, next: second }, [[second, 70 * day]]]);
    await write(() => writer.clear(tenantId, null));
    expect(await rules()).toEqual([{ projectId: second, days: 30 }]);
  });

  describe("feedback", () => {
    const draft = (rest: Partial<FeedbackDraft> = {}): FeedbackDraft => ({
      id: randomUUID(),
      runId: randomUUID(),
      projectId: null,
      comparativeId: null,
      key: "k",
      score: null,
      value: null,
      comment: null,
      correction: null,
      config: null,
      sourceType: "api",
      sourceMetadata: null,
      extra: null,
      createdMicros: null,
      ...rest,
    });
    const noFilter = { readStats: () => ({ filtered: { n: 1, avg: null, values: {} } }) };
    const sealer = TokenKeys.createRandom();
    const createReader = (keys = sealer) => new FeedbackReader(engine.db, keys, noFilter);
    const createWriter = () =>
      new FeedbackWriter(
        engine.db,
        { keyOf: (_kind, _tenantId, id) => id, assignQualifiedKey: (_kind, _tenantId, id) => id },
        sealer,
      );
    const create = (rest: Partial<FeedbackDraft> = {}, tenant = tenantId) =>
      write(() => createWriter().create(tenant, draft(rest)));
    const list = async (query: Partial<FeedbackQuery> = {}) => {
      const found = await createReader().list(tenantId, { limit: 100, offset: 0, ...query });
      return found.map(({ key }) => key);
    };
    const insertComparative = async () => {
      const id = randomUUID();
      await engine.exec(`INSERT INTO comparatives
          (tenant_id, id, dataset_id, name_json, created_us, modified_us, digest)
        VALUES ('${tenantId}', '${id}', 'd', '"c"', 1, 1, 'x')`);
      return id;
    };

    test("is read back as it was created, whatever its texts contain", async () => {
      const given = draft({
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
      const projectId = await insertProject();
      const runId = await insertRun(projectId);
      const run = { traceId: "trace", startMicros: 7, isRoot: true };
      expect(await create({ runId })).toMatchObject({ runId, projectId, run });
      const childId = await insertRun(projectId, { parentId: runId });
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
      const updated = await write(() => createWriter().update(tenantId, created.id, changes));
      expect(updated).toEqual({
        ...created,
        score: 1,
        correction: "better",
        modifiedMicros: updated.modifiedMicros,
      });
      expect(updated.modifiedMicros).toBeGreaterThan(created.modifiedMicros);
      const missing = { status: 404 };
      const update = () => createWriter().update(otherId, created.id, changes);
      await expect(write(update)).rejects.toMatchObject(missing);
      const remove = (tenant: string) => write(() => createWriter().delete(tenant, created.id));
      await expect(remove(otherId)).rejects.toMatchObject(missing);
      await remove(tenantId);
      await expect(remove(tenantId)).rejects.toMatchObject(missing);
    });

    test("is listed by filter, latest first and in pages", async () => {
      const [projectId, otherProjectId] = [await insertProject(), await insertProject()];
      const comparativeId = await insertComparative();
      const runId = await insertRun(projectId);
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
      const projectId = await insertProject();
      const comparativeId = await insertComparative();
      const runId = await insertRun(projectId);
      const prose = "p".repeat(300);
      await create({ runId, score: 0.25, value: "good", createdMicros: 1 });
      await create({ runId, comparativeId, score: true, value: "good", createdMicros: 2 });
      await create({ runId, value: prose, createdMicros: 3 });
      await create({ runId: null, projectId, value: 7, createdMicros: 4 });
      await create({ runId: null, projectId: await insertProject(), createdMicros: 5 });
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
        new FeedbackTrend(engine.db).read(tenantId, {
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
      const created = await write(() =>
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

  describe("shares", () => {
    const sealer = TokenKeys.createRandom();
    const createReader = (keys = sealer) => new ShareReader(engine.db, keys);
    const createWriter = (keys = sealer) => new ShareWriter(engine.db, keys);
    const insertRoot = (projectId: string, id: string = randomUUID()) =>
      insertRun(projectId, { id, traceId: id.slice(0, 36) });
    const stranger = TokenKeys.createRandom();
    const [missing, hidden] = [{ status: 404 }, { status: 409 }];

    test("of a single run are found by their token", async () => {
      const runId = await insertRun(await insertProject());
      const token = randomUUID();
      await engine.exec(`INSERT INTO shares (digest, sealed, trace_id, id)
        VALUES ('${digestToken(token)}', 'x', 'trace', '${runId}')`);
      expect(await createReader().find(token)).toEqual({ kind: "run", tenantId, runId });
      expect(await createReader().find(randomUUID())).toBeUndefined();
    });

    test("of a trace keep their token, and give access while the run is its root", async () => {
      const projectId = await insertProject();
      const id = await insertRoot(projectId);
      const childId = await insertRun(projectId, { traceId: id, parentId: id });
      // Another tenant's trace with the same id.
      const longId = await insertRoot(await insertProject(otherId), `${id}/${otherId}`);
      const share = (rootId: string, tenant = tenantId, keys = sealer) =>
        write(() => createWriter(keys).shareTrace(tenant, rootId));
      const token = await share(id);
      const otherToken = await share(longId, otherId);
      expect(await share(id)).toBe(token);
      await expect(share(id, otherId)).rejects.toMatchObject(missing);
      await expect(share(childId)).rejects.toMatchObject(missing);
      await expect(share(id, tenantId, stranger)).rejects.toMatchObject(hidden);
      expect(await createReader().find(token)).toEqual({ kind: "trace", tenantId, traceId: id });
      expect(await createReader().find(otherToken)).toMatchObject({ tenantId: otherId });
      const list = (tenant: string, ids: readonly string[], keys = sealer) =>
        createReader(keys).findTraceTokens(tenant, ids);
      expect(await list(tenantId, [id, randomUUID()])).toEqual(new Map([[id, token]]));
      expect(await list(tenantId, [longId])).toEqual(new Map());
      expect(await list(otherId, [id])).toEqual(new Map());
      expect(await list(otherId, [longId])).toEqual(new Map([[longId, otherToken]]));
      expect(await list(tenantId, [id], stranger)).toEqual(new Map([[id, { isHidden: true }]]));
      await engine.exec(`UPDATE runs SET parent_run_id = 'x' WHERE id = '${id}'`);
      expect(await createReader().find(token)).toBeUndefined();
      expect(await list(tenantId, [id])).toEqual(new Map());
      await engine.exec(`UPDATE runs SET parent_run_id = NULL WHERE id = '${id}'`);
      await write(() => createWriter().unshareTrace(otherId, id));
      expect(await createReader().find(token)).toBeDefined();
      await write(() => createWriter().unshareTrace(tenantId, id));
      expect(await createReader().find(token)).toBeUndefined();
    });

    test("of a thread keep their token until they are deleted", async () => {
      const projectId = await insertProject();
      const thread = { projectId, threadId: strangeText };
      const share = (tenant: string, keys = sealer) =>
        write(() => createWriter(keys).shareThread(tenant, thread));
      const token = await share(tenantId);
      expect(await share(tenantId)).toBe(token);
      await expect(share(otherId)).rejects.toMatchObject(missing);
      await expect(share(tenantId, stranger)).rejects.toMatchObject(hidden);
      const found = { kind: "thread", tenantId, ...thread };
      expect(await createReader().find(token)).toEqual(found);
      expect(await createReader().findThreadToken(tenantId, thread)).toBe(token);
      expect(await createReader().findThreadToken(otherId, thread)).toBeNull();
      const otherThread = { ...thread, threadId: "t" };
      expect(await createReader().findThreadToken(tenantId, otherThread)).toBeNull();
      expect(await createReader(stranger).findThreadToken(tenantId, thread)).toEqual({
        isHidden: true,
      });
      await write(() => createWriter().unshareThread(otherId, thread));
      expect(await createReader().find(token)).toEqual(found);
      await write(() => createWriter().unshareThread(tenantId, thread));
      expect(await createReader().find(token)).toBeUndefined();
    });
  });
});

test("each query of the repositories has run on PostgreSQL", () => {
  const unused = findUnused({
    projectQueries,
    promptQueries,
    annotationQueueQueries,
    queueReviewQueries,
    comparativeQueries,
    tenantQueries,
    retentionQueries,
    feedbackQueries,
    shareQueries,
  });
  expect(unused).toEqual([]);
});
