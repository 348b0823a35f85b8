import { describe, expect, test } from "vitest";
import type { DatasetKey } from "../../src/api/datasets/dataset-key.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const datasetId = "1f0e0d0c-0b0a-4908-8706-050403020100";

describe("refused before anything is sent", () => {
  test("every call on a dataset requires exactly one of id and name", async () => {
    const server = await mswServer();
    const { examples } = createDatasetResources(server.endpoint);
    const refusals: readonly (readonly [object, string])[] = [
      [{}, "Must provide either datasetName or datasetId"],
      [{ datasetId, datasetName: "d" }, "Must provide either datasetName or datasetId, not both"],
      [
        { datasetId: "d" },
        'Invalid UUID for dataset id: "d". Pass the id as the server returned it: 32 hexadecimal digits grouped 8-4-4-4-12',
      ],
    ];
    for (const [given, message] of refusals) {
      const place = given as DatasetKey;
      for (const call of [
        () => examples.create({ ...place, inputs: {} }),
        () => examples.createMany({ ...place, examples: [] }),
        () => examples.createChat({ ...place, messages: [{}] }),
        () => examples.list(place),
        () => examples.count(place),
      ]) {
        const failed = { code: "VALIDATION", message };
        await expect((async () => call())()).rejects.toMatchObject(failed);
      }
    }
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["An example needs inputs", {}],
    ["An example needs inputs", { useSourceRunIo: true }],
    ["inputs must be an object", { inputs: [] }],
    ["inputs must be an object", { inputs: "text" }],
    ["can't be written as JSON", { inputs: { a: 1n } }],
    ["inputs must serialize to a JSON object", { inputs: { toJSON: () => 7 } }],
    ["outputs must be an object", { inputs: {}, outputs: [] }],
    ["metadata must be an object", { inputs: {}, metadata: "m" }],
    ["split must contain at least one name", { inputs: {}, split: "" }],
    ["split must contain at least one name", { inputs: {}, split: [] }],
    ["split must contain at least one name", { inputs: {}, split: ["a", ""] }],
    ["Invalid UUID for example id", { inputs: {}, id: "e" }],
    ["Invalid UUID for source run id", { inputs: {}, sourceRunId: "r" }],
    ["createdAt must be a Date", { inputs: {}, createdAt: "soon" }],
    ["An attachment needs a name", { inputs: {}, attachments: { a: {} } }],
    ["a name", { inputs: {}, attachments: { "": { mimeType: "a/b", data: new Uint8Array() } } }],
    ["data: bytes", { inputs: {}, attachments: { a: { mimeType: "a/b", data: "text" } } }],
  ])("invalid example %#: %s", async (reason, example) => {
    const server = await mswServer();
    const { examples } = createDatasetResources(server.endpoint);
    const given = example as { inputs: Record<string, unknown> };
    const message = expect.stringContaining(reason) as string;
    const failed = { code: "VALIDATION", message };
    await expect(examples.create({ datasetId, ...given })).rejects.toMatchObject(failed);
    expect(server.requests).toEqual([]);
  });

  test("invalid updates, lists, ids and limits", async () => {
    const server = await mswServer();
    const { examples } = createDatasetResources(server.endpoint);
    const calls = [
      examples.read("e"),
      examples.read(id, { asOf: new Date(Number.NaN) }),
      examples.update("e", { inputs: {} }),
      examples.update(id, {}),
      examples.update(id, { split: [] }),
      examples.updateMany({ examples: [{ id, inputs: {} }, { id }] }),
      examples.updateMany({ examples: [{ inputs: {} } as unknown as { id: string }] }),
      examples.updateMany({ examples: [], datasetId: "d" }),
      examples.delete("e"),
      examples.deleteMany([id, "e"]),
      examples.createChat({ datasetId, messages: [] }),
      examples.createChat({ datasetId, messages: ["hi" as unknown as object as never] }),
      examples.count({ datasetId, ids: ["e"] }),
      examples.createMany({ datasetId, examples: 7 as unknown as [] }),
      examples.readAttachment({ presignedUrl: "file:///etc/passwd" }),
      examples.readAttachment({ presignedUrl: "nowhere" }),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ status: "rejected", reason: { code: "VALIDATION" } })),
    );
    for (const limit of [0, -1, Number.NaN, "100" as unknown as number]) {
      expect(() => examples.list({ datasetId, limit })).toThrow(/^limit must be/);
    }
    expect(() => examples.list({ datasetId, ids: ["x"] })).toThrow("example id");
    expect(server.requests).toEqual([]);
  });

  test("lists of no ids or no splits are empty, and send no request", async () => {
    const server = await mswServer();
    const { examples } = createDatasetResources(server.endpoint);
    expect(await examples.list({ datasetId, ids: [] }).toArray()).toEqual([]);
    expect(await examples.list({ datasetId, splits: [] }).toArray()).toEqual([]);
    expect(await examples.count({ datasetId, splits: [] })).toBe(0);
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const { examples } = createDatasetResources(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      examples.create({ datasetId, inputs: {}, signal }),
      examples.createMany({ datasetId, examples: [{ inputs: {} }], signal }),
      examples.createChat({ datasetId, messages: [{}], signal }),
      examples.read(id, { signal }),
      examples.list({ datasetId, signal }).toArray(),
      examples.count({ datasetId, signal }),
      examples.update(id, { inputs: {}, signal }),
      examples.updateMany({ examples: [{ id, inputs: {} }], signal }),
      examples.delete(id, { signal }),
      examples.deleteMany([id], { signal }),
      examples.readAttachment({ presignedUrl: `${server.endpoint}/x` }, { signal }),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});
