import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { PromptDraft, PromptQuery } from "../prompt.ts";
import { promptQueries } from "../prompt-queries.ts";
import { PromptReader } from "../prompt-reader.ts";
import { PromptWriter } from "../prompt-writer.ts";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";

describeRepositories({ promptQueries }, (fixture) => {
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
      reader = new PromptReader(fixture.db);
      writer = new PromptWriter(fixture.db);
    });
    const create = (handle: string, rest: Partial<PromptDraft> = {}) =>
      fixture.write(() => writer.create(tenantId, draft(handle, rest)));
    const commit = (parent: string | null, manifest: object) =>
      fixture.write(() =>
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
        fixture.write(() => writer.create(otherId, draft("p", { isPublic: true }))),
      ).rejects.toMatchObject({ status: 422 });
      const changes = { ...unchanged, isPublic: false, isArchived: true, readme: "r" };
      const updated = await fixture.write(() => writer.update(tenantId, own("p"), changes));
      expect(updated).toMatchObject({ isArchived: true, fields: { ...fields, readme: "r" } });
      expect(updated.updatedMicros).toBeGreaterThan(created.updatedMicros);
      expect(await reader.find(otherId, { owner: "mill", repo: "p" })).toBeUndefined();
      await expect(
        fixture.write(() => writer.delete(otherId, { owner: "mill", repo: "p" })),
      ).rejects.toMatchObject({ status: 404 });
      expect(await fixture.write(() => writer.delete(tenantId, own("p")))).toBe(created.id);
      expect(await reader.find(tenantId, own("p"))).toBeUndefined();
    });

    test("are deleted by id, if the tenant owns them", async () => {
      const { id } = await create("p");
      const remove = (tenant: string) =>
        fixture.write(() => writer.deleteMany(tenant, [id, randomUUID()]));
      expect(await remove(otherId)).toEqual([]);
      expect(await remove(tenantId)).toEqual([id]);
      expect(await list()).toEqual([0]);
    });

    test("are liked once by each tenant", async () => {
      await create("p", { isPublic: true });
      const like = (tenant: string, isLiked: boolean) =>
        fixture.write(() => writer.like(tenant, { owner: "mill", repo: "p" }, isLiked));
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
        commitCount: 2,
        lastHash: second.hash,
      });
    });

    test("count how often a commit is read", async () => {
      await create("p");
      const { id } = await commit(null, {});
      await fixture.write(() => writer.count(id, "views"));
      await fixture.write(() => writer.count(id, "downloads"));
      await fixture.write(() => writer.count(id, "downloads"));
      const counts = { views: 1, downloads: 2 };
      expect(await reader.find(tenantId, own("p"))).toMatchObject(counts);
      expect((await reader.pull(tenantId, own("p"), "latest")).commit).toMatchObject(counts);
    });

    test("have tags, which move", async () => {
      await create("p");
      const first = await commit(null, {});
      const second = await commit("latest", { a: 1 });
      const tag = (name: string, commitId: string, mustExist = false) =>
        fixture.write(() => writer.writeTag(tenantId, own("p"), { name, commitId, mustExist }));
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
      await fixture.write(() => writer.deleteTag(tenantId, own("p"), "prod"));
      await expect(reader.readTag(tenantId, own("p"), "prod")).rejects.toMatchObject({
        status: 404,
      });
    });
  });
});
