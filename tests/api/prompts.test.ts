import { randomUUID } from "node:crypto";
import { http as on } from "msw";
import { describe, expect, test } from "vitest";
import { mswServer } from "../support/msw-server.ts";
import {
  hash,
  id,
  json,
  manifest,
  promptsAt,
  settings,
  targetsOf,
  time,
  wirePrompt,
  wireTag,
} from "../support/prompt-wire.ts";

describe("the prompt itself", () => {
  test("create sends its arguments, and requests the tenant only if it is needed", async () => {
    const server = await mswServer(
      settings("me"),
      on.post("*/repos", () => json({ repo: wirePrompt })),
    );
    const prompts = promptsAt(server.endpoint);
    expect(await prompts.create("r")).toStrictEqual({
      id,
      tenantId: "t",
      repo: "r",
      fullName: "-/r",
      tags: ["x"],
      isPublic: false,
      isArchived: false,
      createdAt: time,
      updatedAt: time,
      likes: 3,
      isLiked: true,
      downloads: 2,
      views: 1,
      commits: 0,
    });
    const fields = { description: "", readme: "# R", tags: [] };
    await prompts.create("me/r", { ...fields, isPublic: true });
    expect(server.requests).toMatchObject([
      { target: "POST /repos", body: { repo_handle: "r", is_public: false } },
      { target: "GET /settings" },
      { target: "POST /repos", body: { repo_handle: "r", ...fields, is_public: true } },
    ]);
  });

  test("a public prompt needs a handle, whether it is created or made public", async () => {
    const server = await mswServer(settings());
    const prompts = promptsAt(server.endpoint);
    const refused = {
      code: "VALIDATION",
      message: expect.stringMatching(/without a hub handle.*client\.tenant\.setHandle/) as string,
    };
    await expect(prompts.create("r", { isPublic: true })).rejects.toMatchObject(refused);
    await expect(prompts.update("r", { isPublic: true })).rejects.toMatchObject(refused);
    expect(targetsOf(server)).toEqual(["GET /settings", "GET /settings"]);
  });

  test("writes to another tenant's prompt are refused and not sent", async () => {
    const server = await mswServer(settings("me"));
    const prompts = promptsAt(server.endpoint);
    const calls = {
      "create a prompt": () => prompts.create("you/r"),
      "update a prompt": () => prompts.update("you/r", { readme: "" }),
      "delete a prompt": () => prompts.delete("you/r"),
      "commit to a prompt": () => prompts.commit("you/r", { manifest }),
      "push a prompt": () => prompts.push("you/r"),
      "tag a prompt": () => prompts.tag("you/r", { tag: "prod" }),
    };
    for (const [action, call] of Object.entries(calls)) {
      await expect(call()).rejects.toMatchObject({
        code: "VALIDATION",
        message: `Cannot ${action} for another tenant: its owner is you, and the current tenant has the handle me`,
      });
    }
    expect(new Set(targetsOf(server))).toEqual(new Set(["GET /settings"]));
  });

  test("read and has distinguish a missing prompt from a forbidden one", async () => {
    const statuses = [404, 404, 403, 401, 200];
    const server = await mswServer(
      on.get("*/repos/:owner/:repo", () => {
        const status = statuses.shift() ?? 500;
        return json(status === 200 ? { repo: wirePrompt } : { detail: "no" }, status);
      }),
    );
    const prompts = promptsAt(server.endpoint);
    await expect(prompts.read("me/r")).rejects.toMatchObject({
      code: "NOT_FOUND",
      status: 404,
      detail: "no",
      message:
        "Prompt[me/r] not found. Create it with client.prompts.create, or check the owner, the endpoint and the tenant of the key",
    });
    expect(await prompts.has("r")).toBe(false);
    await expect(prompts.has("r")).rejects.toMatchObject({ code: "HTTP", status: 403 });
    await expect(prompts.has("r")).rejects.toMatchObject({ code: "HTTP", status: 401 });
    expect(await prompts.has("-/r")).toBe(true);
  });

  test("update reports that no field is given, or that the prompt does not exist", async () => {
    const server = await mswServer(
      on.patch("*/repos/:owner/:repo", () => json({ detail: "gone" }, 404)),
    );
    const prompts = promptsAt(server.endpoint);
    await expect(prompts.update("r", { description: undefined })).rejects.toMatchObject({
      code: "VALIDATION",
      message:
        "No valid update options provided: give at least one of description, readme, tags, isPublic or isArchived",
    });
    expect(server.requests).toEqual([]);
    await expect(prompts.update("r", { isArchived: true })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "Prompt does not exist, you must create it first.",
    });
    expect(server.requests).toMatchObject([
      { target: "PATCH /repos/-/r", body: { is_archived: true } },
    ]);
  });

  test("a list has defaults, a separate query parameter for every filter, and pages of 100", async () => {
    const stored = Array.from({ length: 101 }, () => ({ ...wirePrompt, id: randomUUID() }));
    const server = await mswServer(
      on.get("*/repos", ({ request }) => {
        const { searchParams } = new URL(request.url);
        const [limit = 0, offset = 0] = ["limit", "offset"].map((name) =>
          Number(searchParams.get(name)),
        );
        return json({ repos: stored.slice(offset, offset + limit), total: 101 });
      }),
    );
    const prompts = promptsAt(server.endpoint);
    expect(await prompts.list().toArray()).toHaveLength(101);
    const filter = {
      query: "a&b",
      isPublic: false,
      isArchived: "any",
      tags: ["x", "y"],
      owner: "me",
      sortField: "likes",
      sortDirection: "asc",
      limit: 1,
    } as const;
    expect(await prompts.list(filter).toArray()).toHaveLength(1);
    const queries = targetsOf(server).map((target) => target.slice("GET /repos?".length));
    expect(queries).toEqual([
      "sort_field=updated_at&sort_direction=desc&is_archived=false&limit=100&offset=0",
      "sort_field=updated_at&sort_direction=desc&is_archived=false&limit=100&offset=99",
      "sort_field=num_likes&sort_direction=asc&is_archived=allow&is_public=false&query=a%26b&tags=x&tags=y&tenant_handle=me&limit=1&offset=0",
    ]);
  });

  test("likes return their count, and prompts are deleted one by one or many at once", async () => {
    const server = await mswServer(
      on.post("*/likes/:owner/:repo", () => json({ likes: 7 })),
      on.delete("*/repos/:owner/:repo", () => json({})),
      on.delete("*/repos", () => json({}, 207)),
    );
    const prompts = promptsAt(server.endpoint);
    expect(await prompts.like("you/r")).toBe(7);
    expect(await prompts.unlike("you/r")).toBe(7);
    await prompts.delete("r");
    await prompts.deleteMany(Array.from({ length: 101 }, () => id));
    const [like, unlike, one, many, rest] = server.requests;
    expect([like, unlike]).toMatchObject([
      { target: "POST /likes/you/r", body: { like: true } },
      { target: "POST /likes/you/r", body: { like: false } },
    ]);
    expect(one?.target).toBe("DELETE /repos/-/r");
    expect(many?.target.match(/repo_ids=/g)).toHaveLength(100);
    expect(rest?.target).toBe(`DELETE /repos?repo_ids=${id}`);
  });

  test("URLs of own prompts contain the tenant, others' the owner, both 8 characters of the commit", async () => {
    const server = await mswServer(
      settings("me"),
      on.get("*/repos/:owner/:repo/tags/:tag", () => json(wireTag)),
    );
    const prompts = promptsAt(server.endpoint);
    const own = "http://host.test/prompts/r";
    expect(await prompts.url("r")).toBe(`${own}?organizationId=t%261`);
    expect(await prompts.url(`me/r:${hash}`)).toBe(`${own}/01234567?organizationId=t%261`);
    expect(await prompts.url("you/r")).toBe("http://host.test/hub/you/r");
    expect(await prompts.url("you/r:abcdef0")).toBe("http://host.test/hub/you/r/abcdef0");
    expect(await prompts.url("you/r:latest")).toBe("http://host.test/hub/you/r");
    expect(await prompts.url("you/r:prod")).toBe("http://host.test/hub/you/r/01234567");
  });
});
