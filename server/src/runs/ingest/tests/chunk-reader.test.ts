import { randomUUID } from "node:crypto";
import { listDigest, emptyListDigest, chunkCode, chunksType, textDigest } from "millrace/model";
import { expect, test } from "vitest";
import { ContentCache } from "../content-cache.ts";
import { ChunkReader } from "../chunk-reader.ts";
import { MultipartBatch } from "../multipart-batch.ts";
import type { Part } from "../../../bodies/multipart-parser.ts";
import { RequestError } from "../../../model/errors.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

const runTraceId = randomUUID();
const traceId = () => runTraceId;

function createTextChunk(code: number, content: string): Buffer {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(5);
  head[0] = code;
  head.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
const createDigestChunk = (code: number, digest: string): Buffer =>
  Buffer.concat([Buffer.from([code]), Buffer.from(digest, "latin1")]);
const computeDigest = (content: string): string => textDigest(Buffer.from(content));
const createChunkedPart = (...chunks: readonly Buffer[]): Part => ({
  name: "post.id.inputs",
  contentType: `${chunksType}; length=1`,
  bytes: Buffer.concat(chunks),
  fault: undefined,
});
const createReader = (content = new ContentCache()): ChunkReader =>
  new ChunkReader({ content, tenantId: "t" });
const joinChunks = (reader: ChunkReader, ...chunks: readonly Buffer[]): string => {
  const { bytes, fault } = reader.joinPart(createChunkedPart(...chunks), traceId);
  return fault ?? bytes.toString();
};

test("texts, names and lists are joined into one text", () => {
  const reader = createReader();
  const long = JSON.stringify("x".repeat(200));
  expect(
    joinChunks(
      reader,
      createTextChunk(chunkCode.text, '{"a":'),
      createTextChunk(chunkCode.remembered, long),
      createTextChunk(chunkCode.text, ',"b":'),
      createDigestChunk(chunkCode.reference, computeDigest(long)),
      createTextChunk(chunkCode.text, ',"c":'),
      createDigestChunk(chunkCode.list, emptyListDigest),
      createTextChunk(chunkCode.item, "1"),
      createDigestChunk(chunkCode.itemReference, computeDigest(long)),
      createTextChunk(chunkCode.text, "]}"),
    ),
  ).toBe(`{"a":${long},"b":${long},"c":[1,${long}]}`);
  const list = listDigest(listDigest(emptyListDigest, computeDigest("1")), computeDigest(long));
  const more = [
    createDigestChunk(chunkCode.list, list),
    createTextChunk(chunkCode.item, "2"),
    createTextChunk(chunkCode.text, "]"),
  ];
  expect(joinChunks(reader, ...more)).toBe(`[1,${long},2]`);
  expect(
    joinChunks(
      reader,
      createDigestChunk(chunkCode.list, emptyListDigest),
      createTextChunk(chunkCode.text, "]"),
    ),
  ).toBe("[]");
});

const missingContentReason =
  "refers to content that this server does not have for the trace; send it without chunks";
test.each([
  [
    "a text that was not sent",
    [createDigestChunk(chunkCode.reference, "0123456789abcdef")],
    missingContentReason,
  ],
  [
    "a list that was not sent",
    [createDigestChunk(chunkCode.list, "0123456789abcdef")],
    missingContentReason,
  ],
  [
    "an item that was not sent",
    [
      createDigestChunk(chunkCode.list, emptyListDigest),
      createDigestChunk(chunkCode.itemReference, "0123456789abcdef"),
    ],
    missingContentReason,
  ],
  ["an unknown code", [Buffer.from([7])], "has an unknown chunk code at byte 0"],
  [
    "an item outside of a list",
    [createTextChunk(chunkCode.item, "1")],
    "has an unknown chunk code at byte 0",
  ],
  [
    "a length without its text",
    [createTextChunk(chunkCode.text, "12").subarray(0, 6)],
    "ends within a chunk",
  ],
  ["half a length", [Buffer.from([chunkCode.text, 1, 0])], "ends within a chunk"],
  ["half a digest", [createDigestChunk(chunkCode.reference, "012345")], "ends within a chunk"],
  [
    "a text longer than memory",
    [Buffer.from([chunkCode.text, 255, 255, 255, 255, 1])],
    "ends within a chunk",
  ],
])("%s rejects only its part, with the reason", (_title, chunks, reason) => {
  expect(joinChunks(createReader(), ...chunks)).toBe(reason);
});

test("chunks are rejected if their run names no trace, or nothing is cached", () => {
  const part = createChunkedPart(createTextChunk(chunkCode.text, "{}"));
  const readFault = (id: unknown): string | undefined =>
    createReader().joinPart(part, () => id).fault;
  const reason = "is sent in chunks, but no earlier part has the run's trace_id";
  expect([null, 1, "no id", undefined].map(readFault)).toEqual([reason, reason, reason, reason]);
  expect(new ChunkReader(undefined).joinPart(part, traceId).fault).toBe(
    "is sent in chunks, which this endpoint does not accept",
  );
});

test("a run with invalid chunks is rejected, and its neighbors are stored", () => {
  const content = new ContentCache();
  const batch = new MultipartBatch(undefined, { content, tenantId: "t" });
  const runs = [wireRun(), wireRun(), wireRun()];
  for (const [index, run] of runs.entries()) {
    const bytes = Buffer.from(JSON.stringify(run));
    batch.add({ name: `post.${run.id}`, contentType: "application/json", bytes, fault: undefined });
    const chunks =
      index === 1
        ? createDigestChunk(chunkCode.reference, "0123456789abcdef")
        : createTextChunk(0x54, "{}");
    batch.add({ ...createChunkedPart(chunks), name: `post.${run.id}.inputs` });
  }
  const { batch: taken, rejected } = batch.build();
  expect(taken.records.map(({ id }) => id)).toEqual([runs[0]!.id, runs[2]!.id]);
  const [, { id }] = runs as unknown as [unknown, { readonly id: string }];
  expect(rejected).toEqual([
    { id, operation: "post", reason: `part "post.${id}.inputs" ${missingContentReason}` },
  ]);
});

test("few bytes that expand to many are rejected early: all fields of a request share one limit", () => {
  const mebibyte = JSON.stringify("x".repeat(1_048_576));
  const reader = createReader();
  const name = createDigestChunk(chunkCode.reference, computeDigest(mebibyte));
  expect(joinChunks(reader, createTextChunk(chunkCode.remembered, mebibyte)).length).toBe(
    mebibyte.length,
  );
  const tenTimes = Array.from({ length: 10 }, () => name);
  expect(joinChunks(reader, ...tenTimes).length).toBe(10 * mebibyte.length);
  expect(joinChunks(reader, ...tenTimes).length).toBe(10 * mebibyte.length);
  expect(() => joinChunks(reader, ...tenTimes)).toThrow(RequestError);
  const lists = createReader();
  const items = Array.from({ length: 10_000 }, () => createTextChunk(chunkCode.item, "1"));
  let digest: string = emptyListDigest;
  for (const _item of items) {
    digest = listDigest(digest, computeDigest("1"));
  }
  expect(
    joinChunks(lists, createDigestChunk(chunkCode.list, emptyListDigest), ...items).length,
  ).toBe(20_000);
  // Each reference expands to 20,000 bytes, and takes the work for 10,000 items.
  const again = Array.from({ length: 40 }, () => createDigestChunk(chunkCode.list, digest));
  expect(() => joinChunks(lists, ...again)).toThrow("exceed 25165824 bytes in total");
});

test("the cache is limited per trace and in total; the oldest content is dropped", () => {
  const kept = (letter: string): string => JSON.stringify(letter.repeat(1_000));
  const content = new ContentCache({ traceBytes: 3_000, allBytes: 5_000 });
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
  const send = (trace: string, ...chunks: readonly Buffer[]): string | undefined =>
    createReader(content).joinPart(createChunkedPart(...chunks), () => trace).fault;
  const define = (letter: string): Buffer => createTextChunk(chunkCode.remembered, kept(letter));
  const name = (letter: string): Buffer =>
    createDigestChunk(chunkCode.reference, computeDigest(kept(letter)));
  expect(send(first, define("a"), define("b"))).toBeUndefined();
  expect(send(first, name("a"), name("b"))).toBeUndefined();
  expect(send(first, define("c"))).toBe(
    "has more content than is remembered for one trace; send it without chunks",
  );
  expect(send(first, name("a"))).toBe(missingContentReason);
  expect(send(first, define("a"), define("b"))).toBeUndefined();
  expect(send(second, define("a"), define("b"))).toBeUndefined();
  expect(send(first, name("a"))).toBeUndefined();
  expect(send(third, define("a"))).toBeUndefined();
  expect(send(second, name("a"))).toBe(missingContentReason);
  expect(send(first, name("a"))).toBeUndefined();
});
