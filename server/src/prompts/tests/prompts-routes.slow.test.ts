import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { anyText, containing, matching } from "../../../tests/support/matchers.ts";
import { call, runOwnServer, runServer } from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { hubTenants } from "../../../tests/support/hub-tenants.ts";

const hostile = `<script>'; DROP TABLE prompts; --"\u0000 \ud800 😀 ${"x".repeat(10_000)}`;
const namesOf = (json: Json): readonly Json[] =>
  (json["repos"] as unknown as readonly Json[]).map((repo) => repo["repo_handle"] as Json);

describe("the tenant's own prompts", () => {
  test("are created, read, updated and deleted; texts stay unchanged", async () => {
    const server = await runOwnServer();
    const fields = { description: hostile, readme: hostile, tags: [hostile, "b"] };
    const created = await call(server, "POST /api/v1/repos/", {
      body: { repo_handle: "p_1-x", is_public: false, ...fields },
    });
    expect(created).toMatchObject({ status: 200 });
    const repo = {
      id: anyText(),
      tenant_id: anyText(),
      repo_handle: "p_1-x",
      owner: null,
      full_name: "-/p_1-x",
      ...fields,
      repo_type: "prompt",
      is_public: false,
      is_archived: false,
      created_at: anyText(),
      updated_at: anyText(),
      num_likes: 0,
      num_downloads: 0,
      num_views: 0,
      num_commits: 0,
      liked_by_auth_user: false,
      last_commit_hash: null,
      commit_tags: [],
    };
    expect(created.json["repo"]).toMatchObject(repo);
    expect((await call(server, "GET /repos/-/p_1-x")).json).toEqual(created.json);
    const changes = { readme: null, tags: [], description: "", is_archived: true };
    const changed = await call(server, "PATCH /repos/-/p_1-x", { body: changes });
    expect(changed.json["repo"]).toMatchObject({
      ...repo,
      description: "",
      tags: [],
      is_archived: true,
    });
    expect((await call(server, "PATCH /repos/-/p_1-x", { body: {} })).status).toBe(200);
    expect(await call(server, "DELETE /repos/-/p_1-x")).toMatchObject({
      status: 200,
      json: { id: created.json["repo"]?.["id"] },
    });
    expect(await call(server, "GET /repos/-/p_1-x")).toMatchObject({
      status: 404,
      json: { detail: "Prompt not found" },
    });
    expect((await call(server, "DELETE /repos/-/p_1-x")).status).toBe(404);
    expect((await call(server, "PATCH /repos/-/p_1-x", { body: {} })).status).toBe(404);
  });

  test("with an invalid handle are rejected with 422, and the error states the rule", async () => {
    const server = await runServer();
    const handles = [
      "",
      "A",
      "1a",
      "-a",
      "a/b",
      "..",
      "é",
      "a b",
      "a\r\nb",
      "a\u0000",
      "a".repeat(101),
    ];
    for (const repo_handle of handles) {
      const body = { repo_handle, is_public: false };
      expect(await call(server, "POST /repos", { body })).toMatchObject({
        status: 422,
        json: { detail: matching(/^repo_handle must have 1 to 100 lower-case letters/) },
      });
    }
    expect((await call(server, "GET /repos")).json["total"]).toBe(0);
  });

  test("a handle that is taken is 409, an invalid body 422", async () => {
    const server = await runServer();
    const body = { repo_handle: "p", is_public: false };
    await call(server, "POST /repos", { body });
    expect(await call(server, "POST /repos", { body })).toMatchObject({
      status: 409,
      json: { detail: "A prompt with the handle p already exists." },
    });
    const bad = [
      { target: "POST /repos", body: {} },
      { target: "POST /repos", body: { repo_handle: 7 } },
      { target: "POST /repos", body: { ...body, tags: [7] } },
      { target: "POST /repos", body: { ...body, repo_type: "song" } },
      { target: "PATCH /repos/-/p", body: { repo_handle: "q" } },
      { target: "PATCH /repos/-/p", body: { is_archived: "yes" } },
      { target: "POST /likes/-/p", body: {} },
      { target: "POST /likes/-/p", body: { like: 1 } },
    ];
    for (const { target, body: wrong } of bad) {
      const { status } = await call(server, target, { body: wrong });
      expect([target, status]).toEqual([target, 422]);
    }
  });

  test("several are deleted by id; missing ones are listed, and do not affect the others", async () => {
    const server = await runServer();
    const idOf = async (repo_handle: string): Promise<string> => {
      const { json } = await call(server, "POST /repos", { body: { repo_handle } });
      return json["repo"]?.["id"] as unknown as string;
    };
    const [one, two] = [await idOf("one"), await idOf("two")];
    const missing = randomUUID();
    const query = [one, missing, two].map((id) => `repo_ids=${id}`).join("&");
    expect(await call(server, `DELETE /repos?${query}`)).toMatchObject({
      status: 207,
      json: { deleted: [one, two], failed: [{ id: missing, detail: "Prompt not found" }] },
    });
    expect((await call(server, "GET /repos")).json).toEqual({ repos: [], total: 0 });
    expect((await call(server, `DELETE /repos?repo_ids=${await idOf("one")}`)).status).toBe(200);
    for (const wrong of ["", "?repo_ids=x", `?${`repo_ids=${missing}&`.repeat(101)}`]) {
      expect((await call(server, `DELETE /repos${wrong}`)).status).toBe(422);
    }
  });
});

