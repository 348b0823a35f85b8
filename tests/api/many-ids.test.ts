import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { AnnotationQueues } from "../../src/api/annotation-queues.ts";
import { Feedbacks } from "../../src/api/feedback.ts";
import { ValidationError } from "../../src/model/errors.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import type { DatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const datasetId = "0f0e0d0c-0b0a-4908-8706-050403020100";
const distinct = Array.from({ length: 250 }, () => randomUUID());
// Contains duplicates that fall into different requests.
const ids = [...distinct, ...distinct.slice(0, 20)];

type SendIds = (resources: DatasetResources) => Promise<unknown>;

const lists: readonly (readonly [what: string, parameter: string, send: SendIds])[] = [
  ["projects", "id", ({ projects }) => projects.list({ projectIds: ids }).toArray()],
  ["datasets", "id", ({ datasets }) => datasets.list({ datasetIds: ids }).toArray()],
  ["examples", "id", ({ examples }) => examples.list({ datasetId, ids }).toArray()],
  ["examples to count", "id", ({ examples }) => examples.count({ datasetId, ids })],
  [
    "shared examples",
    "id",
    ({ datasets }) => datasets.listSharedExamples(datasetId, { exampleIds: ids }).toArray(),
  ],
  [
    "shared examples to count",
    "id",
    ({ datasets }) => datasets.countSharedExamples(datasetId, { exampleIds: ids }),
  ],
  [
    "comparisons",
    "id",
    ({ experiments }) => experiments.listComparative({ datasetId, ids }).toArray(),
  ],
  [
    "annotation queues",
    "ids",
    ({ http }) => new AnnotationQueues(http.call).list({ ids }).toArray(),
  ],
  [
    "feedback",
    "run",
    ({ http }) => new Feedbacks(http.call, noUploads).list({ runIds: ids }).toArray(),
  ],
  [
    "feedback of projects",
    "session",
    ({ http }) => new Feedbacks(http.call, noUploads).list({ projectIds: ids }).toArray(),
  ],
];

test.each(lists)(
  "%s by more ids than fit into one URL: each id is requested once",
  async (_, name, ask) => {
    const server = await mswServer(
      on.get("*/count", () => HttpResponse.json(0)),
      on.get("*", () => HttpResponse.json([])),
    );
    await ask(createDatasetResources(server.endpoint));
    const requestedIds = server.requests.map(({ target }) =>
      new URL(target.slice(4), server.endpoint).searchParams.getAll(name),
    );
    expect(requestedIds.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(requestedIds.flat()).toEqual(distinct);
  },
);

describe("refused before anything is sent", () => {
  test("an offset into a list that needs several requests", async () => {
    const server = await mswServer();
    const { datasets, examples } = createDatasetResources(server.endpoint);
    expect(() => datasets.list({ datasetIds: ids, offset: 1 })).toThrow(
      "offset can't be combined with more",
    );
    expect(() => examples.list({ datasetId, ids, offset: 1 })).toThrow(ValidationError);
    expect(server.requests).toEqual([]);
  });

  test("metadata that is not JSON, and ids that are not an array", async () => {
    const server = await mswServer();
    const { datasets, examples, projects } = createDatasetResources(server.endpoint);
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    for (const metadata of [ring, { big: 1n }]) {
      expect(() => projects.list({ metadata })).toThrow(
        /^Failed to list projects: .* written as JSON: /,
      );
      expect(() => datasets.list({ metadata })).toThrow(
        /^Failed to list datasets: .* written as JSON: /,
      );
      expect(() => examples.list({ datasetId, metadata })).toThrow(ValidationError);
      expect(() => datasets.listSharedExamples(datasetId, { metadata })).toThrow(ValidationError);
    }
    const noArray = "abc" as unknown as string[];
    expect(() => projects.list({ projectIds: noArray })).toThrow("expected an array of UUIDs");
    await expect(datasets.deleteMany(noArray)).rejects.toThrow(ValidationError);
    expect(server.requests).toEqual([]);
  });
});
