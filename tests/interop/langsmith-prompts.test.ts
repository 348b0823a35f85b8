import { configureGlobalPromptCache } from "langsmith";
import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray } from "./langsmith/test-server.ts";
import { versions, newVersions, realVersions } from "./langsmith/methods.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("prompts");

const handle = (): string => `prompt-${crypto.randomUUID()}`;
/** On a server that other runs of the tests use too, another tenant may have a plain name. */
const tenantHandle = `mill-${crypto.randomUUID()}`;

const manifest = (template: string) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain", "prompts", "prompt", "PromptTemplate"],
  kwargs: { template, input_variables: [], template_format: "f-string" },
});

describe.each(versions)("prompts of %s", (version) => {
  test("a prompt is created, found, updated and deleted", async () => {
    const client = testServer.either(version);
    const name = handle();
    expect(await client.promptExists(name)).toBe(false);
    expect(await client.getPrompt(name)).toBeNull();
    const created = await client.createPrompt(name, {
      description: unusualText,
      readme: "# How to",
      tags: ["chat", "weather"],
    });
    const expected = {
      id: created.id,
      repo_handle: name,
      description: unusualText,
      readme: "# How to",
      tags: ["chat", "weather"],
      is_public: false,
      is_archived: false,
      num_commits: 0,
    };
    expect(await client.getPrompt(name)).toMatchObject(expected);
    expect(await client.getPrompt(`-/${name}`)).toMatchObject(expected);
    expect(await client.promptExists(name)).toBe(true);
    expect(await testServer.reader.prompts.read(name)).toMatchObject({ readme: "# How to" });
    await expect(client.createPrompt(name)).rejects.toThrow(/409|already exists|newer commit/u);

    await client.updatePrompt(name, { readme: "", tags: ["late"], isArchived: true });
    expect(await client.getPrompt(name)).toMatchObject({
      description: unusualText,
      readme: "",
      tags: ["late"],
      is_archived: true,
    });
    await client.deletePrompt(name);
    expect(await client.promptExists(name)).toBe(false);
    await expect(client.deletePrompt(name)).rejects.toThrow(/does not exist|not found/u);
  });

  test("prompts are listed by their properties, and over several pages", async () => {
    const client = testServer.either(version);
    const stem = crypto.randomUUID();
    const names = Array.from({ length: 102 }, (_, index) => `p-${stem}-${index}`);
    for (const name of names) {
      await client.createPrompt(name);
    }
    const [archived, ...others] = names as [string, ...string[]];
    await client.updatePrompt(archived, { isArchived: true });
    const listed = async (filter: Parameters<typeof client.listPrompts>[0]) =>
      new Set((await toArray(client.listPrompts(filter))).map(({ repo_handle }) => repo_handle));
    expect(await listed({ query: stem })).toEqual(new Set(others));
    expect(await listed({ query: stem, isArchived: true })).toEqual(new Set([archived]));
    expect(await listed({ query: stem, isPublic: true })).toEqual(new Set());
    expect((await listed({ query: stem, isPublic: false, sortField: "num_likes" })).size).toBe(101);
  });

  test("likes are counted once per tenant, and can be removed", async () => {
    const client = testServer.either(version);
    const name = handle();
    await client.createPrompt(name);
    expect(await client.likePrompt(name)).toEqual({ likes: 1 });
    expect(await client.likePrompt(name)).toEqual({ likes: 1 });
    expect(await client.getPrompt(name)).toMatchObject({ num_likes: 1 });
    expect(await client.unlikePrompt(name)).toEqual({ likes: 0 });
    expect(await client.getPrompt(name)).toMatchObject({ num_likes: 0 });
  });

  test("commits form a sequence, and are pulled by hash, by the beginning of a hash and as the latest", async () => {
    const client = testServer.either(version);
    const name = handle();
    await expect(client.createCommit(name, manifest("none"))).rejects.toThrow(
      /does not exist|not found/u,
    );
    await client.createPrompt(name);
    const firstUrl = await client.createCommit(name, manifest(unusualText));
    const [first] = await toArray(client.listCommits(`-/${name}`));
    expect(firstUrl).toContain(`/prompts/${name}/${first!.commit_hash.slice(0, 8)}`);
    await client.createCommit(name, manifest("second"), { parentCommitHash: first!.commit_hash });
    await client.createCommit(name, manifest("third"));
    const hashes = (await toArray(client.listCommits(`-/${name}`))).map(
      ({ commit_hash }) => commit_hash,
    );
    expect(hashes).toHaveLength(3);
    expect(hashes[2]).toBe(first!.commit_hash);
    const stale = client.createCommit(name, manifest("stale"), { parentCommitHash: hashes[2]! });
    await expect(stale).rejects.toThrow(/409|already exists|newer commit/u);

    const pulled = await client.pullPromptCommit(`${name}:${hashes[2]!}`);
    expect(pulled).toMatchObject({
      owner: "-",
      repo: name,
      commit_hash: hashes[2],
      manifest: manifest(unusualText),
      examples: [],
    });
    expect(await client.pullPromptCommit(`${name}:${hashes[1]!.slice(0, 8)}`)).toMatchObject({
      commit_hash: hashes[1],
    });
    expect(await client.pullPromptCommit(name, { includeModel: true })).toMatchObject({
      commit_hash: hashes[0],
      manifest: manifest("third"),
    });
    expect(JSON.parse(String(await client._pullPrompt(`${name}:${hashes[1]!}`)))).toEqual(
      manifest("second"),
    );
    expect(await testServer.reader.prompts.pull(name)).toMatchObject({ commitHash: hashes[0] });
    expect(await client.getPrompt(name)).toMatchObject({ num_commits: 3 });
  });

  test("a push creates or updates the prompt, and commits", async () => {
    const client = testServer.either(version);
    const name = handle();
    const bare = await client.pushPrompt(name, { description: "first" });
    expect(new URL(bare).pathname).toBe(`/prompts/${name}`);
    const url = await client.pushPrompt(name, {
      object: manifest("pushed"),
      description: "second",
      tags: ["chat"],
    });
    const [commit] = await toArray(client.listCommits(`-/${name}`));
    expect(url).toContain(commit!.commit_hash.slice(0, 8));
    expect(await client.getPrompt(name)).toMatchObject({ description: "second", tags: ["chat"] });
    expect(await client.pullPromptCommit(name)).toMatchObject({ manifest: manifest("pushed") });
  });

  test("a public prompt is found under the tenant's handle", async () => {
    await testServer.reader.tenant.setHandle(tenantHandle);
    const client = testServer.either(version);
    const name = handle();
    await client.createPrompt(`${tenantHandle}/${name}`, { isPublic: true });
    expect(await client.getPrompt(`${tenantHandle}/${name}`)).toMatchObject({
      owner: tenantHandle,
      full_name: `${tenantHandle}/${name}`,
      is_public: true,
    });
    const isPublic = await toArray(client.listPrompts({ isPublic: true, query: name }));
    expect(isPublic.map(({ repo_handle }) => repo_handle)).toEqual([name]);
    await expect(client.createPrompt(`another/${handle()}`)).rejects.toThrow("another tenant");
  });
});

