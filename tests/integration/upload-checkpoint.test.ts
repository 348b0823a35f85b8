import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { NewExample } from "millrace";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";

const server = useServer();
let client: Client;
let folder: string;
let count = 0;
let dataset: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-upload-"));
  client = new Client({ endpoint: server.url });
});

beforeEach(() => {
  dataset = `rows ${count++}`;
});

afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

const rows = (many: number): readonly NewExample[] =>
  Array.from({ length: many }, (_, index) => ({
    inputs: { question: `What is ${index}?` },
    outputs: { answer: index },
    metadata: { index },
    split: index % 2 === 0 ? "even" : "odd",
  }));

const counted = async (): Promise<number> => client.examples.count({ datasetName: dataset });

describe("a checkpoint", () => {
  const path = (): string => join(folder, `${dataset}.json`);

  test("the next upload continues after the rows that are done", async () => {
    const request = {
      datasetName: dataset,
      createDataset: true,
      checkpoint: path(),
      chunkCount: 50,
    };
    async function* failing(): AsyncGenerator<NewExample> {
      yield* rows(220);
      throw new RangeError("killed");
    }
    await expect(client.examples.upload(failing(), request)).rejects.toThrow("killed");
    // When an upload has ended, the first of the two slots contains the latest record.
    const [record] = readFileSync(path(), "utf8").split("\n");
    expect(JSON.parse(record ?? "")).toMatchObject({ rows: 220 });
    const result = await client.examples.upload(rows(400), request);
    expect(result).toMatchObject({ read: 400, firstRow: 221, skipped: 220, created: 180 });
    expect(await counted()).toBe(400);
    expect(await client.examples.upload(rows(400), request)).toMatchObject({ skipped: 400 });
  });

  test("a checkpoint of another source is refused, by its name or by its rows", async () => {
    const request = { datasetName: dataset, createDataset: true };
    await client.examples.upload(rows(10), {
      ...request,
      checkpoint: { path: path(), source: "a" },
    });
    await expect(
      client.examples.upload(rows(10), { ...request, checkpoint: { path: path(), source: "b" } }),
    ).rejects.toThrow("belongs to another source: a, not b");
    const others = rows(12).slice(2);
    await expect(
      client.examples.upload(others, { ...request, checkpoint: { path: path(), source: "a" } }),
    ).rejects.toThrow("its row 10 differs from row 10 of this source");
    expect(await counted()).toBe(10);
  });

  test("a checkpoint of another dataset, and a file that is no checkpoint, are refused", async () => {
    await client.examples.upload(rows(3), {
      datasetName: dataset,
      createDataset: true,
      checkpoint: path(),
    });
    const other = `${dataset} other`;
    await expect(
      client.examples.upload(rows(3), {
        datasetName: other,
        createDataset: true,
        checkpoint: path(),
      }),
    ).rejects.toThrow("belongs to an upload of examples of dataset");
    writeFileSync(path(), "{");
    await expect(
      client.examples.upload(rows(3), { datasetName: dataset, checkpoint: path() }),
    ).rejects.toThrow("is not a checkpoint");
  });

  test("a checkpoint that can't be written is reported, and the rows arrive", async () => {
    const result = await client.examples.upload(rows(30), {
      datasetName: dataset,
      createDataset: true,
      checkpoint: join(folder, "no such folder", "checkpoint.json"),
    });
    expect(result).toMatchObject({
      created: 30,
      warnings: [expect.stringContaining("ENOENT") as string],
    });
  });
});

describe("feedback and runs", () => {
  const runId = "01890a5d-ac96-774b-bcce-b302099a8057";

  test("runs arrive with their ids and times, and feedback on them once", async () => {
    const run = {
      id: runId,
      trace_id: runId,
      dotted_order: `20240102T030405000006Z${runId}`,
      name: "migrated",
      run_type: "llm",
      startTime: "2024-01-02T03:04:05.000006Z",
      end_time: "2024-01-02T03:04:06.000000Z",
      inputs: { q: 1 },
      outputs: { a: 2 },
      session_name: dataset,
    };
    const odd = { photo: { mimeType: "image/png", data: new Uint8Array(1), name: "photo" } };
    const refused = await client.runs.upload([{ ...run, attachments: odd }] as never);
    expect(refused.faults).toEqual([
      { row: 1, reason: expect.stringContaining("unknown member `name`; known: ") as string },
    ]);
    const result = await client.runs.upload([run, { ...run, id: "no id" }]);
    expect(result).toMatchObject({ read: 2, created: 1, rejected: 1 });
    expect(result.faults[0]).toMatchObject({
      row: 2,
      reason: expect.stringContaining("UUID") as string,
    });
    expect(await client.runs.read(runId)).toMatchObject({
      name: "migrated",
      startTime: "2024-01-02T03:04:05.000006Z",
      outputs: { a: 2 },
    });
    const judgements = [
      { runId, key: "good", score: 1 },
      { runId, key: "good", score: 0.5 },
      { key: "good" },
    ] as const;
    const misspelt = await client.feedback.upload([
      { runId, key: "k", scores: 1 },
      { runId, key: "k", feedbackConfig: { type: "continuous", minimum: 0 } },
    ] as never);
    expect(misspelt).toMatchObject({ created: 0, rejected: 2 });
    expect(misspelt.faults).toEqual([
      { row: 1, reason: "feedback.upload: unknown option `scores`; did you mean `score`?" },
      {
        row: 2,
        reason: expect.stringMatching(
          /unknown option `minimum`; .*\(in feedbackConfig\)/,
        ) as string,
      },
    ]);
    const keyed = await client.feedback.upload(
      [{ runId, key: "keyed", score: 1, ticket: 7 }] as never,
      { idFrom: { key: "ticket" } },
    );
    expect(keyed).toMatchObject({ created: 1, rejected: 0 });
    const byContent = await client.feedback.upload(judgements as never, { idFrom: "content" });
    expect(byContent).toMatchObject({ read: 3, created: 2, rejected: 1 });
    await client.feedback.upload(judgements as never);
    expect(await client.feedback.list({ runIds: [runId], keys: ["good"] }).toArray()).toHaveLength(
      2,
    );
  });
});
