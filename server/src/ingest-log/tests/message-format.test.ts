import { serialize } from "node:v8";
import { expect, test } from "vitest";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import type { RunBatch } from "../../runs/run-record.ts";
import { packPosts } from "../../runs/sqlite/post-rows.ts";
import { createFeedbackDraft } from "../../../tests/support/feedback-draft.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { divideBatch, joinBatches, joinParts, splitBatch, unpackBatch } from "../batch-parts.ts";
import { decodeMessage, encodeBatch, encodeReference } from "../message-format.ts";

/** Runs with usage, metadata, texts that JSON escapes, a patch and feedback. */
function someBatch(): RunBatch {
  const usage = { input_tokens: 3, output_tokens: 4, total_cost: 0.25 };
  const first = wireRun({
    run_type: "llm",
    inputs: { text: 'ä\u2028\ud800 "quoted"' },
    extra: { metadata: { ls_model_name: "gpt-4o", usage_metadata: usage, thread_id: "t" } },
    tags: ["a", "b"],
    error: null,
  });
  const post = [first, wireRun({ parent: first, outputs: { list: [1, null, {}] } }), wireRun()];
  const patch = [{ ...wireRun({ id: first.id }), end_time: null, error: "it failed" }];
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post, patch })));
  return {
    ...batch,
    attachments: [
      { runId: first.id, name: "f.bin", contentType: "image/png", bodyStart: 3, bodyEnd: 9 },
    ],
    feedback: [
      createFeedbackDraft({
        id: "0190a6c2-1f0a-7000-8000-0000000000a1",
        runId: first.id,
        key: "ünï",
        score: 0.5,
        value: { any: ["value"] },
      }),
    ],
  };
}

/** The content of a batch, independent of where its payloads are. */
const contentOf = ({ records, attachments, feedback, bodies }: RunBatch) => {
  const readRange = ({ bodyStart, bodyEnd }: { bodyStart: number; bodyEnd: number }) =>
    Buffer.from(bodies.subarray(bodyStart, bodyEnd)).toString("latin1");
  return {
    records: records.map((item) => ({ ...item, bodyStart: 0, bodyEnd: 0, body: readRange(item) })),
    files: attachments.map((item) => ({
      ...item,
      bodyStart: 0,
      bodyEnd: 0,
      body: readRange(item),
    })),
    feedback,
  };
};

const decodeBatch = (message: Uint8Array): RunBatch => {
  const decoded = decodeMessage(message);
  if (decoded.kind !== "batch") {
    throw new Error("the message is a reference");
  }
  return decoded.batch;
};

test("a batch is read as it was written", () => {
  const batch = someBatch();
  const message = encodeBatch("tenant", batch);
  expect(decodeMessage(message)).toMatchObject({ kind: "batch", tenantId: "tenant" });
  expect(contentOf(decodeBatch(message))).toEqual(contentOf(batch));
});

test("runs that share a list of facets share it after reading, too", () => {
  const facets = ["tag:a"];
  const records = someBatch().records.map((record) => ({ ...record, facets }));
  const [first, second] = decodeBatch(encodeBatch("t", { ...someBatch(), records })).records;
  expect(first?.facets).toEqual(facets);
  expect(second?.facets).toBe(first?.facets);
});

test("a batch that was packed for the store is unpacked to the same runs", () => {
  const batch = someBatch();
  const { bodies, ...content } = packPosts(batch);
  expect(content.posts?.facetIndexes.length).toBeGreaterThan(0);
  const unpacked = unpackBatch({ packed: new Uint8Array(serialize(content)), bodies });
  const repacked = packPosts(unpacked);
  expect(repacked.posts).toEqual(content.posts);
  expect(contentOf({ ...repacked, records: repacked.records })).toEqual(
    contentOf({ ...batch, records: content.records }),
  );
});

test("a batch is divided into messages of at most the given size, and none of it is lost", () => {
  const post = Array.from({ length: 200 }, () => wireRun({ inputs: { text: "x".repeat(2_000) } }));
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post })));
  const parts = splitBatch(batch, 65_536);
  const messages = parts.map((part) => encodeBatch("t", part));
  expect(messages.length).toBeGreaterThan(8);
  expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(65_536);
  expect(contentOf(collectAll(messages.map(decodeBatch)))).toEqual(contentOf(batch));
});

test("a file stays with its run, and comes alone if its run is not in the batch", () => {
  const { records, attachments, ...rest } = someBatch();
  const stranger = { ...attachments[0], runId: "other" } as (typeof attachments)[number];
  const units = divideBatch({ ...rest, records, attachments: [...attachments, stranger] });
  expect(
    units.map((unit) => [unit.records.length, unit.attachments.length, unit.feedback.length]),
  ).toEqual([
    [1, 1, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ]);
});

test("joined batches have memory of their own, as the store transfers it", () => {
  const [left, right] = [someBatch(), someBatch()];
  const joined = joinBatches([left, right]);
  expect(joined.bodies.buffer).not.toBe(left.bodies.buffer);
  expect(joined.bodies.byteOffset).toBe(0);
  expect(contentOf(joined)).toEqual(contentOf(collectAll([left, right])));
});

test("a reference names an object and its tenant", () => {
  expect(decodeMessage(encodeReference("ünï", "an-object"))).toEqual({
    kind: "reference",
    tenantId: "ünï",
    object: "an-object",
  });
});

test.for([
  ["nothing", []],
  ["a text", [...Buffer.from("hello")]],
  ["an unknown kind", [1, 9, 0, 0]],
  ["a head that is too long", [1, 1, 255, 255, 255, 255, 123, 125]],
  ["a head that is not JSON", [1, 1, 2, 0, 0, 0, 123, 123]],
  ["a head without a tenant", [1, 1, 2, 0, 0, 0, 123, 125]],
  ["a reference to nothing", [1, 2, 123, 125]],
  ["a reference that is null", [1, 2, ...Buffer.from("null")]],
] as const)("%s is refused as a message", ([, bytes]) => {
  expect(() => decodeMessage(Uint8Array.from(bytes))).toThrow(
    expect.objectContaining({ name: "MessageError" }) as Error,
  );
});

test("a message with a byte too much or too little is refused", () => {
  const message = encodeBatch("t", someBatch());
  for (const damaged of [message.subarray(0, -1), Buffer.concat([message, Buffer.from([0])])]) {
    expect(() => decodeMessage(damaged)).toThrow(/does not have the size/);
  }
});

test("a message of a newer version is refused with what to do", () => {
  const message = Uint8Array.from(encodeBatch("t", someBatch()));
  message[0] = 2;
  expect(() => decodeMessage(message)).toThrow(/version 2.*update the writers/);
});

/** Joins batches without moving their payloads, for comparison only. */
function collectAll(batches: readonly RunBatch[]): RunBatch {
  return batches.length === 1 && batches[0]
    ? joinParts(batches, batches[0].bodies)
    : joinBatches(batches);
}
