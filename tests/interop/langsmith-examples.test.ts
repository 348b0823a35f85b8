import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import type { OldClient } from "./langsmith/test-server.ts";
import { doubles, inputsOf } from "./langsmith/doubles.ts";
import { versions } from "./langsmith/methods.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("examples");

/** Records a run from which an example can be created. */
async function sourceRun(client: OldClient): Promise<string> {
  const id = crypto.randomUUID();
  await client.createRun({
    id,
    name: "source",
    run_type: "chain",
    inputs: { question: "Weather?" },
    outputs: { answer: "Rain." },
  });
  return id;
}

describe.each(versions)("examples of %s", (version) => {
  test("an example is created with all its fields, and read", async () => {
    const client = testServer.either(version);
    const { id: datasetId, name: datasetName } = await client.createDataset(unique("dataset"));
    const exampleId = crypto.randomUUID();
    const sourceRunId = await sourceRun(client);
    const created = await client.createExample(
      { question: unusualText, list: [1, { deep: null }] },
      { answer: unusualText },
      {
        datasetId,
        exampleId,
        createdAt: new Date("2026-01-02T03:04:05.678Z"),
        metadata: { team: "search", depth: { tier: 2 } },
        split: ["test", "hard"],
        sourceRunId,
      },
    );
    expect(created.id).toBe(exampleId);
    const example = await client.readExample(exampleId);
    expect(example).toMatchObject({
      id: exampleId,
      dataset_id: datasetId,
      inputs: { question: unusualText, list: [1, { deep: null }] },
      outputs: { answer: unusualText },
      source_run_id: sourceRunId,
      metadata: { team: "search", depth: { tier: 2 }, dataset_split: ["test", "hard"] },
    });
    expect(example.created_at).toContain("2026-01-02T03:04:05.678");
    expect(await testServer.reader.examples.read(exampleId)).toMatchObject({
      inputs: { question: unusualText },
      splits: ["test", "hard"],
    });
    const second = await client.createExample({ n: 1 }, { double: 2 }, { datasetName });
    expect(second).toMatchObject({ dataset_id: datasetId, metadata: { dataset_split: ["base"] } });
    await expect(client.readExample(crypto.randomUUID())).rejects.toThrow("404");
  });

  test("many examples are created at once, in order", async () => {
    const client = testServer.either(version);
    const { name: datasetName } = await client.createDataset(unique("dataset"));
    const exampleIds = [crypto.randomUUID(), crypto.randomUUID()];
    const sourceRunIds = [await sourceRun(client), await sourceRun(client)];
    const created = await client.createExamples({
      inputs: [{ n: 1 }, { n: 2 }],
      outputs: [{ double: 2 }, { double: 4 }],
      metadata: [{ of: "one" }, { of: "two" }],
      splits: ["train", ["test", "hard"]],
      exampleIds,
      sourceRunIds,
      datasetName,
    });
    expect(created.map(({ id }) => id)).toEqual(exampleIds);
    const read = await Promise.all(exampleIds.map((id) => client.readExample(id)));
    expect(read).toMatchObject([
      {
        inputs: { n: 1 },
        outputs: { double: 2 },
        metadata: { of: "one", dataset_split: ["train"] },
        source_run_id: sourceRunIds[0],
      },
      {
        inputs: { n: 2 },
        outputs: { double: 4 },
        metadata: { of: "two", dataset_split: ["test", "hard"] },
        source_run_id: sourceRunIds[1],
      },
    ]);
  });

  test("a text with its continuation, and a chat, are examples", async () => {
    const client = testServer.either(version);
    const llm = await client.createDataset(unique("dataset"), { dataType: "llm" });
    const text = await client.createLLMExample("Weather?", "Rain.", { datasetId: llm.id });
    expect(await client.readExample(text.id)).toMatchObject({
      inputs: { input: "Weather?" },
      outputs: { output: "Rain." },
    });
    const chats = await client.createDataset(unique("dataset"), { dataType: "chat" });
    const message = (type: string, content: string) => ({
      _getType: () => type,
      content,
      additional_kwargs: { of: type },
    });
    const chat = await client.createChatExample(
      [message("system", "Be brief."), message("human", unusualText)],
      message("ai", "Rain."),
      { datasetId: chats.id },
    );
    expect(await client.readExample(chat.id)).toMatchObject({
      inputs: {
        input: [
          { type: "system", data: { content: "Be brief.", additional_kwargs: { of: "system" } } },
          { type: "human", data: { content: unusualText } },
        ],
      },
      outputs: { output: { type: "ai", data: { content: "Rain." } } },
    });
  });

  test("examples are listed by each filter, and over several pages", async () => {
    const client = testServer.either(version);
    const { dataset } = await doubles(client, 103);
    const datasetId = dataset.id;
    const extra = await client.createExample(
      { n: 0 },
      { double: 0 },
      { datasetId, metadata: { team: "search", tier: 2 }, split: "special" },
    );
    const idsOf = async (filter: Parameters<typeof client.listExamples>[0]) =>
      (await toArray(client.listExamples(filter))).map(({ id }) => id);
    const all = await toArray(client.listExamples({ datasetName: dataset.name }));
    expect(all).toHaveLength(104);
    expect(inputsOf(all).size).toBe(104);
    expect(await idsOf({ datasetId, exampleIds: [extra.id] })).toEqual([extra.id]);
    expect(await idsOf({ datasetId, metadata: { team: "search" } })).toEqual([extra.id]);
    expect(await idsOf({ datasetId, splits: ["special"] })).toEqual([extra.id]);
    expect(await idsOf({ datasetId, splits: ["base"] })).toHaveLength(103);
    expect(await idsOf({ datasetId, filter: "has(metadata, '{\"tier\": 2}')" })).toEqual([
      extra.id,
    ]);
    expect(await idsOf({ datasetId, filter: 'eq(metadata.team, "search")' })).toEqual([extra.id]);
    expect(await idsOf({ datasetId, limit: 7 })).toHaveLength(7);
    expect(await idsOf({ datasetId, offset: 100 })).toHaveLength(4);
    const { length } = await idsOf({ datasetId, inlineS3Urls: false, limit: 3, offset: 2 });
    expect(length).toBe(3);
  });

  test("an update changes only the given fields", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 3);
    const [first, second, third] = examples.map(({ id }) => id) as [string, string, string];
    await client.updateExample(first, { outputs: { double: "two" } });
    expect(await client.readExample(first)).toMatchObject({
      inputs: { n: 1 },
      outputs: { double: "two" },
    });
    await client.updateExample(first, {
      inputs: { n: "one" },
      metadata: { late: true },
      split: ["moved"],
    });
    expect(await client.readExample(first)).toMatchObject({
      inputs: { n: "one" },
      outputs: { double: "two" },
      metadata: { late: true, dataset_split: ["moved"] },
    });
    await client.updateExamples([
      { id: second, outputs: { double: 5 }, dataset_id: dataset.id },
      { id: third, metadata: { odd: unusualText }, dataset_id: dataset.id },
    ]);
    expect(await client.readExample(second)).toMatchObject({
      inputs: { n: 2 },
      outputs: { double: 5 },
    });
    expect(await client.readExample(third)).toMatchObject({
      inputs: { n: 3 },
      outputs: { double: 6 },
      metadata: { odd: unusualText },
    });
  });

  test("a deleted example does not exist any more", async () => {
    const client = testServer.either(version);
    const { dataset, examples } = await doubles(client, 2);
    await client.deleteExample(examples[0]!.id);
    await expect(client.readExample(examples[0]!.id)).rejects.toThrow("404");
    const left = await toArray(client.listExamples({ datasetId: dataset.id }));
    expect(left.map(({ id }) => id)).toEqual([examples[1]!.id]);
    expect(await testServer.reader.examples.count({ datasetId: dataset.id })).toBe(1);
  });
});

testServer.expectAllCalled();
