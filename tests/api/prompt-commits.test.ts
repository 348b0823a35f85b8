import { http as on } from "msw";
import { describe, expect, test } from "vitest";
import { mswServer } from "../support/msw-server.ts";
import {
  commit,
  commits,
  hash,
  id,
  info,
  json,
  createdCommit,
  manifest,
  noRepo,
  older,
  promptsAt,
  repo,
  settings,
  targetsOf,
  time,
  wirePrompt,
  wireTag,
} from "../support/prompt-wire.ts";

describe("commits", () => {
  test("a server from 0.5.23 on resolves the latest commit, and its version is requested once", async () => {
    const server = await mswServer(info("0.5.23"), commit);
    const prompts = promptsAt(server.endpoint);
    const pulled = { owner: "you", repo: "r", commitHash: hash, manifest, examples: [] };
    expect(await prompts.pull("you/r")).toStrictEqual(pulled);
    await prompts.pull("you/r:latest", { includeModel: true });
    await prompts.pull("r:prod");
    expect(targetsOf(server)).toEqual([
      "GET /info",
      "GET /commits/you/r/latest",
      "GET /commits/you/r/latest?include_model=true",
      "GET /commits/-/r/prod",
    ]);
  });

  test.each(["0.5.22", "0.5.23-rc.1", "1", ""])(
    "for an older server, as in version %j, the latest commit is looked up",
    async (version) => {
      const server = await mswServer(info(version), commits(hash), commit);
      await promptsAt(server.endpoint).pull("r");
      expect(targetsOf(server)).toEqual([
        "GET /info",
        "GET /commits/-/r?limit=1&offset=0",
        `GET /commits/-/r/${hash}`,
      ]);
    },
  );

  test.each([
    [
      "r:prod",
      'The tag "prod" of the prompt "r" was requested: client.prompts.listTags("r") lists those that exist, client.prompts.tag("r", { tag: "prod" }) adds it to the latest commit, and client.prompts.push("r", { manifest, commitTags: ["prod"] }) to a new one',
    ],
    [
      "you/r:0123abcd",
      'The commit 0123abcd of the prompt "you/r" was requested: client.prompts.listCommits("you/r") lists those that exist',
    ],
    [
      "r",
      'The latest commit of the prompt "r" was requested: client.prompts.push("r", { manifest }) creates one',
    ],
    [
      "Greet",
      'The latest commit of the prompt "Greet" was requested; names of new prompts are in lower case and begin with a letter: client.prompts.push("greet", { manifest }) creates one',
    ],
    [
      "me/1st",
      'The latest commit of the prompt "me/1st" was requested; names of new prompts are in lower case and begin with a letter: client.prompts.push("me/prompt-1st", { manifest }) creates one',
    ],
  ])("a 404 for %s names the prompt and the version", async (name, advice) => {
    const missing = () => json({ detail: "Commit not found" }, 404);
    const server = await mswServer(
      info("0.5.23"),
      on.get("*/commits/:owner/:repo/:commit", missing),
    );
    const error = {
      code: "NOT_FOUND",
      detail: "Commit not found",
      message: `Failed to pull prompt commit: 404 Commit not found. ${advice}. If the prompt itself is missing, check its name, the endpoint and the tenant of the key`,
    };
    await expect(promptsAt(server.endpoint).pull(name)).rejects.toMatchObject(error);
    await expect(promptsAt(server.endpoint).get(name)).rejects.toMatchObject(error);
  });

  test("a failed look-up has the message of the product specification and the status; a prompt without commits is reported", async () => {
    const answers = [json({ detail: "stay out" }, 403), json({}, 404), json({ commits: [] })];
    const server = await mswServer(
      on.get("*/info", () => json({}, 404)),
      on.get("*/commits/:owner/:repo", () => answers.shift()),
    );
    const prompts = promptsAt(server.endpoint);
    await expect(prompts.pull("r")).rejects.toMatchObject({
      code: "HTTP",
      status: 403,
      message: "Error 403: Forbidden\nstay out",
    });
    await expect(prompts.pull("r")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "Error 404: Not Found",
    });
    await expect(prompts.pull("r")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        'No commits found for the prompt -/r. Create the first one with client.prompts.push("-/r", { manifest })',
    });
  });

  test("a commit has the latest as its parent, and contains the manifest as of the call", async () => {
    const server = await mswServer(commits(older), createdCommit);
    const prompts = promptsAt(server.endpoint);
    const live = {
      toJSON: () => ({ ...manifest, kwargs: { undefined: undefined, half: "\ud800" } }),
    };
    const given = { live };
    const call = prompts.commit("r", { manifest: given, description: "d" });
    Reflect.set(given, "late", true);
    expect(await call).toStrictEqual({
      id,
      commitHash: hash,
      parentCommitHash: older,
      downloads: 0,
      views: 0,
    });
    await prompts.commit("r", { manifest: live, parentCommit: "abcd" });
    expect(server.requests).toMatchObject([
      { target: "GET /commits/-/r?limit=1&offset=0" },
      {
        target: "POST /commits/-/r",
        body: {
          manifest: { live: { ...manifest, kwargs: { half: "\ud800" } } },
          parent_commit: older,
          description: "d",
        },
      },
      { target: "POST /commits/-/r", body: { parent_commit: "abcd" } },
    ]);
    expect(server.requests[1]?.body).not.toHaveProperty("manifest.late");
  });

  test("the first commit has no parent, and an older server's response is parsed too", async () => {
    const server = await mswServer(
      commits(),
      on.post("*/commits/:owner/:repo", () => json({ commit_hash: hash })),
    );
    const first = await promptsAt(server.endpoint).commit("r", { manifest });
    expect(first).toStrictEqual({ commitHash: hash, downloads: 0, views: 0 });
    expect(server.requests[1]?.body).toStrictEqual({ manifest });
  });

  test("a missing prompt is reported, and distinguished from a missing parent", async () => {
    const refusal = on.post("*/commits/:owner/:repo", () => json({ detail: "no parent" }, 404));
    const missing = "Prompt does not exist, you must create it first.";
    const without = await mswServer(
      refusal,
      on.get("*/commits/:owner/:repo", () => json({ detail: "no repo" }, 404)),
    );
    const prompts = promptsAt(without.endpoint);
    const notFound = { code: "NOT_FOUND", status: 404 };
    await expect(prompts.commit("r", { manifest })).rejects.toMatchObject({
      ...notFound,
      message: missing,
    });
    await expect(prompts.commit("r", { manifest, parentCommit: "abcd" })).rejects.toMatchObject({
      ...notFound,
      message: missing,
    });
    const server = await mswServer(refusal, commits(hash));
    await expect(
      promptsAt(server.endpoint).commit("r", { manifest, parentCommit: "abcd" }),
    ).rejects.toMatchObject({
      ...notFound,
      message:
        "Failed to create commit: 404 no parent. Check the id or name, the endpoint and the tenant of the key",
    });
  });

  test("a conflict reports that a newer commit exists, if there is one", async () => {
    const conflict = on.post("*/commits/:owner/:repo", () => json({ detail: "stale" }, 409));
    const server = await mswServer(conflict, commits(hash));
    const prompts = promptsAt(server.endpoint);
    await expect(prompts.commit("r", { manifest, parentCommit: older })).rejects.toMatchObject({
      code: "CONFLICT",
      status: 409,
      detail: "stale",
      message: `Failed to create commit: a newer commit exists. The latest is ${hash}, the parent was ${older}: pull it, and commit on top of it`,
    });
    await expect(prompts.commit("r", { manifest, parentCommit: "0123" })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "Failed to create commit: 409 stale",
    });
  });

  test("tags are set by the id of the commit, and an existing tag is moved", async () => {
    const server = await mswServer(
      commits(hash, older),
      on.get("*/repos/:owner/:repo/tags/:tag", () => json(wireTag)),
      on.post("*/repos/:owner/:repo/tags", () => json({ detail: "exists" }, 409)),
      on.patch("*/repos/:owner/:repo/tags/:tag", () => json(wireTag)),
      on.delete("*/repos/:owner/:repo/tags/:tag", () => json({})),
    );
    const prompts = promptsAt(server.endpoint);
    const tag = "prod";
    const expected = { id, name: tag, commitId: id, commitHash: hash, createdAt: time };
    expect(await prompts.tag(`r:${older.slice(0, 8)}`, { tag })).toMatchObject(expected);
    await prompts.tag("r:staging", { tag });
    await prompts.deleteTag("r", { tag });
    await expect(prompts.tag("r:fffffff", { tag })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(server.requests.slice(0, -1)).toMatchObject([
      { target: "GET /commits/-/r?limit=100&offset=0" },
      { target: "POST /repos/-/r/tags", body: { tag_name: tag, commit_id: id } },
      { target: "PATCH /repos/-/r/tags/prod", body: { commit_id: id } },
      { target: "GET /repos/-/r/tags/staging" },
      { target: "POST /repos/-/r/tags" },
      { target: "PATCH /repos/-/r/tags/prod" },
      { target: "DELETE /repos/-/r/tags/prod" },
    ]);
  });
});