describe("prompts of langsmith 0.10 alone", () => {
  test.each(newVersions)(
    "a commit has tags and a description, and is pulled by a tag (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const name = handle();
      await client.pushPrompt(name, {
        object: manifest("first"),
        commitTags: ["production", "v1"],
        commitDescription: "As released",
      });
      await client.createCommit(name, manifest("second"), { tags: "v2", description: unusualText });
      expect(await client.pullPromptCommit(`${name}:production`)).toMatchObject({
        manifest: manifest("first"),
      });
      expect(await client.pullPromptCommit(`${name}:v2`)).toMatchObject({
        manifest: manifest("second"),
      });
      const commits = await testServer.reader.prompts.listCommits(name).toArray();
      expect(commits.map(({ description }) => description)).toEqual([unusualText, "As released"]);
    },
  );

  test.each(newVersions)(
    "a pulled prompt comes from the cache until it is skipped (%s)",
    async (newer) => {
      configureGlobalPromptCache({ maxSize: 10, ttlSeconds: 3_600 });
      const client = testServer.newest(newer);
      const name = handle();
      await client.pushPrompt(name, { object: manifest("first") });
      expect(await client.pullPromptCommit(name)).toMatchObject({ manifest: manifest("first") });
      await client.createCommit(name, manifest("second"));
      expect(await client.pullPromptCommit(name)).toMatchObject({ manifest: manifest("first") });
      expect(await client.pullPromptCommit(name, { skipCache: true })).toMatchObject({
        manifest: manifest("second"),
      });
    },
  );

  test.each(realVersions)(
    "a prompt is found by the calls for agents and skills too, and listed as neither (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const name = handle();
      expect([await client.agentExists(name), await client.skillExists(name)]).toEqual([
        false,
        false,
      ]);
      await client.createPrompt(name);
      expect([await client.agentExists(name), await client.skillExists(name)]).toEqual([
        true,
        true,
      ]);
      expect(await toArray(client.listAgents({ query: name }))).toEqual([]);
      expect(await toArray(client.listSkills({ query: name }))).toEqual([]);
    },
  );
});

testServer.expectAllCalled();
