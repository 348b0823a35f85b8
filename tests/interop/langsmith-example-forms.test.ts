import type { ExampleCreate } from "langsmith/schemas";
import { describe, expect, test } from "vitest";
import { LangsmithTestServer, toArray, unique } from "./langsmith/test-server.ts";
import { newVersions } from "./langsmith/methods.ts";
import type { TodaysClient } from "./langsmith/test-server.ts";
import { betweenVersions, doubles } from "./langsmith/doubles.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("example-forms");

const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 255, 0, 1]);

type Attachments = Awaited<ReturnType<TodaysClient["readExample"]>>["attachments"];

/** Bytes by name, each fetched without a key from the address in the example. */
async function bytesOf(attachments: Attachments) {
  const entries = Object.entries(attachments ?? {}).map(async ([name, { presigned_url }]) => {
    const response = await fetch(presigned_url);
    return [name, new Uint8Array(await response.arrayBuffer())] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

describe("examples of langsmith 0.10 that are sent as forms", () => {
  test.each(newVersions)(
    "attachments are read back byte for byte, from one example and from a list (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const { id: dataset_id } = await client.createDataset(unique("dataset"));
      const { id, attachments } = await client.createExample({
        dataset_id,
        inputs: { question: unusualText },
        outputs: { answer: unusualText },
        attachments: {
          picture: ["image/png", png],
          "a note": { mimeType: "text/plain", data: new TextEncoder().encode(unusualText) },
        },
      });
      expect(attachments?.["picture"]).toMatchObject({ mime_type: "image/png" });
      const note = new TextEncoder().encode(unusualText);
      expect(await bytesOf(attachments)).toEqual({ picture: png, "a note": note });
      const listed = await toArray(
        client.listExamples({ datasetId: dataset_id, includeAttachments: true }),
      );
      expect(listed).toMatchObject([{ id, outputs: { answer: unusualText } }]);
      expect(await bytesOf(listed[0]!.attachments)).toEqual({ picture: png, "a note": note });
      const read = await testServer.reader.examples.read(id);
      const bytes = await testServer.reader.examples.readAttachment(read.attachments!["picture"]!);
      expect(new Uint8Array(bytes)).toEqual(png);
    },
  );

  test.each(newVersions)(
    "attachments are kept, renamed, replaced and dropped by an update (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const { id: dataset_id } = await client.createDataset(unique("dataset"));
      const { id } = await client.createExample({
        dataset_id,
        inputs: {},
        attachments: { a: ["image/png", png], b: ["image/png", png], c: ["image/png", png] },
      });
      await client.updateExample({
        id,
        attachments: { d: ["text/plain", new Uint8Array([1, 2])] },
        attachments_operations: { retain: ["a"], rename: { b: "renamed" } },
      });
      expect(await bytesOf((await client.readExample(id)).attachments)).toEqual({
        a: png,
        renamed: png,
        d: new Uint8Array([1, 2]),
      });
    },
  );

  test.each(newVersions)(
    "many are made from a list, from columns, and by the call that it replaced (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const { id: dataset_id, name: dataset_name } = await client.createDataset(unique("dataset"));
      const created = await client.createExamples([
        { dataset_name, inputs: { n: 1 }, outputs: { double: 2 }, split: "train" },
        { dataset_name, inputs: { n: 2 }, attachments: { picture: ["image/png", png] } },
      ]);
      expect(created).toMatchObject([
        { inputs: { n: 1 }, outputs: { double: 2 }, metadata: { dataset_split: ["train"] } },
        { inputs: { n: 2 } },
      ]);
      expect(await bytesOf(created[1]!.attachments)).toEqual({ picture: png });
      const [column] = await client.createExamples({
        inputs: [{ n: 3 }],
        attachments: [{ picture: ["image/png", png] }],
        datasetId: dataset_id,
      });
      expect(await bytesOf(column!.attachments)).toEqual({ picture: png });
      const id = crypto.randomUUID();
      const uploaded = await client.uploadExamplesMultipart(dataset_id, [
        { id, inputs: { n: 4 }, outputs: { double: 8 }, metadata: { of: "four" }, dataset_id },
      ]);
      expect(uploaded).toMatchObject({ count: 1, example_ids: [id] });
      await client.updateExamplesMultipart(dataset_id, [{ id, outputs: { double: "eight" } }]);
      expect(await client.readExample(id)).toMatchObject({
        inputs: { n: 4 },
        outputs: { double: "eight" },
        metadata: { of: "four" },
      });
      expect(await testServer.reader.examples.count({ datasetId: dataset_id })).toBe(4);
    },
  );

  test.each(newVersions)(
    "an example is made of a run, with its inputs, outputs and attachments (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const source_run_id = crypto.randomUUID();
      const place = {
        id: source_run_id,
        trace_id: source_run_id,
        dotted_order: `20260102T030405678000Z${source_run_id}`,
      };
      await client.multipartIngestRuns({
        runCreates: [
          {
            ...place,
            name: "source",
            run_type: "chain",
            inputs: { question: "Weather?" },
            outputs: { answer: "Rain." },
            start_time: "2026-01-02T03:04:05.678Z",
            attachments: { picture: ["image/png", png], other: ["image/png", png] },
          },
        ],
      });
      const { id: dataset_id } = await client.createDataset(unique("dataset"));
      // The types require inputs, which come from the run here.
      const ofRun = {
        dataset_id,
        source_run_id,
        use_source_run_io: true,
        use_source_run_attachments: ["picture"],
      } as unknown as ExampleCreate;
      const example = await client.createExample(ofRun);
      expect(example).toMatchObject({
        inputs: { question: "Weather?" },
        outputs: { answer: "Rain." },
        source_run_id,
      });
      expect(await bytesOf(example.attachments)).toEqual({ picture: png });
    },
  );

  test.each(newVersions)(
    "many are deleted at once, and earlier versions keep them unless it is for good (%s)",
    async (newer) => {
      const client = testServer.newest(newer);
      const { dataset, examples } = await doubles(testServer.either("langsmith"), 4);
      const datasetId = dataset.id;
      const before = await betweenVersions();
      const ids = examples.map(({ id }) => id);
      const count = async (asOf?: Date) =>
        (await toArray(client.listExamples({ datasetId, ...(asOf && { asOf }) }))).length;
      await client.deleteExamples(ids.slice(0, 2));
      expect([await count(), await count(before)]).toEqual([2, 4]);
      await client.deleteExamples(ids.slice(2, 3), { hardDelete: true });
      expect([await count(), await count(before)]).toEqual([1, 3]);
      await expect(client.readExample(ids[0]!)).rejects.toThrow("404");
    },
  );
});

testServer.expectAllCalled();