describe("lists", () => {
  test("are filtered, sorted and paged, the last changed first", async () => {
    const server = await runServer();
    const make = (repo_handle: string, rest: object = {}) =>
      call(server, "POST /repos", { body: { repo_handle, ...rest } });
    await make("alpha", { description: "ÄPFEL and n", tags: ["x", "y"] });
    await make("beta", { description: "a\nb", tags: ["x"] });
    await make("gamma");
    await make("robot", { repo_type: "agent" });
    await call(server, "POST /commits/-/gamma", { body: { manifest: {} } });
    await call(server, "POST /likes/-/beta", { body: { like: true } });
    await call(server, "PATCH /repos/-/alpha", { body: { readme: "r" } });
    const list = async (query: string) => namesOf((await call(server, `GET /repos${query}`)).json);
    expect(await list("")).toEqual(["alpha", "gamma", "beta"]);
    expect(await list("?sort_direction=asc")).toEqual(["beta", "gamma", "alpha"]);
    expect(await list("?sort_field=num_likes")).toEqual(["beta", "alpha", "gamma"]);
    expect(await list("?query=")).toHaveLength(3);
    expect(await list(`?query=${encodeURIComponent("äpfel")}`)).toEqual(["alpha"]);
    expect(await list("?query=n")).toEqual(["alpha"]);
    expect(await list("?query=AMM")).toEqual(["gamma"]);
    expect(await list("?query=%25")).toEqual([]);
    expect(await list("?query=b&sort_field=relevance")).toEqual(["beta"]);
    const byName = ["alpha", "beta", "gamma"];
    expect(await list("?sort_field=repo_handle&sort_direction=asc")).toEqual(byName);
    expect(await list("?sort_field=repo_handle")).toEqual(byName.toReversed());
    expect(await list("?tags=x&tags=y")).toEqual(["alpha"]);
    expect(await list("?tags=x")).toEqual(["alpha", "beta"]);
    expect(await list("?has_commits=true")).toEqual(["gamma"]);
    expect(await list("?repo_type=agent")).toEqual(["robot"]);
    expect(await list("?repo_types=agent&repo_types=prompt")).toHaveLength(4);
    expect(await list("?tenant_handle=nobody")).toEqual([]);
    expect(await list("?tenant_handle=-")).toEqual(await list(""));
    expect(await list(`?tenant_handle=-&tenant_id=${randomUUID()}`)).toEqual([]);
    expect((await call(server, "GET /repos?limit=1&offset=1")).json).toMatchObject({
      repos: [{ repo_handle: "gamma" }],
      total: 3,
    });
    await call(server, "PATCH /repos/-/beta", { body: { is_archived: true } });
    expect(await list("?is_archived=true")).toEqual(["beta"]);
    expect(await list("?is_archived=false")).toEqual(["alpha", "gamma"]);
    expect(await list("?is_archived=allow")).toEqual(["beta", "alpha", "gamma"]);
  });

  test("reject invalid filters, and name them", async () => {
    const server = await runServer();
    const wrong = ["limit=0", "limit=101", "limit=-1", "limit=NaN", "limit=1.5", "offset=-1"]
      .concat("is_public=maybe", "is_archived=maybe", "sort_field=name", "sort_direction=up")
      .concat(
        "repo_type=song",
        "tenant_id=x",
        "upstream_repo_owner=a",
        "with_latest_manifest=true",
      );
    for (const query of wrong) {
      expect(await call(server, `GET /repos?${query}`)).toMatchObject({
        status: 422,
        json: { detail: containing(query.split("=")[0] ?? "") },
      });
    }
    for (const query of ["limit=0", "limit=101", "limit=-1", "limit=NaN"]) {
      const { status } = await call(server, `GET /commits/-/p?${query}`);
      expect([query, status]).toEqual([query, 422]);
    }
  });
});

