import { http as on } from "msw";
import { describe, expect, test } from "vitest";
import { mswServer } from "../support/msw-server.ts";
import { id, json, manifest, promptsAt, wireTag } from "../support/prompt-wire.ts";

describe("refused before anything is sent", () => {
  const names = [
    "",
    "/",
    "a/b/c",
    "..",
    "../r",
    "a/..",
    "é",
    "a b",
    "r\r\nx-api-key: k",
    "r:",
    "r:a:b",
    ":c",
  ];

  test.each(names)("the name %j, by every call", async (name) => {
    const server = await mswServer();
    const prompts = promptsAt(server.endpoint);
    const tag = "prod";
    const calls = [
      prompts.create(name),
      prompts.read(name),
      prompts.has(name),
      prompts.update(name, { readme: "" }),
      prompts.delete(name),
      prompts.like(name),
      prompts.unlike(name),
      prompts.commit(name, { manifest }),
      prompts.pull(name),
      prompts.push(name, { manifest }),
      prompts.tag(name, { tag }),
      prompts.listTags(name),
      prompts.readTag(name, { tag }),
      prompts.deleteTag(name, { tag }),
      prompts.url(name),
    ];
    const reason = {
      code: "VALIDATION",
      message: expect.stringMatching(/^Invalid prompt identifier "/) as string,
    };
    expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => ({ reason })));
    expect(() => prompts.listCommits(name)).toThrow("Invalid prompt identifier");
    expect(server.requests).toEqual([]);
  });

  test("a commit, by calls that take a whole prompt", async () => {
    const server = await mswServer();
    const prompts = promptsAt(server.endpoint);
    for (const call of [
      prompts.delete("r:abcd"),
      prompts.push("r:latest"),
      prompts.like("r:prod"),
    ]) {
      await expect(call).rejects.toThrow("takes no commit");
    }
    expect(server.requests).toEqual([]);
  });

  test("invalid manifests, tags, ids and limits", async () => {
    const server = await mswServer();
    const prompts = promptsAt(server.endpoint);
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    const manifests = [
      [],
      null,
      "text",
      7,
      () => 7,
      { toJSON: () => 7 },
      { a: 7n },
      loop,
    ] as object[];
    const calls = [
      ...manifests.flatMap((one) => [
        prompts.commit("r", { manifest: one }),
        prompts.push("r", { manifest: one }),
      ]),
      ...["latest", "", "a/b", "é", "a b", "x".repeat(101)].flatMap((tag) => [
        prompts.tag("r", { tag }),
        prompts.readTag("r", { tag }),
        prompts.deleteTag("r", { tag }),
        prompts.commit("r", { manifest, tags: [tag] }),
        prompts.push("r", { manifest, commitTags: [tag] }),
      ]),
      prompts.deleteMany([id, "r"]),
    ];
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes).toMatchObject(calls.map(() => ({ reason: { code: "VALIDATION" } })));
    for (const limit of [0, -1, 1.5, Number.NaN, "100" as unknown as number]) {
      expect(() => prompts.list({ limit })).toThrow(/^limit must be/);
      expect(() => prompts.listCommits("r", { limit })).toThrow(/^limit must be/);
    }
    expect(server.requests).toEqual([]);
  });

  test("the handle of a new prompt, unless it has the form that servers accept", async () => {
    const server = await mswServer();
    const prompts = promptsAt(server.endpoint);
    for (const name of ["Greeting", "1abc", "-/Greeting", "me/gReet"]) {
      await expect(prompts.create(name)).rejects.toMatchObject({
        code: "VALIDATION",
        message: expect.stringMatching(
          /^Invalid prompt identifier "[^"]+": the repo "[^"]+" can't be the handle of a new prompt, which must consist of lower case letters, digits, - and _, beginning with a letter$/,
        ) as string,
      });
    }
    expect(server.requests).toEqual([]);
  });

  test("a new tag that looks like a hash; such a tag can still be read and deleted", async () => {
    const server = await mswServer(
      on.get("*/repos/:owner/:repo/tags/:tag", () => json(wireTag)),
      on.delete("*/repos/:owner/:repo/tags/:tag", () => json({})),
    );
    const prompts = promptsAt(server.endpoint);
    for (const tag of ["20261129", "deadbeef", "0".repeat(64)]) {
      const calls = [
        prompts.commit("r", { manifest, tags: ["prod", tag] }),
        prompts.push("r", { manifest, commitTags: ["prod", tag] }),
        prompts.tag("r", { tag }),
      ];
      const message = expect.stringMatching(
        /looks like the hash of a commit: it must not consist of seven or more/,
      ) as string;
      expect(await Promise.allSettled(calls)).toMatchObject(
        calls.map(() => ({ reason: { code: "VALIDATION", message } })),
      );
    }
    expect(server.requests).toEqual([]);
    await prompts.readTag("r", { tag: "deadbeef" });
    await prompts.deleteTag("r", { tag: "deadbeef" });
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const prompts = promptsAt(server.endpoint);
    const signal = AbortSignal.abort();
    const tag = "prod";
    const calls = [
      prompts.create("r", { signal }),
      prompts.read("r", { signal }),
      prompts.has("r", { signal }),
      prompts.list({ signal }).toArray(),
      prompts.update("r", { readme: "", signal }),
      prompts.delete("r", { signal }),
      prompts.deleteMany([id], { signal }),
      prompts.like("r", { signal }),
      prompts.unlike("r", { signal }),
      prompts.listCommits("r", { signal }).toArray(),
      prompts.commit("r", { manifest, signal }),
      prompts.pull("r", { signal }),
      prompts.push("r", { signal }),
      prompts.tag("r", { tag, signal }),
      prompts.listTags("r", { signal }),
      prompts.readTag("r", { tag, signal }),
      prompts.deleteTag("r", { tag, signal }),
      prompts.url("r", { signal }),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ reason: { code: "ABORTED" } })),
    );
    expect(server.requests).toEqual([]);
  });
});
