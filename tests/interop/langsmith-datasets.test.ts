import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { versions } from "./langsmith/methods.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("datasets");

const textSchema = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};

describe.each(versions)("datasets of %s", (version) => {
  test("a dataset is created with all its fields, and read by id and by name", async () => {
    const client = testServer.either(version);
    const name = unique(`dataset ${unusualText.slice(0, 5)}`);
    const created = await client.createDataset(name, {
      description: "What it is for",
      dataType: "kv",
      inputsSchema: textSchema,
      outputsSchema: { type: "object" },
      metadata: { team: "search", depth: { tier: 2 } },
    });
    const expected = {
      id: created.id,
      name,
      description: "What it is for",
      data_type: "kv",
      inputs_schema_definition: textSchema,
      outputs_schema_definition: { type: "object" },
      metadata: { team: "search", depth: { tier: 2 } },
      example_count: 0,
    };
    expect(await client.readDataset({ datasetId: created.id })).toMatchObject(expected);
    expect(await client.readDataset({ datasetName: name })).toMatchObject(expected);
    expect(await testServer.reader.datasets.read({ datasetId: created.id })).toMatchObject({
      name,
      metadata: expected.metadata,
    });
    const refused = client.createExamples({ inputs: [{ text: 1 }], datasetId: created.id });
    await expect(refused).rejects.toThrow("text");
    await expect(client.createDataset(name)).rejects.toThrow(/409|already exists/u);
  });

  test("a dataset exists until it is deleted, by id or by name", async () => {
    const client = testServer.either(version);
    const [first, second] = [unique("dataset"), unique("dataset")];
    const { id: datasetId } = await client.createDataset(first);
    await client.createDataset(second);
    expect(await client.hasDataset({ datasetId })).toBe(true);
    expect(await client.hasDataset({ datasetName: second })).toBe(true);
    await client.deleteDataset({ datasetId });
    await client.deleteDataset({ datasetName: second });
    expect(await client.hasDataset({ datasetId })).toBe(false);
    expect(await client.hasDataset({ datasetName: second })).toBe(false);
    await expect(client.readDataset({ datasetName: second })).rejects.toThrow("not found");
  });

  test("an update changes only the given fields", async () => {
    const client = testServer.either(version);
    const { id, name } = await client.createDataset(unique("dataset"), { description: "before" });
    const renamed = unique("renamed");
    await client.updateDataset({ datasetId: id, name: renamed });
    expect(await client.readDataset({ datasetId: id })).toMatchObject({
      name: renamed,
      description: "before",
    });
    await client.updateDataset({ datasetName: renamed, description: "after" });
    expect(await client.readDataset({ datasetId: id })).toMatchObject({
      name: renamed,
      description: "after",
    });
    expect(await client.hasDataset({ datasetName: name })).toBe(false);
  });

  test("datasets are listed by each filter, and over several pages", async () => {
    const client = testServer.either(version);
    const stem = crypto.randomUUID();
    const first = await client.createDataset(`${stem} first`, { metadata: { team: stem } });
    const second = await client.createDataset(`${stem} second`);
    const idsOf = async (filter: Parameters<typeof client.listDatasets>[0]) =>
      new Set((await toArray(client.listDatasets(filter))).map(({ id }) => id));
    const both = new Set([first.id, second.id]);
    expect(await idsOf({ datasetNameContains: stem })).toEqual(both);
    expect(await idsOf({ datasetIds: [...both] })).toEqual(both);
    expect(await idsOf({ datasetName: `${stem} first` })).toEqual(new Set([first.id]));
    expect(await idsOf({ metadata: { team: stem } })).toEqual(new Set([first.id]));
    // With pages of one item, the client requests the second page because the first was full. In our package the limit is
    // that of the whole list.
    const limited = await idsOf({ datasetNameContains: stem, limit: 1 });
    expect(limited.size).toBe(version === "@millrace/langsmith" ? 1 : 2);
    expect((await idsOf({ datasetNameContains: stem, offset: 1 })).size).toBe(1);
  });

  test("a dataset's page names the tenant and the dataset", async () => {
    const client = testServer.either(version);
    await client.createProject({ projectName: unique("for its tenant") });
    const { id, name } = await client.createDataset(unique("dataset"));
    const { id: tenantId } = await testServer.reader.tenant.settings();
    const page = `/o/${tenantId}/datasets/${id}`;
    expect(new URL(await client.getDatasetUrl({ datasetId: id })).pathname).toBe(page);
    expect(new URL(await client.getDatasetUrl({ datasetName: name })).pathname).toBe(page);
  });

  test("a CSV becomes a dataset with an example for each row", async () => {
    const client = testServer.either(version);
    const name = unique("csv");
    const csv =
      '\uFEFFquestion,hint,answer\n"Who, or\nwhat?","a ""quoted"" word",Rain\nWhy?,,Sun\n';
    const dataset = await client.uploadCsv({
      csvFile: new Blob([csv], { type: "text/csv" }),
      fileName: "questions.csv",
      inputKeys: ["question", "hint"],
      outputKeys: ["answer"],
      description: "From a file",
      dataType: "kv",
      name,
    });
    expect(await client.readDataset({ datasetName: name })).toMatchObject({
      id: dataset.id,
      description: "From a file",
      data_type: "kv",
      example_count: 2,
    });
    const examples = await testServer.reader.examples.list({ datasetId: dataset.id }).toArray();
    const rows = new Map(
      examples.map(({ inputs, outputs }) => [inputs["question"], { inputs, outputs }]),
    );
    expect(rows.get("Who, or\nwhat?")).toEqual({
      inputs: { question: "Who, or\nwhat?", hint: 'a "quoted" word' },
      outputs: { answer: "Rain" },
    });
    expect(rows.get("Why?")?.outputs).toEqual({ answer: "Sun" });
    const missing = client.uploadCsv({
      csvFile: new Blob([csv]),
      fileName: "questions.csv",
      inputKeys: ["nowhere"],
      outputKeys: ["answer"],
      name: unique("csv"),
    });
    await expect(missing).rejects.toThrow("nowhere");
  });

  test("chats are exported as lines for fine-tuning", async () => {
    const client = testServer.either(version);
    const { id, name } = await client.createDataset(unique("chats"), { dataType: "chat" });
    await client.createChatExample(
      [{ type: "human", data: { content: `Weather? ${unusualText.slice(0, 5)}` } }],
      { type: "ai", data: { content: "Rain." } },
      { datasetId: id },
    );
    const expected = [
      {
        messages: [
          { role: "user", content: `Weather? ${unusualText.slice(0, 5)}` },
          { role: "assistant", content: "Rain." },
        ],
      },
    ];
    const byId = (await client.readDatasetOpenaiFinetuning({ datasetId: id })) as unknown[];
    expect(byId).toMatchObject(expected);
    expect(await client.readDatasetOpenaiFinetuning({ datasetName: name })).toEqual(byId);
  });
});

testServer.expectAllCalled();