describe("tenants", () => {
  test("a private prompt does not exist for other tenants, on any route", async () => {
    const { me, you } = await hubTenants();
    const created = await me("POST /repos", { repo_handle: "p", is_public: false });
    await me("POST /commits/me/p", { manifest: { a: 1 } });
    const id = created.json["repo"]?.["id"] as unknown as string;
    const calls: readonly [string, unknown?][] = [
      ["GET /repos/me/p"],
      ["PATCH /repos/me/p", { readme: "taken over" }],
      ["DELETE /repos/me/p"],
      ["POST /likes/me/p", { like: true }],
      ["GET /commits/me/p"],
      ["GET /commits/me/p/latest"],
      ["POST /commits/me/p", { manifest: {} }],
      ["GET /repos/me/p/tags"],
      ["POST /repos/me/p/tags", { tag_name: "x", commit_id: id }],
      ["GET /repos/-/p"],
    ];
    for (const [target, body] of calls) {
      expect([target, (await you(target, body)).status]).toEqual([target, 404]);
    }
    expect((await you("GET /repos?is_public=false")).json["total"]).toBe(0);
    expect((await you(`DELETE /repos?repo_ids=${id}`)).json["deleted"]).toEqual([]);
    expect((await me("GET /repos/-/p")).json["repo"]).toMatchObject({
      owner: "me",
      full_name: "me/p",
      readme: null,
      num_commits: 1,
    });
  });

  test("a public prompt can be read and liked by all, and written by its owner", async () => {
    const { me, you, nameless } = await hubTenants();
    await me("POST /repos", { repo_handle: "p", is_public: true });
    await me("POST /commits/-/p", { manifest: { a: 1 } });
    expect((await you("GET /commits/me/p/latest")).json["manifest"]).toEqual({ a: 1 });
    expect((await you("GET /repos?tenant_handle=me")).json["total"]).toBe(1);
    expect((await you("GET /repos?tenant_handle=-")).json).toEqual({ repos: [], total: 0 });
    const likes = [
      await you("POST /likes/me/p", { like: true }),
      await you("POST /likes/me/p", { like: true }),
      await nameless("POST /likes/me/p", { like: true }),
      await you("POST /likes/me/p", { like: false }),
    ];
    expect(likes.map(({ json }) => json)).toEqual([1, 1, 2, 1].map((n) => ({ likes: n })));
    expect((await nameless("GET /repos/me/p")).json["repo"]).toMatchObject({
      num_likes: 1,
      liked_by_auth_user: true,
    });
    expect((await me("GET /repos/me/p")).json["repo"]).toMatchObject({ liked_by_auth_user: false });
    const id = randomUUID();
    const writes: readonly [string, unknown?][] = [
      ["PATCH /repos/me/p", { readme: "taken over" }],
      ["DELETE /repos/me/p"],
      ["POST /commits/me/p", { manifest: {} }],
      ["POST /repos/me/p/tags", { tag_name: "x", commit_id: id }],
      ["DELETE /repos/me/p/tags/x"],
    ];
    for (const [target, body] of writes) {
      expect({ target, ...(await you(target, body)) }).toMatchObject({
        target,
        status: 403,
        json: {
          detail: "Prompt me/p belongs to another tenant: it can be read and liked, not changed",
        },
      });
    }
    await me("PATCH /repos/me/p", { is_public: false });
    expect((await you("GET /repos/me/p")).status).toBe(404);
  });

  test("without a handle no prompt of a tenant can be public; with a handle it can", async () => {
    const { nameless } = await hubTenants();
    const body = { repo_handle: "p", is_public: true };
    const refused = {
      status: 422,
      json: { detail: containing("POST /settings/handle {tenant_handle}") },
    };
    expect(await nameless("POST /repos", body)).toMatchObject(refused);
    await nameless("POST /repos", { ...body, is_public: false });
    expect(await nameless("PATCH /repos/-/p", { is_public: true })).toMatchObject(refused);
    await nameless("POST /settings/handle", { tenant_handle: "named" });
    const { json } = await nameless("PATCH /repos/named/p", { is_public: true });
    expect(json["repo"]).toMatchObject({ is_public: true, full_name: "named/p" });
  });

  test("handles are unique within a tenant only", async () => {
    const { me, you } = await hubTenants();
    const body = { repo_handle: "p", is_public: true };
    expect((await me("POST /repos", body)).status).toBe(200);
    expect((await you("POST /repos", body)).status).toBe(200);
    expect((await you("GET /repos/-/p")).json["repo"]).toMatchObject({ owner: "you" });
    expect((await you("GET /repos/me/p")).json["repo"]).toMatchObject({ owner: "me" });
  });
});
