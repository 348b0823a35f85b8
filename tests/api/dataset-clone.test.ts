import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const token = "2f0e0d0c-0b0a-4908-8706-050403020100";
const wireDataset = { id, tenant_id: "t", name: "d", data_type: "kv", created_at: "2026-11-21" };
const wireExample = { id: other, dataset_id: id, inputs: { q: 1 }, outputs: null, metadata: null };

describe("clone", () => {
  const shared = { ...wireDataset, name: "shared", outputs_schema_definition: { a: 1 } };
  const sharedExamples = Array.from({ length: 130 }, (_, n) => ({
    ...wireExample,
    id: randomUUID(),
    inputs: { n },
    outputs: n % 2 ? { n } : null,
    metadata: { m: n, dataset_split: ["base", "odd"] },
  }));
  const handlers = [
    on.get("*/info", () => HttpResponse.json({})),
    on.get("*/public/:token/datasets", () => HttpResponse.json(shared)),
    on.get("*/public/:token/examples", ({ request }) => {
      const { searchParams } = new URL(request.url);
      const offset = Number(searchParams.get("offset"));
      return HttpResponse.json(sharedExamples.slice(offset, offset + 100));
    }),
    on.post("*/datasets", () =>
      HttpResponse.json({ ...wireDataset, name: "shared", example_count: 0 }),
    ),
  ];

  test("copies dataset, examples and splits, each output with its inputs", async () => {
    const server = await mswServer(
      ...handlers,
      on.get("*/datasets", () => HttpResponse.json([])),
      on.post("*/examples/bulk", async ({ request }) =>
        HttpResponse.json((await request.json()) as object),
      ),
    );
    const { datasets, warnings } = createDatasetResources(server.endpoint);
    const cloned = await datasets.clone(token);
    expect(cloned).toMatchObject({
      kind: "cloned",
      dataset: { id, exampleCount: 130 },
      exampleCount: 130,
    });
    const bodyOf = (target: string): unknown =>
      server.requests.find((request) => request.target === target)?.body;
    expect(bodyOf("POST /datasets")).toMatchObject({
      name: "shared",
      data_type: "kv",
      outputs_schema_definition: { a: 1 },
    });
    expect(bodyOf("POST /examples/bulk")).toMatchObject(
      sharedExamples.map(({ inputs, outputs, metadata }) => ({
        dataset_id: id,
        inputs,
        ...(outputs && { outputs }),
        metadata: { m: metadata.m },
        split: ["base", "odd"],
      })),
    );
    expect((bodyOf("POST /examples/bulk") as readonly object[])[0]).not.toHaveProperty("outputs");
    expect(warnings).toEqual([]);
  });

  test("is skipped if the name is taken, and logs that", async () => {
    const server = await mswServer(
      ...handlers,
      on.get("*/datasets", () => HttpResponse.json([wireDataset])),
    );
    const { datasets, warnings } = createDatasetResources(server.endpoint);
    expect(await datasets.clone(token, { name: "mine" })).toMatchObject({
      kind: "skipped",
      dataset: { id },
    });
    expect(warnings).toEqual(['Dataset "mine" already exists in your tenant: skipping its clone']);
    expect(server.requests.filter(({ target }) => target.startsWith("POST"))).toEqual([]);
  });

  test("that fails half-way reports the dataset to delete, in the error and in the log", async () => {
    const server = await mswServer(
      ...handlers,
      on.get("*/datasets", () => HttpResponse.json([])),
      on.post("*/examples/bulk", () => HttpResponse.json({ detail: "full" }, { status: 400 })),
    );
    const { datasets, warnings } = createDatasetResources(server.endpoint);
    const message = `Failed to clone a dataset: "shared" (id ${id}) was created, but not all of its examples were copied. Delete the dataset manually: Failed to create examples: 400 full`;
    await expect(datasets.clone(token)).rejects.toMatchObject({
      code: "INCOMPLETE",
      datasetId: id,
      doneIds: [],
      message,
      cause: { status: 400 },
    });
    expect(warnings).toEqual([message]);
  });

  test("reads from another server without the client's key", async () => {
    const source = await mswServer(...handlers);
    const target = await mswServer(
      ...handlers,
      on.get("*/datasets", () => HttpResponse.json([])),
      on.post("*/examples/bulk", async ({ request }) =>
        HttpResponse.json((await request.json()) as object),
      ),
    );
    const connection = { apiKey: "secret" };
    const { datasets } = createDatasetResources(target.endpoint, { connection });
    await datasets.clone(token, { sourceEndpoint: `${source.endpoint}/api/v1/` });
    expect(source.requests.map(({ target: path }) => path)).toEqual([
      `GET /api/v1/public/${token}/datasets`,
      `GET /api/v1/public/${token}/examples?limit=100&offset=0`,
      `GET /api/v1/public/${token}/examples?limit=100&offset=99`,
    ]);
    expect(JSON.stringify(source.requests.map(({ headers }) => [...headers]))).not.toContain(
      "secret",
    );
    expect(target.requests.every(({ headers }) => headers.get("x-api-key") === "secret")).toBe(
      true,
    );
  });

  test("refuses a file URL as a server", async () => {
    const { datasets } = createDatasetResources("http://127.0.0.1:1");
    for (const sourceEndpoint of ["file:///etc/passwd", "host", ""]) {
      await expect(datasets.clone(token, { sourceEndpoint })).rejects.toMatchObject({
        code: "VALIDATION",
      });
    }
  });
});
