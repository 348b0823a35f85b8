import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const datasetId = "1f0e0d0c-0b0a-4908-8706-050403020100";
const runId = "2f0e0d0c-0b0a-4908-8706-050403020100";
const wireExample = { id, dataset_id: datasetId, inputs: { q: 1 } };
const queryOf = (target: string | undefined): readonly (readonly [string, string])[] => [
  ...new URL(`http://host${target?.split(" ")[1]}`).searchParams,
];

describe("requests", () => {
  test("create sends its arguments, with a generated id", async () => {
    const server = await mswServer(on.post("*/examples", () => HttpResponse.json(wireExample)));
    const { examples } = createDatasetResources(server.endpoint);
    const text = `<b>'; DROP TABLE examples; --"\u0000\ud800`;
    await examples.create({ datasetId, inputs: { [text]: text } });
    await examples.create({
      datasetId,
      id,
      inputs: { camelCase: 1, toJSON: undefined },
      outputs: { a: text },
      metadata: { m: text },
      split: ["base", "x"],
      sourceRunId: runId,
      useSourceRunIo: true,
      createdAt: new Date("2026-11-21T10:11:12.345Z"),
    });
    const [first, second] = server.requests.map(({ body }) => body);
    expect(first).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/) as string,
      dataset_id: datasetId,
      inputs: { [text]: text },
    });
    expect(second).toEqual({
      id,
      dataset_id: datasetId,
      inputs: { camelCase: 1 },
      outputs: { a: text },
      metadata: { m: text },
      split: ["base", "x"],
      source_run_id: runId,
      use_source_run_io: true,
      created_at: "2026-11-21T10:11:12.345Z",
    });
  });

  test("an example of a run needs no inputs, and a dataset's name is looked up", async () => {
    const server = await mswServer(
      on.get("*/datasets", () => HttpResponse.json([{ id: datasetId, name: "d" }])),
      on.post("*/examples", () => HttpResponse.json(wireExample)),
    );
    const { examples } = createDatasetResources(server.endpoint);
    await examples.create({ datasetName: "d", sourceRunId: runId, useSourceRunIo: true });
    expect(server.requests[1]?.body).toMatchObject({ dataset_id: datasetId });
    expect(server.requests[1]?.body).not.toHaveProperty("inputs");
  });

  test("a chat is sent in the platform's format, whichever library created its messages", async () => {
    const server = await mswServer(on.post("*/examples", () => HttpResponse.json(wireExample)));
    const { examples } = createDatasetResources(server.endpoint);
    const shaped = { role: "system", content: "be kind" };
    const old = { _getType: () => "tool", content: ["x"], additional_kwargs: {} };
    await examples.createChat({
      datasetId,
      messages: [shaped, new HumanMessage("hi"), old],
      answer: new AIMessage({
        content: "ho",
        additional_kwargs: { function_call: { name: "f", arguments: "{}" } },
      }),
      split: "chats",
    });
    await examples.createChat({ datasetId, messages: [shaped] });
    expect(server.requests.map(({ body }) => body)).toMatchObject([
      {
        inputs: {
          input: [
            shaped,
            { type: "human", data: { content: "hi" } },
            { type: "tool", data: { content: ["x"] } },
          ],
        },
        outputs: {
          output: {
            type: "ai",
            data: {
              content: "ho",
              additional_kwargs: { function_call: { name: "f", arguments: "{}" } },
            },
          },
        },
        split: "chats",
      },
      { inputs: { input: [shaped] } },
    ]);
    expect(server.requests[1]?.body).not.toHaveProperty("outputs");
  });

  test("every filter of list is a separate query parameter", async () => {
    const server = await mswServer(on.get("*/examples", () => HttpResponse.json([wireExample])));
    const { examples } = createDatasetResources(server.endpoint);
    const filter = {
      datasetId,
      ids: [id],
      asOf: "prod",
      splits: ["a&b", "c"],
      metadata: { a: 1 },
      filter: 'has(metadata, "x")',
    } as const;
    await examples
      .list({ ...filter, inlineS3Urls: false, includeAttachments: true, offset: 3, limit: 2 })
      .toArray();
    await examples.list({ datasetId }).toArray();
    const [first, second] = server.requests.map(({ target }) => queryOf(target));
    expect(first).toEqual([
      ["as_of", "prod"],
      ["splits", "a&b"],
      ["splits", "c"],
      ["metadata", '{"a":1}'],
      ["filter", 'has(metadata, "x")'],
      ...[
        "id",
        "created_at",
        "modified_at",
        "name",
        "dataset_id",
        "source_run_id",
        "metadata",
        "inputs",
        "outputs",
        "attachment_urls",
      ].map((member): [string, string] => ["select", member]),
      ["inline_s3_urls", "false"],
      ["dataset", datasetId],
      ["id", id],
      ["limit", "2"],
      ["offset", "3"],
    ]);
    expect(second).toEqual([
      ["inline_s3_urls", "true"],
      ["dataset", datasetId],
      ["limit", "100"],
      ["offset", "0"],
    ]);
  });

  test("more ids than fit into one URL take several requests", async () => {
    const ids = Array.from({ length: 250 }, () => randomUUID());
    const server = await mswServer(
      on.get("*/examples/count", () => HttpResponse.json(7)),
      on.get("*/examples", () => HttpResponse.json([wireExample, wireExample])),
    );
    const { examples } = createDatasetResources(server.endpoint);
    expect(await examples.list({ datasetId, ids, limit: 5 }).toArray()).toHaveLength(5);
    expect(await examples.count({ datasetId, ids })).toBe(21);
    const counts = server.requests.map(
      ({ target }) => queryOf(target).filter(([name]) => name === "id").length,
    );
    expect(counts).toEqual([100, 100, 50, 100, 100, 50]);
    expect(() => examples.list({ datasetId, ids, offset: 1 })).toThrow("offset can't be combined");
  });

  test("an update sends its arguments, and lists attachments to keep or rename", async () => {
    const server = await mswServer(
      on.patch("*/examples/:id", () => HttpResponse.json({ message: "ok" })),
    );
    const { examples } = createDatasetResources(server.endpoint);
    await examples.update(id, { outputs: { a: 1 }, split: "x" });
    await examples.update(id, { retainAttachments: ["a"], renameAttachments: { b: "c" } });
    expect(server.requests).toMatchObject([
      { target: `PATCH /examples/${id}`, body: { outputs: { a: 1 }, split: "x" } },
      { body: { attachments_operations: { retain: ["a"], rename: { b: "c" } } } },
    ]);
    expect(server.requests[0]?.body).not.toHaveProperty("inputs");
  });

  test("read, delete and deleteMany call their endpoints", async () => {
    const server = await mswServer(
      on.get("*/examples/:id", () => HttpResponse.json(wireExample)),
      on.delete("*/examples/:id", () => HttpResponse.json(null)),
      on.delete("*/examples", () => HttpResponse.json(null)),
      on.post("*/examples/delete", () => HttpResponse.json({ count: 1 })),
    );
    const { examples } = createDatasetResources(server.endpoint);
    await examples.read(id, { asOf: "prod" });
    await examples.delete(id);
    const ids = Array.from({ length: 101 }, () => id);
    await examples.deleteMany(ids);
    await examples.deleteMany(ids, { hardDelete: true });
    await examples.deleteMany([]);
    const [read, one, first, second, hard, rest] = server.requests;
    expect([read, one].map((request) => request?.target)).toEqual([
      `GET /examples/${id}?as_of=prod`,
      `DELETE /examples/${id}`,
    ]);
    expect([first, second].map((request) => queryOf(request?.target).length)).toEqual([100, 1]);
    expect([hard, rest].map((request) => request?.body)).toEqual([
      { example_ids: ids.slice(1), hard_delete: true },
      { example_ids: [id], hard_delete: true },
    ]);
    expect(server.requests).toHaveLength(6);
  });
});

