import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { anyText, containing, matching } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import type { CallResult, Json } from "../../../tests/support/running-server.ts";

type Server = Awaited<ReturnType<typeof runServer>>;

/** A server with an empty prompt `p`. */
async function serverWithPrompt(): Promise<Server> {
  const server = await runServer();
  await call(server, "POST /repos", { body: { repo_handle: "p" } });
  return server;
}

const commit = (server: Server, manifest: unknown, rest: object = {}): Promise<CallResult> =>
  call(server, "POST /commits/-/p", { body: { manifest, ...rest } });

const textOf = (json: Json | undefined): string => json as unknown as string;
const hashOf = ({ json }: CallResult): string => textOf(json["commit_hash"]);

describe("commits", () => {
  test("build on each other, and are read by hash, prefix, tag and latest", async () => {
    const server = await serverWithPrompt();
    const first = await commit(server, { a: 1 }, { description: "one" });
    expect(first).toMatchObject({
      status: 201,
      json: {
        commit_hash: matching(/^[0-9a-f]{64}$/),
        commit: {
          id: anyText(),
          repo_id: anyText(),
          commit_hash: hashOf(first),
          parent_id: null,
          parent_commit_hash: null,
          description: "one",
          num_downloads: 0,
          num_views: 0,
        },
      },
    });
    const parent = hashOf(first).slice(0, 8);
    const second = await commit(server, { a: 2 }, { parent_commit: parent });
    expect(second.json["commit"]).toMatchObject({ parent_commit_hash: hashOf(first) });
    const commitId = textOf(first.json["commit"]?.["id"]);
    const tag = { tag_name: "old", commit_id: commitId };
    await call(server, "POST /repos/-/p/tags", { body: tag });
    for (const name of [hashOf(first), parent, parent.toUpperCase(), parent.slice(0, 4), "old"]) {
      expect((await call(server, `GET /commits/-/p/${name}`)).json).toEqual({
        commit_hash: hashOf(first),
        manifest: { a: 1 },
        description: "one",
        is_draft: false,
        examples: [],
      });
    }
    const latest = await call(server, "GET /commits/-/p/latest?include_model=true");
    expect(latest.json).toMatchObject({ commit_hash: hashOf(second), manifest: { a: 2 } });
    expect(latest.json).not.toHaveProperty("description");
    const list = (await call(server, "GET /commits/-/p/?limit=1&offset=0")).json;
    expect(list).toMatchObject({ commits: [{ commit_hash: hashOf(second) }], total: 2 });
    const tagged = (await call(server, "GET /commits/-/p?tag=old")).json;
    expect(tagged).toMatchObject({ commits: [{ commit_hash: hashOf(first) }], total: 1 });
    expect((await call(server, "GET /repos/-/p")).json["repo"]).toMatchObject({
      num_commits: 2,
      last_commit_hash: hashOf(second),
      commit_tags: ["old"],
    });
  });

  test("are returned without the model unless it is requested", async () => {
    const server = await serverWithPrompt();
    const node = (name: string, kwargs: object) => ({
      lc: 1,
      type: "constructor",
      id: ["langchain", name],
      kwargs,
    });
    const prompt = node("ChatPromptTemplate", { messages: [] });
    const last = node("ChatOpenAI", { model: "gpt-5" });
    const read = async (query: string): Promise<unknown> =>
      (await call(server, `GET /commits/-/p/latest${query}`)).json["manifest"];
    const sequence = node("RunnableSequence", { first: prompt, last });
    const first = await commit(server, sequence);
    expect(await read("")).toEqual(prompt);
    expect(await read("?include_model=false")).toEqual(prompt);
    expect(await read("?include_model=true")).toEqual(sequence);
    const other = node("RunnableSequence", { first: last, last });
    await commit(server, other, { parent_commit: hashOf(first) });
    expect(await read("")).toEqual(other);
  });

  test("with the same manifest and parent have the same hash, in another prompt too", async () => {
    const [one, other] = [await serverWithPrompt(), await serverWithPrompt()];
    const chains = await Promise.all(
      [one, other].map(async (server) => {
        const first = hashOf(await commit(server, { a: 1 }));
        const second = hashOf(await commit(server, { a: 2 }, { parent_commit: first }));
        return [first, second, hashOf(await commit(server, { a: 1 }, { parent_commit: second }))];
      }),
    );
    expect(chains[0]).toEqual(chains[1]);
    expect(new Set(chains[0]).size).toBe(3);
  });

  test("with a stale, unknown or missing parent are 409 with the reason, and store nothing", async () => {
    const server = await serverWithPrompt();
    const first = hashOf(await commit(server, { a: 1 }));
    const second = hashOf(await commit(server, { a: 2 }, { parent_commit: first }));
    const refusals: readonly [object, string][] = [
      [{ parent_commit: first }, `a newer commit exists, ${second}`],
      [
        { parent_commit: "f".repeat(64) },
        "parent_commit must be the hash of a commit of this prompt; omit it for the first commit",
      ],
      [
        { parent_commit: "../.." },
        "parent_commit must be the hash of a commit of this prompt; omit it for the first commit",
      ],
      [{}, `parent_commit is missing: the latest commit is ${second}`],
      [{ parent_commit: null }, `parent_commit is missing: the latest commit is ${second}`],
    ];
    for (const [rest, reason] of refusals) {
      expect(await commit(server, { a: 3 }, rest)).toMatchObject({
        status: 409,
        json: { detail: containing(reason) },
      });
    }
    expect((await call(server, "GET /commits/-/p")).json["total"]).toBe(2);
    expect((await commit(server, { a: 3 }, { parent_commit: "latest" })).status).toBe(201);
  });

  test("one of two concurrent commits on the same parent is stored", async () => {
    const server = await serverWithPrompt();
    const parent_commit = hashOf(await commit(server, {}));
    const both = await Promise.all([1, 2].map((n) => commit(server, { n }, { parent_commit })));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 409]));
  });

  test("the manifest of the latest commit is not committed again, whatever the order of its members", async () => {
    const server = await serverWithPrompt();
    const parent_commit = hashOf(await commit(server, { a: 1, b: [{ c: null, d: "é" }] }));
    const same = await commit(server, { b: [{ d: "é", c: null }], a: 1 }, { parent_commit });
    expect(same).toMatchObject({
      status: 409,
      json: { detail: "Nothing to commit: prompt has not changed since latest commit" },
    });
    expect(
      (await commit(server, { a: 1, b: [{ c: "é", d: null }] }, { parent_commit })).status,
    ).toBe(201);
  });

  test("a manifest is stored unchanged; one that is not an object, or is too large, is rejected", async () => {
    const server = await serverWithPrompt();
    const manifest = `{"lc":1,"__proto__":{"x":1},"text":"<script>\\u0000\\ud800'; DROP TABLE prompts; --","":[],"constructor":null}`;
    const body = `{"manifest":${manifest},"description":"\\u0000\\udfff"}`;
    expect((await call(server, "POST /commits/-/p", { body })).status).toBe(201);
    const read = await call(server, "GET /commits/-/p/latest");
    expect(read.text).toContain(`"manifest":${manifest}`);
    expect(read.json["description"]).toBe("\u0000\udfff");
    for (const wrong of [undefined, null, [], "text", 7]) {
      expect((await commit(server, wrong)).status).toBe(422);
    }
    expect((await commit(server, {}, { parent_commit: 7 })).status).toBe(422);
    const deep = (levels: number) =>
      `{"manifest":{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}},"parent_commit":"latest"}`;
    for (const [levels, status] of [
      [500, 201],
      [501, 422],
      [100_000, 422],
    ] as const) {
      const response = await call(server, "POST /commits/-/p", { body: deep(levels) });
      expect([levels, response.status]).toEqual([levels, status]);
    }
    expect((await call(server, "GET /commits/-/p/latest")).status).toBe(200);
    const huge = await commit(server, { text: "x".repeat(25 * 1_048_576) });
    expect(huge.status).toBe(413);
  });

  test("a missing prompt, a prompt without commits and a missing commit are different 404 errors", async () => {
    const server = await serverWithPrompt();
    const detailOf = async (path: string) => {
      const { status, json } = await call(server, `GET ${path}`);
      return [status, json["detail"]];
    };
    expect(await detailOf("/commits/-/q/latest")).toEqual([404, "Prompt not found"]);
    expect(await detailOf("/commits/-/q")).toEqual([404, "Prompt not found"]);
    expect(await detailOf("/commits/nobody/p/latest")).toEqual([404, "Prompt not found"]);
    expect(await detailOf("/commits/-/p/latest")).toEqual([
      404,
      "No commits found: push one first",
    ]);
    await commit(server, {});
    for (const name of ["prod", "abc", "ffffffff", "%00", "a%2Fb", "%27%20OR%201=1"]) {
      expect(await detailOf(`/commits/-/p/${name}`)).toEqual([404, "Commit not found"]);
    }
  });

  test("pulls and views are counted, for the commit and for the prompt", async () => {
    const server = await serverWithPrompt();
    await commit(server, {});
    await call(server, "GET /commits/-/p/latest");
    await call(server, "GET /commits/-/p/latest");
    await call(server, "GET /commits/-/p/latest?is_view=true");
    const counts = { num_downloads: 2, num_views: 1 };
    // They are counted after the response.
    await vi.waitFor(async () => {
      expect((await call(server, "GET /repos/-/p")).json["repo"]).toMatchObject(counts);
    });
    expect((await call(server, "GET /commits/-/p")).json["commits"]?.[0]).toMatchObject(counts);
  });

  test("are deleted with their prompt: a new prompt with the handle has none", async () => {
    const server = await serverWithPrompt();
    const id = textOf((await commit(server, {})).json["commit"]?.["id"]);
    const body = { tag_name: "prod", commit_id: id };
    await call(server, "POST /repos/-/p/tags", { body });
    await call(server, "DELETE /repos/-/p");
    await call(server, "POST /repos", { body: { repo_handle: "p" } });
    expect((await call(server, "GET /commits/-/p")).json).toEqual({ commits: [], total: 0 });
    expect((await call(server, "GET /repos/-/p/tags")).json).toEqual([]);
    expect((await call(server, "POST /repos/-/p/tags", { body })).status).toBe(404);
  });
});

