import { expect } from "vitest";
import type { Story } from "./story-context.ts";
import { tenantHandle } from "./tenant.ts";

export const tellPrompts: Story = async ({ client, checkEffect }) => {
  const { prompts } = client;
  const manifest = { lc: 1, type: "constructor", id: ["prompts"], kwargs: { template: "{q}" } };
  const fields = { description: "asks", readme: "# Asks", tags: ["short"], isPublic: true };
  const created = await prompts.create("asking", fields);
  await prompts.update("asking", { ...fields, description: "asks again", isArchived: false });
  const first = await prompts.commit("asking", { manifest, description: "first" });
  await prompts.commit("asking", {
    manifest: { ...manifest, kwargs: { template: "{q}?" } },
    parentCommit: first.commitHash,
    description: "second",
    tags: ["production"],
  });
  const pulled = await prompts.pull(`asking:${first.commitHash.slice(0, 8)}`, {
    includeModel: true,
  });
  await prompts.pull("asking");
  await prompts.get("asking", { fallback: { manifest } });
  const commits = await prompts.listCommits("asking", { limit: 5 }).toArray();
  await prompts.listCommits("asking", { tag: "production", limit: 5 }).toArray();
  const tag = await prompts.tag(`asking:${first.commitHash}`, { tag: "stable" });
  const readTag = await prompts.readTag("asking", { tag: "stable" });
  const tags = await prompts.listTags("asking");
  await checkEffect(() => {
    expect(pulled).toMatchObject({ commitHash: first.commitHash, manifest });
    expect(commits).toHaveLength(2);
    expect(readTag).toEqual(tag);
    expect(tags.map(({ name }) => name).toSorted()).toEqual(["production", "stable"]);
  });
  await prompts.deleteTag("asking", { tag: "stable" });
  const likes = [await prompts.like("asking"), await prompts.unlike("asking")];
  const read = await prompts.read("asking");
  const found = await prompts
    .list({
      query: "ask",
      isPublic: true,
      isArchived: "any",
      tags: ["short"],
      owner: tenantHandle,
      sortField: "updatedAt",
      sortDirection: "asc",
      limit: 5,
    })
    .toArray();
  await checkEffect(() => {
    expect(likes).toEqual([1, 0]);
    expect(read).toMatchObject({ id: created.id, description: "asks again", owner: tenantHandle });
    expect(found.map(({ repo }) => repo)).toEqual(["asking"]);
  });
  const pushed = await prompts.push("fresh", {
    ...fields,
    manifest,
    commitDescription: "pushed",
    commitTags: ["production"],
  });
  await prompts.push("asking", { description: "pushed", manifest, parentCommit: "latest" });
  const url = await prompts.url(`asking:${first.commitHash}`);
  await checkEffect(async () => {
    expect(pushed).toMatchObject({ isNew: true, isCommitted: true });
    expect(url).toContain(`/prompts/asking/${first.commitHash.slice(0, 8)}`);
    expect(await prompts.has("asking")).toBe(true);
  });
  const fresh = await prompts.read("asking");
  await prompts.has("asking");
  await prompts.deleteMany([fresh.id]);
  await prompts.delete("fresh");
  await checkEffect(async () => {
    expect([await prompts.has("asking"), await prompts.has("fresh")]).toEqual([false, false]);
  });
};
