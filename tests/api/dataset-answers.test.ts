import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const token = "2f0e0d0c-0b0a-4908-8706-050403020100";

describe("exports", () => {
  test.each([
    ["exportOpenAi", "openai_ft"],
    ["exportJsonl", "jsonl"],
  ] as const)("%s returns the lines of its endpoint", async (call, path) => {
    const text = `{"a":"é"}\n\r\n{"b":1}\r\n{"c":2}`;
    const server = await mswServer(on.get(`*/${path}`, () => new HttpResponse(text)));
    const { datasets } = createDatasetResources(server.endpoint);
    expect(await datasets[call]({ datasetId: id, asOf: "prod" }).toArray()).toEqual([
      '{"a":"é"}',
      '{"b":1}',
      '{"c":2}',
    ]);
    expect(server.requests[0]?.target).toBe(`GET /datasets/${id}/${path}?as_of=prod`);
  });

  test("exportCsv keeps the line breaks of quoted cells", async () => {
    const text = 'question,answer\r\n"one\r\n\r\n\nsays ""yes""\r\n",1\r\n,2\r\n';
    const server = await mswServer(on.get("*/csv", () => new HttpResponse(text)));
    const { datasets } = createDatasetResources(server.endpoint);
    const lines = await datasets.exportCsv({ datasetId: id, asOf: "prod" }).toArray();
    expect(lines.join("\n")).toBe('question,answer\n"one\r\n\r\n\nsays ""yes""\r\n",1\n,2');
    expect(server.requests[0]?.target).toBe(`GET /datasets/${id}/csv?as_of=prod`);
  });

  test("a missing version is not reported as a missing dataset", async () => {
    const server = await mswServer(
      on.get("*/openai_ft", () => HttpResponse.json({ detail: "no tag x" }, { status: 404 })),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await expect(
      datasets.exportOpenAi({ datasetId: id, asOf: "x" }).toArray(),
    ).rejects.toMatchObject({
      code: "NOT_FOUND",
      message:
        "Failed to export dataset for fine-tuning: 404 no tag x. Check the id or name, the endpoint and the tenant of the key",
    });
  });
});

describe("responses", () => {
  test("a missing dataset is reported with the message of the product specification", async () => {
    const server = await mswServer(
      on.get("*/datasets", () => HttpResponse.json([])),
      on.all("*", () => HttpResponse.json({ detail: "none" }, { status: 404 })),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    const calls = [
      datasets.read({ datasetId: id }),
      datasets.update({ datasetId: id, name: "n" }),
      datasets.delete({ datasetId: id }),
      datasets.url({ datasetId: id }),
      datasets.share({ datasetId: id }),
      datasets.readShare({ datasetId: id }),
      datasets.listVersions({ datasetId: id }).toArray(),
    ];
    const expected = {
      code: "NOT_FOUND",
      status: 404,
      message: `Dataset[id=${id}] not found. Check the id, the endpoint and the tenant of the key`,
    };
    expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => ({ reason: expected })));
    await expect(datasets.read({ datasetName: "n" })).rejects.toThrow(
      'Dataset[name=n] not found. Create it with client.datasets.create({ name: "n" }), or check the endpoint and the tenant of the key',
    );
    await expect(datasets.listSplits({ datasetName: "n" })).rejects.toThrow(
      "Dataset[name=n] not found",
    );
    expect(await datasets.has({ datasetId: id })).toBe(false);
    expect(await datasets.has({ datasetName: "n" })).toBe(false);
  });

  test("has rejects on any failure other than not found", async () => {
    const server = await mswServer(
      on.get("*/datasets/:id", () => HttpResponse.json({ detail: "no" }, { status: 403 })),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await expect(datasets.has({ datasetId: id })).rejects.toMatchObject({ status: 403 });
  });

  test("a dataset has defaults, and its metadata next to or within extra", async () => {
    const answers = [
      { id, name: "d", data_type: null, metadata: { a: 1 } },
      { id, name: "d", extra: { metadata: { b: 2 } }, example_count: 3, session_count: 1 },
    ];
    const server = await mswServer(
      on.get("*/datasets/:id", () => HttpResponse.json(answers.shift() ?? null)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    expect(await datasets.read({ datasetId: id })).toEqual({
      id,
      name: "d",
      dataType: "kv",
      metadata: { a: 1 },
    });
    expect(await datasets.read({ datasetId: id })).toMatchObject({
      metadata: { b: 2 },
      exampleCount: 3,
      experimentCount: 1,
    });
  });

  test("a response of another kind is a ResponseError", async () => {
    const server = await mswServer(on.all("*", () => HttpResponse.json({ wrong: true })));
    const { datasets } = createDatasetResources(server.endpoint);
    const calls = [
      datasets.read({ datasetId: id }),
      datasets.read({ datasetName: "d" }),
      datasets.list().toArray(),
      datasets.share({ datasetId: id }),
      datasets.diff({ datasetId: id, fromVersion: "a", toVersion: "b" }),
      datasets.listSplits({ datasetId: id }),
      datasets.readVersion({ datasetId: id, tag: "t" }),
      datasets.search({ datasetId: id, inputs: {} }),
      datasets.countSharedExamples(token),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject(
      calls.map(() => ({ reason: { code: "ANSWER" } })),
    );
  });
});