describe("responses", () => {
  test("an example has its splits apart from its metadata, and its attachments by name", async () => {
    const answers = [
      { ...wireExample, outputs: null, metadata: null, attachment_urls: null },
      {
        ...wireExample,
        outputs: {},
        metadata: { m: 1, dataset_split: ["a", "b"] },
        source_run_id: runId,
        created_at: "2026-11-21",
        attachment_urls: {
          "attachment.a.png": { presigned_url: "http://x/1", mime_type: "image/png" },
          __proto__x: { presigned_url: "/public/2", mime_type: null },
        },
      },
    ];
    const server = await mswServer(
      on.get("*/examples/:id", () => HttpResponse.json(answers.shift() ?? null)),
    );
    const { examples } = createDatasetResources(server.endpoint);
    const common = { id, datasetId, inputs: { q: 1 } };
    expect(await examples.read(id)).toEqual({ ...common, metadata: {}, splits: [] });
    expect(await examples.read(id)).toEqual({
      ...common,
      outputs: {},
      metadata: { m: 1 },
      splits: ["a", "b"],
      sourceRunId: runId,
      createdAt: "2026-11-21",
      attachments: {
        "a.png": { presignedUrl: "http://x/1", mimeType: "image/png" },
        __proto__x: { presignedUrl: "/public/2" },
      },
    });
    await expect(examples.read(id)).rejects.toMatchObject({ code: "ANSWER" });
  });

  test("an earlier attempt whose response was lost is not a conflict, a taken id from the caller is", async () => {
    const server = await mswServer(
      on.post("*/examples", () => HttpResponse.json({ detail: "known" }, { status: 409 })),
      on.get("*/examples/:id", () => HttpResponse.json(wireExample)),
    );
    const { examples } = createDatasetResources(server.endpoint);
    expect(await examples.create({ datasetId, inputs: {} })).toMatchObject({ id });
    await expect(examples.create({ datasetId, id, inputs: {} })).rejects.toMatchObject({
      code: "CONFLICT",
    });
  });
});
