import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ProjectDraft, ProjectQuery } from "../project.ts";
import { ProjectReader } from "../project-reader.ts";
import { projectQueries } from "../project-queries.ts";
import { ProjectWriter } from "../project-writer.ts";
import { LongWrite } from "../../storage/long-write.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ projectQueries }, (fixture) => {
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
        fixture.db,
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
      fixture.write(() => createWriter().create(tenant, draft(rest)));
    const list = async (query: Partial<ProjectQuery> = {}): Promise<string[]> => {
      const found = await new ProjectReader(fixture.db).list(tenantId, {
        limit: 100,
        offset: 0,
        ...query,
      });
      return found.map((project) => project.name);
    };

    test("are read back as they were created, whatever their texts contain", async () => {
      const { upsert, ...given } = draft({
        name: strangeText,
        description: strangeText,
        endMicros: 1_700_000_000_000_002,
        extra: { metadata: { [strangeText]: strangeText }, deep: [1, null, { a: true }] },
        referenceDatasetId: randomUUID(),
      });
      const created = await create({ ...given, upsert });
      expect(created).toEqual({ ...given, tenantId });
      expect(await new ProjectReader(fixture.db).find(tenantId, created.id)).toEqual(created);
      expect(await new ProjectReader(fixture.db).find(otherId, created.id)).toBeUndefined();
      expect(await list({ name: strangeText })).toEqual([strangeText]);
    });

    test("keep a name and an id that are taken; another tenant's id gets a longer key", async () => {
      const first = await create({ description: "first" });
      const { id } = first;
      const taken = (what: string) => ({
        status: 409,
        message: `Session with this ${what} already exists.`,
      });
      await expect(create({ description: "second" })).rejects.toMatchObject(taken("name"));
      await expect(create({ id, name: "q" })).rejects.toMatchObject(taken("id"));
      expect(await new ProjectReader(fixture.db).find(tenantId, id)).toEqual(first);
      expect(await create({ id }, otherId)).toMatchObject({ id, tenantId: otherId });
      expect(await new ProjectReader(fixture.db).find(otherId, `${id}/${otherId}`)).toBeDefined();
      expect(await list()).toEqual(["p"]);
    });

    test("are updated by an upsert and by an update, in the given fields only", async () => {
      const first = await create({ description: "d", extra: { a: 1 } });
      expect(await create({ upsert: true, extra: { b: 2 } })).toEqual({
        ...first,
        extra: { b: 2 },
      });
      await create({ name: "taken" });
      const update = (name: string, id = first.id, endMicros: number | null = null) =>
        fixture.write(() => createWriter().update(tenantId, id, { ...unchanged, name, endMicros }));
      await expect(update("taken")).rejects.toMatchObject({ status: 409 });
      await expect(update("q", randomUUID())).rejects.toMatchObject({ status: 404 });
      const changed = { ...first, name: "q", extra: { b: 2 }, endMicros: 5 };
      expect(await update("q", first.id, 5)).toEqual(changed);
      // A project may keep its own name.
      expect(await update("q")).toEqual(changed);
      expect(await new ProjectReader(fixture.db).find(tenantId, first.id)).toEqual(changed);
      expect(await list()).toEqual(["q", "taken"]);
    });

    test("are deleted by the engine, and only if all of them exist", async () => {
      const [{ id: one }, { id: two }] = [await create(), await create({ name: "q" })];
      const remove = async (ids: readonly string[]) =>
        (await fixture.write(() => createWriter().deleteMany(tenantId, ids))).finish();
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
      expect(await list({ referenceDatasetIds: [dataset, randomUUID()] })).toEqual(["b1"]);
      expect(await list({ isReferenceFree: true })).toEqual(["A2", "a1"]);
      expect(await list({ isReferenceFree: false })).toEqual(["b1"]);
      expect(await list({ nameContains: "A" })).toEqual(["A2", "a1"]);
      expect(await list({ nameContains: "1", isReferenceFree: true })).toEqual(["a1"]);
      expect(await list({ metadata: { deep: { y: [2], x: 1 } } })).toEqual(["a1"]);
      expect(await list({ metadata: { team: "a" }, limit: 1, offset: 1 })).toEqual(["a1"]);
      expect(await list({ metadata: { toString: null } })).toEqual([]);
    });
  });
});
