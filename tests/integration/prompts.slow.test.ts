import { ChatPromptTemplate } from "@langchain/core/prompts";
import { load } from "@langchain/core/load";
import { Client } from "millrace";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { hubTenants } from "../../server/tests/support/hub-tenants.ts";
import { runServer, sharedServer } from "../../server/tests/support/running-server.ts";

/** Clients of three tenants of one server: `me` and `you` have handles, `nameless` has none. */
async function clients(): Promise<Readonly<Record<"me" | "you" | "nameless", Client>>> {
  const { server, keys } = await hubTenants();
  const clientOf = (apiKey: string): Client => {
    const client = new Client({ endpoint: server.url, apiKey });
    onTestFinished(async () => void (await client.close()));
    return client;
  };
  return { me: clientOf(keys.me), you: clientOf(keys.you), nameless: clientOf(keys.nameless) };
}

/** A client of a new tenant of the shared server. */
async function ownClient(): Promise<Client> {
  const { url } = await runServer();
  const client = new Client({ endpoint: url });
  onTestFinished(async () => void (await client.close()));
  return client;
}

const hostile = `<script>'; DROP TABLE prompts; --"\u0000 \ud800 😀`;

describe("a prompt of the caller's tenant", () => {
  test("is created once by clients that push it at the same time", async () => {
    const { me } = await clients();
    const manifest = { lc: 1 };
    const pushes = await Promise.all(
      [1, 2, 3, 4].map(() => me.prompts.push("deploy", { manifest, commitTags: ["prod"] })),
    );
    expect(pushes.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(pushes.filter(({ isCommitted }) => isCommitted)).toHaveLength(1);
    expect(new Set(pushes.map(({ commitHash }) => commitHash)).size).toBe(1);
    expect(await me.prompts.listCommits("deploy").toArray()).toHaveLength(1);
  });

  test("is pushed, pulled, changed, tagged and deleted", async () => {
    const { prompts } = (await clients()).me;
    expect(await prompts.has("p")).toBe(false);
    const manifest = { lc: 1, text: hostile, nested: { [hostile]: [hostile] } };
    const first = await prompts.push("p", { manifest, description: hostile, commitTags: ["one"] });
    expect(first).toMatchObject({ isNew: true, isCommitted: true });
    const page = await prompts.url(`p:${String(first.commitHash)}`);
    expect(first.url).toBe(page);
    expect(await prompts.pull("p")).toEqual({
      owner: "-",
      repo: "p",
      commitHash: first.commitHash,
      manifest,
      examples: [],
    });
    expect(await prompts.push("p", { manifest })).toEqual({
      ...first,
      isNew: false,
      isCommitted: false,
    });
    const second = await prompts.commit("p", { manifest: { lc: 2 }, description: hostile });
    expect(second).toMatchObject({
      parentCommitHash: first.commitHash,
      description: hostile,
    });
    const short = second.commitHash.slice(0, 7);
    expect(await prompts.pull(`me/p:${short}`)).toMatchObject({ commitHash: second.commitHash });
    expect(await prompts.pull("p:one")).toMatchObject({ manifest });
    await prompts.tag("p", { tag: "one" });
    expect(await prompts.pull("p:one")).toMatchObject({ manifest: { lc: 2 } });
    expect(await prompts.tag(`p:${String(first.commitHash)}`, { tag: "two" })).toMatchObject({
      name: "two",
      commitHash: first.commitHash,
    });
    expect((await prompts.listTags("p")).map(({ name }) => name)).toEqual(["one", "two"]);
    await prompts.deleteTag("p", { tag: "two" });
    await expect(prompts.readTag("p", { tag: "two" })).rejects.toMatchObject({ status: 404 });
    expect((await prompts.listCommits("p").toArray()).map(({ commitHash }) => commitHash)).toEqual([
      second.commitHash,
      first.commitHash,
    ]);
    expect(await prompts.update("p", { readme: hostile, isArchived: true })).toMatchObject({
      description: hostile,
      readme: hostile,
      isArchived: true,
      commits: 2,
      lastCommitHash: second.commitHash,
    });
    expect(await prompts.list().toArray()).toEqual([]);
    const { id } = await prompts.read("p");
    expect(await prompts.list({ isArchived: true }).toArray()).toMatchObject([{ id }]);
    await prompts.delete("p");
    await expect(prompts.read("p")).rejects.toThrow("Prompt[-/p] not found");
    await expect(prompts.delete("p")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(prompts.update("p", { readme: "" })).rejects.toThrow(
      "Prompt does not exist, you must create it first.",
    );
    await expect(prompts.commit("p", { manifest })).rejects.toThrow(
      "Prompt does not exist, you must create it first.",
    );
  });

  test("of LangChain is returned unchanged", async () => {
    const { prompts } = await ownClient();
    const template = ChatPromptTemplate.fromMessages([
      ["system", "You are {who}"],
      ["human", "{input}"],
    ]);
    await prompts.push("p", { manifest: template });
    const { manifest } = await prompts.pull("p");
    const loaded = await load<ChatPromptTemplate>(JSON.stringify(manifest));
    const variables = { who: "a clerk", input: "hello" };
    expect((await loaded.invoke(variables)).toString()).toBe(
      (await template.invoke(variables)).toString(),
    );
  });

  test("refuses a commit on a parent that is no longer the latest", async () => {
    const { prompts } = await ownClient();
    await prompts.create("p");
    await expect(prompts.pull("p")).rejects.toThrow("No commits found: push one first");
    const { commitHash } = await prompts.commit("p", { manifest: { n: 1 } });
    await prompts.commit("p", { manifest: { n: 2 } });
    const stale = prompts.commit("p", { manifest: { n: 3 }, parentCommit: commitHash });
    await expect(stale).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("a newer commit exists") as string,
    });
    await expect(prompts.commit("p", { manifest: { n: 2 } })).rejects.toMatchObject({
      code: "CONFLICT",
      detail: "Nothing to commit: prompt has not changed since latest commit",
    });
    const unknown = prompts.commit("p", { manifest: { n: 3 }, parentCommit: "f".repeat(64) });
    await expect(unknown).rejects.toMatchObject({
      code: "CONFLICT",
      detail:
        "parent_commit must be the hash of a commit of this prompt; omit it for the first commit",
    });
    await expect(prompts.create("p")).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("is counted, listed over pages and deleted in bulk", async () => {
    const { prompts } = await ownClient();
    const names = Array.from({ length: 130 }, (_, n) => `p-${n}`);
    const created = await Promise.all(names.map((name) => prompts.create(name, { tags: ["x"] })));
    expect(await prompts.list().toArray()).toHaveLength(130);
    expect(await prompts.list({ limit: 101, tags: ["x"], query: "P-" }).toArray()).toHaveLength(
      101,
    );
    await prompts.commit("p-7", { manifest: {} });
    await prompts.pull("p-7");
    await vi.waitFor(async () => {
      expect(await prompts.read("p-7")).toMatchObject({ downloads: 1, commits: 1 });
    });
    expect(await prompts.list({ sortField: "downloads", limit: 1 }).toArray()).toMatchObject([
      { repo: "p-7" },
    ]);
    await prompts.deleteMany(created.map(({ id }) => id));
    expect(await prompts.list({ isArchived: "any" }).toArray()).toEqual([]);
  });
});

describe("another tenant's prompt", () => {
  test("that is public is read and liked; every write is refused before it is sent", async () => {
    const { me, you } = await clients();
    await me.prompts.push("p", { manifest: { n: 1 }, isPublic: true });
    expect(await you.prompts.read("me/p")).toMatchObject({ owner: "me", fullName: "me/p" });
    expect(await you.prompts.pull("me/p")).toMatchObject({ owner: "me", manifest: { n: 1 } });
    expect(await you.prompts.list({ isPublic: true, owner: "me" }).toArray()).toHaveLength(1);
    expect(await you.prompts.like("me/p")).toBe(1);
    expect(await you.prompts.like("me/p")).toBe(1);
    expect(await me.prompts.read("p")).toMatchObject({ likes: 1, isLiked: false });
    expect(await you.prompts.unlike("me/p")).toBe(0);
    const { commitHash } = await you.prompts.pull("me/p");
    expect(await you.prompts.url(`me/p:${commitHash}`)).toMatch(
      new RegExp(`/hub/me/p/${commitHash.slice(0, 8)}$`),
    );
    const writes = {
      "create a prompt": () => you.prompts.create("me/q"),
      "update a prompt": () => you.prompts.update("me/p", { readme: "" }),
      "delete a prompt": () => you.prompts.delete("me/p"),
      "push a prompt": () => you.prompts.push("me/p", { manifest: {} }),
      "commit to a prompt": () => you.prompts.commit("me/p", { manifest: {} }),
      "tag a prompt": () => you.prompts.tag("me/p", { tag: "x" }),
    };
    for (const [action, write] of Object.entries(writes)) {
      await expect(write()).rejects.toThrow(`Cannot ${action} for another tenant`);
    }
  });

  test("that is private is not there", async () => {
    const { me, you } = await clients();
    await me.prompts.push("p", { manifest: { n: 1 } });
    expect(await you.prompts.has("me/p")).toBe(false);
    const calls = [
      you.prompts.read("me/p"),
      you.prompts.pull("me/p"),
      you.prompts.like("me/p"),
      you.prompts.listCommits("me/p").toArray(),
      you.prompts.listTags("me/p"),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ reason: { code: "NOT_FOUND" } })),
    );
    await you.prompts.deleteMany([(await me.prompts.read("p")).id]);
    expect(await me.prompts.has("p")).toBe(true);
  });

  test("needs a handle to be public, which can be set", async () => {
    const { me, nameless, you } = await clients();
    const push = () => nameless.prompts.push("p", { manifest: {}, isPublic: true });
    await expect(push()).rejects.toThrow("Cannot make a public prompt without a hub handle");
    expect(await nameless.prompts.has("p")).toBe(false);
    await expect(nameless.tenant.setHandle("me")).rejects.toMatchObject({ code: "CONFLICT" });
    await nameless.tenant.setHandle("named");
    expect(await push()).toMatchObject({ isNew: true, isCommitted: true });
    expect(await me.prompts.has("named/p")).toBe(true);
    await nameless.prompts.update("named/p", { isPublic: false });
    expect(await you.prompts.has("named/p")).toBe(false);
  });

  test("is distinguished from a wrong key", async () => {
    const unauthorizedClient = new Client({ endpoint: sharedServer().url, apiKey: "mr_wrong" });
    onTestFinished(async () => void (await unauthorizedClient.close()));
    await expect(unauthorizedClient.prompts.has("me/p")).rejects.toMatchObject({
      code: "HTTP",
      status: 401,
    });
  });
});