describe("tags", () => {
  test("are created, moved, listed and deleted; the commit stays", async () => {
    const server = await serverWithPrompt();
    const first = await commit(server, { a: 1 });
    const second = await commit(server, { a: 2 }, { parent_commit: hashOf(first) });
    const ids = [first, second].map(({ json }) => textOf(json["commit"]?.["id"]));
    const created = await call(server, "POST /repos/-/p/tags", {
      body: { tag_name: "prod", commit_id: ids[0] },
    });
    expect(created).toMatchObject({
      status: 200,
      json: { id: anyText(), tag_name: "prod", commit_id: ids[0], commit_hash: hashOf(first) },
    });
    const again = { tag_name: "prod", commit_id: ids[1] };
    const moved = (await call(server, "POST /repos/-/p/tags", { body: again })).json;
    expect(moved).toMatchObject({ id: created.json["id"], commit_hash: hashOf(second) });
    const back = { commit_id: ids[0] };
    const patched = await call(server, "PATCH /repos/-/p/tags/prod", { body: back });
    expect(patched.json).toMatchObject({ commit_hash: hashOf(first) });
    await call(server, "POST /repos/-/p/tags", { body: { tag_name: "dev", commit_id: ids[1] } });
    const names = (await call(server, "GET /repos/-/p/tags")).json as unknown as readonly Json[];
    expect(names.map((one) => one["tag_name"])).toEqual(["dev", "prod"]);
    expect((await call(server, "GET /repos/-/p/tags/prod")).json).toEqual(patched.json);
    expect((await call(server, "DELETE /repos/-/p/tags/prod")).status).toBe(200);
    expect((await call(server, "GET /commits/-/p/prod")).status).toBe(404);
    expect((await call(server, "GET /commits/-/p")).json["total"]).toBe(2);
  });

  test("with an invalid name or without a commit are rejected", async () => {
    const server = await serverWithPrompt();
    const commit_id = textOf((await commit(server, {})).json["commit"]?.["id"]);
    const names = ["", "latest", "a/b", "a b", "é", "-a", "\u0000", "deadbeef", "x".repeat(101)];
    for (const tag_name of names) {
      const body = { tag_name, commit_id };
      const { status } = await call(server, "POST /repos/-/p/tags", { body });
      expect([tag_name, status]).toEqual([tag_name, 422]);
    }
    const bodies = [
      { tag_name: "x" },
      { tag_name: "x", commit_id: "latest" },
      { tag_name: 7, commit_id },
    ];
    for (const body of bodies) {
      expect((await call(server, "POST /repos/-/p/tags", { body })).status).toBe(422);
    }
    const unknown = { tag_name: "x", commit_id: randomUUID() };
    expect((await call(server, "POST /repos/-/p/tags", { body: unknown })).status).toBe(404);
    for (const target of ["GET", "DELETE", "PATCH"].map(
      (method) => `${method} /repos/-/p/tags/x`,
    )) {
      const body = target.startsWith("PATCH") ? { commit_id } : undefined;
      expect([target, (await call(server, target, { body })).status]).toEqual([target, 404]);
    }
  });
});
