import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FeedbackQuery } from "../src/feedback/feedback.ts";
import { feedbackQueries } from "../src/feedback/feedback-queries.ts";
import { FeedbackReader } from "../src/feedback/feedback-reader.ts";
import { FeedbackTrend } from "../src/feedback/feedback-trend.ts";
import { FeedbackWriter } from "../src/feedback/feedback-writer.ts";
import type { ProjectDraft, ProjectQuery } from "../src/projects/project.ts";
import { ProjectReader } from "../src/projects/project-reader.ts";
import { projectQueries } from "../src/projects/project-queries.ts";
import { ProjectWriter } from "../src/projects/project-writer.ts";
import type { PromptDraft, PromptQuery } from "../src/prompts/prompt.ts";
import { promptQueries } from "../src/prompts/prompt-queries.ts";
import { PromptReader } from "../src/prompts/prompt-reader.ts";
import { PromptWriter } from "../src/prompts/prompt-writer.ts";
import type { FeedbackDraft } from "../src/runs/run-feedback.ts";
import { shareQueries } from "../src/shares/share-queries.ts";
import { ShareReader } from "../src/shares/share-reader.ts";
import { ShareWriter } from "../src/shares/share-writer.ts";
import { LongWrite } from "../src/storage/long-write.ts";
import { digestToken } from "../src/storage/share-token.ts";
import { TokenKeys } from "../src/storage/sqlite/token-keys.ts";
import { openPostgres, openSqlite } from "./support/repository-engines.ts";
import type { RepositoryEngine } from "./support/repository-engines.ts";

// The repositories of small resources are written once. The same tests run on SQLite and on PostgreSQL, compiled to
// WebAssembly, and at the end each query of the repositories has run on PostgreSQL.

/** NUL and half of a surrogate pair, which a text column can't store, and a backslash before what looks like an escape. */
const strangeText = `<b>'; DROP TABLE projects; --\u0000\ud800"\\u0000 \u00e9`;

const [tenantId, otherId] = [randomUUID(), randomUUID()];

/** The queries that ran on PostgreSQL. */
const queriesRun = new Set<unknown>();

const engines: readonly (readonly [string, () => Promise<RepositoryEngine>])[] = [
  ["SQLite", openSqlite],
  ["PostgreSQL", () => openPostgres((query) => queriesRun.add(query))],
];

describe.each(engines)("on %s", (_engine, open) => {
  let engine: RepositoryEngine;

  beforeAll(async () => {
    engine = await open();
  });

  beforeEach(async () => {
    await engine.exec(`DELETE FROM projects; DELETE FROM prompts; DELETE FROM prompt_commits;
      DELETE FROM prompt_tags; DELETE FROM prompt_likes; DELETE FROM tenants;
      DELETE FROM feedback; DELETE FROM feedback_tokens; DELETE FROM runs; DELETE FROM comparatives;
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
          lengthen: async (_kind, owner, id) => `${id}/${owner}`,
        },
        {
          deleteAll: (_tenantId, ids) =>
            new LongWrite(
              (function* deleteAll(): Generator<void, void> {
                deleted.push(ids);
                yield;
              })(),
            ),
          forget: () => undefined,
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
    const noFilter = { stats: () => ({ filtered: { n: 1, avg: null, values: {} } }) };
    const sealer = TokenKeys.random();
    const createReader = (keys = sealer) => new FeedbackReader(engine.db, keys, noFilter);
    const createWriter = () =>
      new FeedbackWriter(
        engine.db,
        { keyOf: (_kind, _tenantId, id) => id, lengthen: (_kind, _tenantId, id) => id },
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
      expect(await reader.statsOfRuns(tenantId, [runId, "x"])).toEqual(new Map([[runId, ofRun]]));
      expect(await reader.statsOfRuns(tenantId, [runId], comparativeId)).toEqual(
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
      expect(await reader.statsOfFilter(tenantId, { projectIds: [] })).toEqual(noFilter.stats());
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
      const stranger = createReader(TokenKeys.random());
      expect(await stranger.listTokens(tenantId, runId, { limit: 1, offset: 2 })).toEqual([]);
      await expect(stranger.listTokens(tenantId, runId, page)).rejects.toMatchObject({
        status: 409,
      });
    });
  });

  describe("shares", () => {
    const sealer = TokenKeys.random();
    const createReader = (keys = sealer) => new ShareReader(engine.db, keys);
    const createWriter = (keys = sealer) => new ShareWriter(engine.db, keys);
    const insertRoot = (projectId: string, id: string = randomUUID()) =>
      insertRun(projectId, { id, traceId: id.slice(0, 36) });
    const stranger = TokenKeys.random();
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
  const missing = Object.entries({
    feedbackQueries,
    projectQueries,
    promptQueries,
    shareQueries,
  }).flatMap(([resource, queries]) =>
    Object.entries<unknown>(queries).flatMap(([query, built]) =>
      queriesRun.has(built) ? [] : [`${resource}.${query}`],
    ),
  );
  expect(missing).toEqual([]);
});
