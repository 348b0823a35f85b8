import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import type { DatasetKey } from "../../src/api/datasets/dataset-key.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const datasetId = "1f0e0d0c-0b0a-4908-8706-050403020100";
const [left, right] = [
  "2f0e0d0c-0b0a-4908-8706-050403020100",
  "3f0e0d0c-0b0a-4908-8706-050403020100",
];
const wireComparative = {
  id,
  name: "c",
  tenant_id: "t",
  reference_dataset_id: datasetId,
  created_at: "2026-11-21",
  extra: { metadata: { m: 1 } },
};

describe("createComparative", () => {
  test("sends its arguments", async () => {
    const server = await mswServer(
      on.post("*/datasets/comparative", () => HttpResponse.json(wireComparative)),
    );
    const { experiments } = createDatasetResources(server.endpoint);
    const created = await experiments.createComparative({
      id,
      name: "<c>",
      experimentIds: [left, right],
      referenceDatasetId: datasetId,
      description: "d",
      metadata: { m: 1 },
      createdAt: new Date("2026-11-21T10:11:12.345Z"),
    });
    expect(created).toEqual({
      id,
      name: "c",
      tenantId: "t",
      referenceDatasetId: datasetId,
      metadata: { m: 1 },
      feedbackStats: {},
      createdAt: "2026-11-21",
    });
    expect(server.requests.map(({ body }) => body)).toEqual([
      {
        id,
        name: "<c>",
        experiment_ids: [left, right],
        reference_dataset_id: datasetId,
        description: "d",
        created_at: "2026-11-21T10:11:12.345Z",
        extra: { metadata: { m: 1 } },
      },
    ]);
  });

  test("uses the dataset of the first experiment, and requires one", async () => {
    const project = { id: left, tenant_id: "t", name: "p" };
    const answers = [{ ...project, reference_dataset_id: datasetId }, project];
    const server = await mswServer(
      on.get("*/sessions/:id", () => HttpResponse.json(answers.shift() ?? null)),
      on.post("*/datasets/comparative", () => HttpResponse.json(wireComparative)),
    );
    const { experiments } = createDatasetResources(server.endpoint);
    const given = { name: "c", experimentIds: [left, right] };
    await experiments.createComparative(given);
    expect(server.requests[1]?.body).toMatchObject({
      reference_dataset_id: datasetId,
      created_at: expect.stringMatching(/Z$/) as string,
      extra: {},
    });
    await expect(experiments.createComparative(given)).rejects.toMatchObject({
      code: "VALIDATION",
      message:
        "A reference dataset is required: pass referenceDatasetId, or experiments that have a reference dataset",
    });
    expect(server.requests).toHaveLength(3);
  });
});

test("comparisons are listed with their experiments", async () => {
  const listed = { ...wireComparative, experiments_info: [{ id: left, name: "l" }] };
  const server = await mswServer(
    on.get("*/datasets", () => HttpResponse.json([{ id: datasetId, name: "d" }])),
    on.get("*/comparative", () => HttpResponse.json([listed])),
  );
  const { experiments } = createDatasetResources(server.endpoint);
  const found = await experiments
    .listComparative({ datasetName: "d", ids: [id], name: "c", nameContains: "x", limit: 9 })
    .toArray();
  expect(found).toMatchObject([{ id, experiments: [{ id: left, name: "l" }] }]);
  expect(server.requests[1]?.target).toBe(
    `GET /datasets/${datasetId}/comparative?id=${id}&name=c&name_contains=x&limit=9&offset=0`,
  );
});