test("a short name that could be a hash is taken as a tag if that tag exists", async () => {
  const server = await mswServer(
    settings(),
    commits(hash, older),
    on.get("*/repos/:owner/:repo/tags/2024", () => json(wireTag)),
    on.get("*/repos/:owner/:repo/tags/:tag", () => json({ detail: "no such tag" }, 404)),
    on.post("*/repos/:owner/:repo/tags", () => json(wireTag)),
  );
  const prompts = promptsAt(server.endpoint);
  expect(await prompts.url("r:2024")).toBe(
    `http://host.test/prompts/r/${hash.slice(0, 8)}?organizationId=t%261`,
  );
  expect(await prompts.url("r:fedc")).toBe("http://host.test/prompts/r/fedc?organizationId=t%261");
  await prompts.tag("r:2024", { tag: "prod" });
  await prompts.tag("r:fedc", { tag: "prod" });
  await expect(prompts.url("r:prod")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(targetsOf(server).filter((target) => !target.endsWith("/settings"))).toEqual([
    "GET /repos/-/r/tags/2024",
    "GET /repos/-/r/tags/fedc",
    "GET /repos/-/r/tags/2024",
    "POST /repos/-/r/tags",
    "GET /repos/-/r/tags/fedc",
    "GET /commits/-/r?limit=100&offset=0",
    "POST /repos/-/r/tags",
    "GET /repos/-/r/tags/prod",
  ]);
});

describe("push", () => {
  const patched = on.patch("*/repos/:owner/:repo", () => json({ repo: wirePrompt }));
  const created = on.post("*/repos", () => json({ repo: wirePrompt }));

  test("creates a missing prompt, then commits", async () => {
    const server = await mswServer(settings(), noRepo, created, commits(), createdCommit);
    const pushed = await promptsAt(server.endpoint).push("r", { manifest, readme: "# R" });
    const url = "http://host.test/prompts/r/01234567?organizationId=t%261";
    expect(pushed).toStrictEqual({ url, isNew: true, isCommitted: true, commitHash: hash });
    expect(server.requests).toMatchObject([
      { target: "GET /repos/-/r" },
      { target: "POST /repos", body: { repo_handle: "r", readme: "# R", is_public: false } },
      { target: "GET /commits/-/r?limit=1&offset=0" },
      { target: "POST /commits/-/r", body: { manifest } },
      { target: "GET /settings" },
    ]);
  });

  test("updates an existing prompt only if fields are given", async () => {
    const server = await mswServer(settings("me"), repo, patched, commits(older), createdCommit);
    const prompts = promptsAt(server.endpoint);
    const bare = { isNew: false, isCommitted: false };
    const url = "http://host.test/prompts/r?organizationId=t%261";
    expect(await prompts.push("r", { parentCommit: "abcd" })).toStrictEqual({ url, ...bare });
    expect(await prompts.push("me/r", { description: "" })).toStrictEqual({ url, ...bare });
    expect(targetsOf(server)).toEqual([
      "GET /repos/-/r",
      "GET /settings",
      "GET /settings",
      "GET /repos/me/r",
      "GET /settings",
      "PATCH /repos/me/r",
    ]);
    expect(server.requests[5]?.body).toStrictEqual({ description: "" });
  });

  test("checks the handle of a prompt that does not exist; one that exists is pushed to", async () => {
    const handlers = [settings(), created, commits(), createdCommit];
    const server = await mswServer(noRepo, ...handlers);
    await expect(promptsAt(server.endpoint).push("Greet", { manifest })).rejects.toMatchObject({
      code: "VALIDATION",
      message: expect.stringContaining("can't be the handle of a new prompt") as string,
    });
    expect(targetsOf(server)).toEqual(["GET /repos/-/Greet"]);
    const other = await mswServer(repo, ...handlers);
    expect(await promptsAt(other.endpoint).push("Greet", { manifest })).toMatchObject({
      isNew: false,
      isCommitted: true,
    });
  });

  test("goes on with a prompt that another client created in the meantime", async () => {
    let reads = 0;
    const server = await mswServer(
      settings(),
      on.get("*/repos/:owner/:repo", () =>
        reads++ === 0 ? json({ detail: "no such repo" }, 404) : json({ repo: wirePrompt }),
      ),
      on.post("*/repos", () => json({ detail: "A prompt with the handle r already exists." }, 409)),
      patched,
      commits(older),
      createdCommit,
    );
    const pushed = await promptsAt(server.endpoint).push("r", { manifest, readme: "# R" });
    expect(pushed).toMatchObject({ isNew: false, isCommitted: true, commitHash: hash });
    expect(server.requests).toMatchObject([
      { target: "GET /repos/-/r" },
      { target: "POST /repos" },
      { target: "GET /repos/-/r" },
      { target: "PATCH /repos/-/r", body: { readme: "# R" } },
      { target: "GET /commits/-/r?limit=1&offset=0" },
      { target: "POST /commits/-/r" },
      { target: "GET /settings" },
    ]);
  });

  test("fails if the server refuses the creation for another reason than an existing prompt", async () => {
    const conflict = on.post("*/repos", () => json({ detail: "not now" }, 409));
    const server = await mswServer(settings(), noRepo, conflict);
    await expect(promptsAt(server.endpoint).push("r")).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("stops if reading the prompt is forbidden: nothing is created", async () => {
    const server = await mswServer(
      on.get("*/repos/:owner/:repo", () => json({ detail: "stay out" }, 403)),
    );
    const push = promptsAt(server.endpoint).push("r", { manifest });
    await expect(push).rejects.toMatchObject({ code: "HTTP", status: 403 });
    expect(targetsOf(server)).toEqual(["GET /repos/-/r"]);
  });

  test("a manifest equal to the latest commit's is not committed again; its tags are moved", async () => {
    const server = await mswServer(
      settings(),
      info("0.10.0"),
      repo,
      commits(hash),
      commit,
      on.post("*/commits/:owner/:repo", () => json({ detail: "Nothing to commit" }, 409)),
      on.post("*/repos/:owner/:repo/tags", () => json(wireTag)),
    );
    const prompts = promptsAt(server.endpoint);
    const turned = Object.fromEntries(Object.entries(manifest).toReversed());
    expect(await prompts.push("r", { manifest: turned, commitTags: ["prod"] })).toMatchObject({
      commitHash: hash,
      isCommitted: false,
    });
    expect(server.requests.find(({ target }) => target.endsWith("/tags"))?.body).toEqual({
      tag_name: "prod",
      commit_id: id,
    });
    await expect(prompts.push("r", { manifest: { other: true } })).rejects.toMatchObject({
      code: "CONFLICT",
      message: "Failed to create commit: 409 Nothing to commit",
    });
  });
});
