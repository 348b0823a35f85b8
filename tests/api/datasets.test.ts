import { randomUUID } from "node:crypto";
import { HttpResponse, http as on } from "msw";
import { describe, expect, test } from "vitest";
import { createDatasetResources, partsOf } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const other = "1f0e0d0c-0b0a-4908-8706-050403020100";
const wireDataset = { id, tenant_id: "t", name: "d", data_type: "kv", created_at: "2026-11-21" };
const wireExample = { id: other, dataset_id: id, inputs: { q: 1 }, outputs: null, metadata: null };
const version = { as_of: "2026-11-21T00:00:00Z", tags: ["prod"] };

describe("requests", () => {
  test("create sends its arguments under their wire names", async () => {
    const server = await mswServer(on.post("*/datasets", () => HttpResponse.json(wireDataset)));
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.create({ name: "d" });
    const text = `<b>'; DROP TABLE datasets; --"\u0000`;
    await datasets.create({
      id,
      name: text,
      description: text,
      dataType: "chat",
      inputsSchema: { type: "object" },
      outputsSchema: { required: ["a"] },
      metadata: { camelCase: text },
      createdAt: new Date("2024-05-01T00:00:00Z"),
    });
    expect(server.requests.map(({ body }) => body)).toEqual([
      { name: "d" },
      {
        id,
        name: text,
        description: text,
        data_type: "chat",
        inputs_schema_definition: { type: "object" },
        outputs_schema_definition: { required: ["a"] },
        created_at: "2024-05-01T00:00:00.000Z",
        extra: { metadata: { camelCase: text } },
      },
    ]);
  });

  test("a CSV is sent after the fields that describe it", async () => {
    const server = await mswServer(
      on.post("*/datasets/upload", () => HttpResponse.json(wireDataset)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.createFromCsv({
      file: Buffer.from("q,r,a\n1,2,3\n"),
      fileName: 'evil"\r\nX-Injected: 1.csv',
      inputKeys: ["q", "r"],
      outputKeys: ["a"],
      name: "n",
      description: "d",
      dataType: "kv",
    });
    const [request] = server.requests;
    const parts = await partsOf(request?.body, request?.headers.get("content-type") ?? "");
    expect(parts).toEqual([
      { name: "input_keys", text: "q" },
      { name: "input_keys", text: "r" },
      { name: "output_keys", text: "a" },
      { name: "description", text: "d" },
      { name: "data_type", text: "kv" },
      { name: "name", text: "n" },
      {
        name: "file",
        text: "q,r,a\n1,2,3\n",
        fileName: expect.stringContaining("X-Injected") as string,
        type: "text/csv; length=12",
      },
    ]);
    const heads = String(request?.body).split("\r\n");
    expect(heads.filter((line) => line.startsWith("X-Injected"))).toEqual([]);
  });

  test("a CSV has the name of its file by default", async () => {
    const server = await mswServer(
      on.post("*/datasets/upload", () => HttpResponse.json(wireDataset)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.createFromCsv({ file: "package.json", inputKeys: ["q"] });
    await datasets.createFromCsv({
      file: new URL("../../package.json", import.meta.url),
      inputKeys: ["q"],
    });
    await datasets.createFromCsv({ file: new File(["q"], "f.csv"), inputKeys: ["q"] });
    await datasets.createFromCsv({ file: new Blob(["q"]), name: "n", inputKeys: ["q"] });
    const sent = await Promise.all(
      server.requests.map(async ({ body, headers }) =>
        partsOf(body, headers.get("content-type") ?? ""),
      ),
    );
    const fileNames = sent.map((parts) => parts.find(({ name }) => name === "file")?.fileName);
    expect(fileNames).toEqual(["package.json", "package.json", "f.csv", "n"]);
  });

  test("every filter of list is a separate query parameter, and offset advances by page", async () => {
    const page = Array.from({ length: 100 }, () => ({ ...wireDataset, id: randomUUID() }));
    const answers = [page, page.slice(-1)];
    const server = await mswServer(
      on.get("*/datasets", () => HttpResponse.json(answers.shift() ?? [])),
    );
    const filter = {
      datasetIds: [id, other],
      datasetName: "n&m",
      nameContains: "n",
      dataType: "kv",
      metadata: { a: 1 },
      offset: 7,
      limit: 101,
    } as const;
    expect(
      await createDatasetResources(server.endpoint).datasets.list(filter).toArray(),
    ).toHaveLength(100);
    const queries = server.requests.map(({ target }) => [
      ...new URL(target.slice(4), server.endpoint).searchParams,
    ]);
    expect(queries[0]).toEqual([
      ["id", id],
      ["id", other],
      ["name", "n&m"],
      ["name_contains", "n"],
      ["data_type", "kv"],
      ["metadata", '{"a":1}'],
      ["limit", "100"],
      ["offset", "7"],
    ]);
    expect(queries[1]?.slice(-2)).toEqual([
      ["limit", "2"],
      ["offset", "106"],
    ]);
  });

  test("null clears a field in an update; omitted fields are not sent", async () => {
    const server = await mswServer(
      on.patch("*/datasets/:id", () => HttpResponse.json(wireDataset)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.update({ datasetId: id, inputsSchema: null, description: null, name: "n" });
    expect(server.requests).toMatchObject([
      {
        target: `PATCH /datasets/${id}`,
        body: { name: "n", description: null, inputs_schema_definition: null },
      },
    ]);
    expect(Object.keys(server.requests[0]?.body as object)).toHaveLength(3);
  });

  test("versions, tags, differences and splits call their endpoints", async () => {
    const diff = { examples_added: [id], examples_modified: [], examples_removed: [other] };
    const server = await mswServer(
      on.get("*/versions/diff", () => HttpResponse.json(diff)),
      on.get("*/versions", () => HttpResponse.json([version])),
      on.get("*/version", () => HttpResponse.json(version)),
      on.put("*/tags", () => HttpResponse.json(version)),
      on.get("*/splits", () => HttpResponse.json(["base", "x"])),
      on.put("*/splits", () => HttpResponse.json([])),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    const at = new Date("2026-11-21T10:11:12.345Z");
    const parsed = { asOf: version.as_of, tags: ["prod"] };
    expect(
      await datasets.listVersions({ datasetId: id, exampleId: other, search: "p" }).toArray(),
    ).toEqual([parsed]);
    expect(await datasets.readVersion({ datasetId: id, asOf: at })).toEqual(parsed);
    expect(await datasets.readVersion({ datasetId: id, tag: "prod" })).toEqual(parsed);
    expect(
      await datasets.tag({ datasetId: id, asOf: "2026-11-21T10:11:12.345678Z", tag: "prod" }),
    ).toEqual(parsed);
    expect(await datasets.diff({ datasetId: id, fromVersion: at, toVersion: "latest" })).toEqual({
      examplesAdded: [id],
      examplesModified: [],
      examplesRemoved: [other],
    });
    expect(await datasets.listSplits({ datasetId: id, asOf: "prod" })).toEqual(["base", "x"]);
    await datasets.updateSplits({ datasetId: id, splitName: "x", exampleIds: [other] });
    await datasets.updateSplits({
      datasetId: id,
      splitName: "x",
      exampleIds: [other],
      remove: true,
    });
    const time = "2026-11-21T10%3A11%3A12.345Z";
    expect(server.requests.map(({ target, body }) => [target, body])).toEqual([
      [`GET /datasets/${id}/versions?search=p&example=${other}&limit=100&offset=0`, undefined],
      [`GET /datasets/${id}/version?as_of=${time}`, undefined],
      [`GET /datasets/${id}/version?tag=prod`, undefined],
      [`PUT /datasets/${id}/tags`, { as_of: "2026-11-21T10:11:12.345678Z", tag: "prod" }],
      [`GET /datasets/${id}/versions/diff?from_version=${time}&to_version=latest`, undefined],
      [`GET /datasets/${id}/splits?as_of=prod`, undefined],
      [`PUT /datasets/${id}/splits`, { split_name: "x", examples: [other], remove: false }],
      [`PUT /datasets/${id}/splits`, { split_name: "x", examples: [other], remove: true }],
    ]);
  });

  test("a name is looked up once", async () => {
    const server = await mswServer(
      on.get("*/datasets", () => HttpResponse.json([wireDataset])),
      on.get("*/splits", () => HttpResponse.json([])),
      on.delete("*/datasets/:id", () => HttpResponse.json(null)),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.listSplits({ datasetName: "d" });
    await datasets.delete({ datasetName: "d" });
    expect(server.requests.map(({ target }) => target)).toEqual([
      "GET /datasets?name=d&limit=1",
      `GET /datasets/${id}/splits`,
      "GET /datasets?name=d&limit=1",
      `DELETE /datasets/${id}`,
    ]);
  });

  test("many datasets are deleted 100 at a time", async () => {
    const server = await mswServer(on.delete("*/datasets", () => HttpResponse.json(null)));
    await createDatasetResources(server.endpoint).datasets.deleteMany(
      Array.from({ length: 150 }, () => id),
    );
    const counts = server.requests.map(({ target }) => target.split("dataset_ids=").length - 1);
    expect(counts).toEqual([100, 50]);
  });

  test("index and search send their bodies, and search returns examples", async () => {
    const server = await mswServer(
      on.post("*/index", () => HttpResponse.json({})),
      on.post("*/search", () => HttpResponse.json({ examples: [wireExample] })),
    );
    const { datasets } = createDatasetResources(server.endpoint);
    await datasets.index({ datasetId: id });
    await datasets.index({ datasetId: id, tag: "prod" });
    const inputs = { question: "why?" };
    const found = await datasets.search({ datasetId: id, inputs, limit: 3, filter: "eq(a, 1)" });
    expect(found).toEqual([
      { id: other, datasetId: id, inputs: { q: 1 }, metadata: {}, splits: [] },
    ]);
    await datasets.search({ datasetId: id, inputs });
    expect(server.requests.map(({ body }) => body)).toEqual([
      {},
      { tag: "prod" },
      { inputs, limit: 3, filter: "eq(a, 1)" },
      { inputs, limit: 5 },
    ]);
  });
});