test("compare returns each example with the runs of each experiment and their feedback", async () => {
  const run = (runId: string, session: string, order: string) => ({
    id: runId,
    name: "r",
    run_type: "chain",
    session_id: session,
    dotted_order: order,
    feedback_stats: { correct: { n: 1, avg: Number(order) } },
  });
  const example = { id, dataset_id: datasetId, inputs: { q: 1 }, outputs: { a: 1 } };
  const page = Array.from({ length: 100 }, () => ({ ...example, id: randomUUID(), runs: [] }));
  const last = [
    ...page.slice(-1),
    {
      ...example,
      runs: [run("b", left, "2"), run("a", left, "1"), run("x", "another", "0")],
    },
  ];
  const answers = [page, last];
  const server = await mswServer(
    on.post("*/datasets/:id/runs", () => HttpResponse.json(answers.shift() ?? null)),
  );
  const { experiments } = createDatasetResources(server.endpoint);
  const compared = await experiments
    .compare({
      datasetId,
      experimentIds: [left, right],
      exampleIds: [id],
      filters: { [left]: ["eq(is_root, true)"] },
      comparativeExperimentId: id,
    })
    .toArray();
  expect(compared).toHaveLength(101);
  expect(compared.at(-1)).toMatchObject({
    example: { id, inputs: { q: 1 }, outputs: { a: 1 } },
    runs: {
      [left]: [
        { run: { id: "a" }, feedbackStats: { correct: { n: 1, avg: 1 } } },
        { run: { id: "b" }, feedbackStats: { correct: { n: 1, avg: 2 } } },
      ],
      [right]: [],
    },
  });
  expect(server.requests.map(({ body }) => body)).toEqual(
    [0, 99].map((offset) => ({
      session_ids: [left, right],
      example_ids: [id],
      filters: { [left]: ["eq(is_root, true)"] },
      comparative_experiment_id: id,
      limit: 100,
      offset,
    })),
  );
});

test("invalid arguments are refused before anything is sent", async () => {
  const server = await mswServer();
  const { experiments } = createDatasetResources(server.endpoint);
  const none = {
    code: "VALIDATION",
    message: "At least one experiment is required: pass the ids of their projects as experimentIds",
  };
  const bad = expect.objectContaining({ code: "VALIDATION" }) as Error;
  const create = (given: object): Promise<unknown> =>
    experiments.createComparative({ name: "c", experimentIds: [left], ...given });
  await expect(create({ experimentIds: [] })).rejects.toMatchObject(none);
  await expect(create({ experimentIds: ["e"] })).rejects.toEqual(bad);
  await expect(create({ referenceDatasetId: "d" })).rejects.toEqual(bad);
  await expect(create({ referenceDatasetId: datasetId, id: "c" })).rejects.toEqual(bad);
  await expect(create({ createdAt: "soon" })).rejects.toEqual(bad);
  await expect(create({ name: "" })).rejects.toThrow("must be a non-empty string");
  expect(() => experiments.compare({ datasetId, experimentIds: [] })).toThrow(none.message);
  for (const given of [{ experimentIds: ["e"] }, { exampleIds: ["e"] }, { datasetId: "d" }]) {
    expect(() => experiments.compare({ datasetId, experimentIds: [left], ...given })).toThrow(bad);
  }
  for (const place of [{}, { datasetId, datasetName: "d" }] as readonly object[]) {
    expect(() => experiments.listComparative(place as DatasetKey)).toThrow(
      "Must provide either datasetName or datasetId",
    );
  }
  for (const limit of [0, -1, Number.NaN]) {
    expect(() => experiments.listComparative({ datasetId, limit })).toThrow(/^limit must be/);
    expect(() => experiments.compare({ datasetId, experimentIds: [left], limit })).toThrow(
      /^limit must be/,
    );
  }
  expect(await experiments.listComparative({ datasetId, ids: [] }).toArray()).toEqual([]);
  const empty = { datasetId, experimentIds: [left], exampleIds: [] };
  expect(await experiments.compare(empty).toArray()).toEqual([]);
  expect(server.requests).toEqual([]);
});

test("an aborted call and a missing experiment are errors", async () => {
  const server = await mswServer(
    on.get("*/datasets", () => HttpResponse.json([])),
    on.all("*", () => HttpResponse.json({ detail: "none" }, { status: 404 })),
  );
  const { experiments } = createDatasetResources(server.endpoint);
  const signal = AbortSignal.abort();
  const given = { name: "c", experimentIds: [left] };
  const aborted = { code: "ABORTED" };
  await expect(experiments.createComparative({ ...given, signal })).rejects.toMatchObject(aborted);
  const compare = experiments.compare({ datasetId, experimentIds: [left], signal });
  await expect(compare.toArray()).rejects.toMatchObject(aborted);
  await expect(experiments.createComparative(given)).rejects.toThrow(
    `Project[id=${left}] not found`,
  );
  const named = experiments.compare({ datasetName: "d", experimentIds: [left] });
  await expect(named.toArray()).rejects.toThrow("Dataset[name=d] not found");
});
