import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ContentCache } from "../../server/src/runs/ingest/content-cache.ts";
import type { WirePatch } from "../../src/model/run.ts";
import { ContentDeduplication } from "../../src/workers/json/content-deduplication.ts";
import { batchOfTrace, bodyOf, receiveBody } from "../support/content-chunks.ts";

const traceId = randomUUID();
const unknownContentError = /refers to content that this server does not have for the trace/;

const message = (turn: number, extra: object = {}): object => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: `turn ${turn}: ${"what was said ".repeat(20)}`,
  ...extra,
});
const conversation = (turns: number): WirePatch => ({
  inputs: { messages: Array.from({ length: turns }, (_, turn) => message(turn)), model: "m" },
  outputs: { message: message(turns) },
});

/** Values that are long enough for a digest, and texts that a careless format could confuse with its own markers. */
const texts = fc.constantFrom(
  "short",
  "long enough to be remembered ".repeat(8),
  "水車と水路 мельница 🌊 ".repeat(12),
  '"\\\u0000\u2028\r\n--'.repeat(30),
  "\ud800 lone ".repeat(30),
);
const digest = "0123456789abcdef";
const lookalikes: readonly unknown[] = [
  { $ref: digest, "millrace.same": digest },
  `S${digest}`,
  `L${"\0".repeat(16)}`,
  { T: { K: { S: digest } } },
];
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    texts,
    fc.constantFrom<unknown>(
      ...lookalikes,
      Number.POSITIVE_INFINITY,
      -0,
      1.5e300,
      null,
      true,
      12_345_678_901_234,
    ),
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(fc.constantFrom("a", "b", "messages", "__proto__", ""), tie("value"), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
    fc.constantFrom(new Uint8Array(300), new Uint8Array(3)),
  ),
}));
/** Runs with repeated values: all values of a run come from the same small pool. */
const requests = fc.array(value, { minLength: 1, maxLength: 5 }).chain((pool) => {
  const drawn = fc.constantFrom(...pool);
  const grown = fc.integer({ min: 0, max: pool.length }).map((end) => pool.slice(0, end));
  const run: fc.Arbitrary<WirePatch> = fc.record(
    {
      inputs: fc.record({ messages: fc.oneof(grown, fc.constant(pool)), state: drawn }),
      outputs: fc.record({ answer: drawn }),
      events: fc.array(fc.record({ name: fc.constant("token"), kwargs: drawn })),
      error: texts,
      extra: fc.record({ metadata: fc.record({ drawn }) }),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<WirePatch>;
  return fc.array(fc.array(run, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 });
});

test("any run sent as chunks is received byte for byte like the same run sent inline", () => {
  fc.assert(
    fc.property(requests, (all) => {
      const deduplication = new ContentDeduplication();
      const content = new ContentCache();
      for (const runs of all) {
        const batch = batchOfTrace(traceId, runs);
        const draft = deduplication.createDraft();
        const received = receiveBody(bodyOf(batch, draft), content);
        draft.recordResponse([]);
        expect(received).toEqual(receiveBody(bodyOf(batch)));
        expect(received.reasons.size).toBe(0);
      }
    }),
    { numRuns: 60 },
  );
});

test("whatever content either side has evicted, a run arrives unchanged or is refused with the reason", () => {
  const outcomes = fc.array(
    fc.constantFrom("fine", "answer lost", "server restarted", "never came"),
    {
      minLength: 5,
      maxLength: 5,
    },
  );
  let refusals = 0;
  fc.assert(
    fc.property(requests, outcomes, (all, outcome) => {
      const deduplication = new ContentDeduplication(3_000);
      let content = new ContentCache({ traceBytes: 6_000, allBytes: 8_000 });
      all.forEach((runs, index) => {
        const batch = batchOfTrace(traceId, runs);
        const draft = deduplication.createDraft();
        const body = bodyOf(batch, draft);
        if (outcome[index] === "server restarted") {
          content = new ContentCache();
        }
        if (outcome[index] === "never came") {
          return;
        }
        const { payloads, reasons } = receiveBody(body, content);
        const plain = receiveBody(bodyOf(batch)).payloads;
        expect(payloads.size + reasons.size).toBe(plain.size);
        for (const [id, payload] of payloads) {
          expect(payload).toBe(plain.get(id));
        }
        for (const reason of reasons.values()) {
          expect(reason).toMatch(/refers to content|has more content than is remembered/);
          refusals += 1;
        }
        if (outcome[index] === "fine") {
          draft.recordResponse([...reasons.keys()].map((id) => ({ id })));
        }
      });
    }),
    { numRuns: 60 },
  );
  expect(refusals).toBeGreaterThan(0);
});

test("a turn of a conversation sends only its new content", () => {
  const deduplication = new ContentDeduplication();
  const content = new ContentCache();
  const sizes = [10, 11, 50, 51].map((turns) => {
    const batch = batchOfTrace(traceId, [conversation(turns)]);
    const draft = deduplication.createDraft();
    const body = bodyOf(batch, draft);
    expect(receiveBody(body, content)).toEqual(receiveBody(bodyOf(batch)));
    draft.recordResponse([]);
    return body.length;
  });
  // The response of the tenth turn was sent before it became a message, so only two new messages and the envelope are sent.
  expect(sizes[1]).toBeLessThan(2_000);
  expect(sizes[3]).toBeLessThan(2_000);
  expect(sizes[2]).toBeGreaterThan(38 * 250);
});

test("two branches of a conversation share their common content", () => {
  const deduplication = new ContentDeduplication();
  const content = new ContentCache();
  const messages = Array.from({ length: 40 }, (_, turn) => message(turn));
  const branches = [messages, [...messages.slice(0, 20), message(20, { other: true })]];
  const [, second = 0] = branches.map((branch) => {
    const batch = batchOfTrace(traceId, [{ inputs: { messages: branch } }]);
    const draft = deduplication.createDraft();
    const body = bodyOf(batch, draft);
    expect(receiveBody(body, content)).toEqual(receiveBody(bodyOf(batch)));
    draft.recordResponse([]);
    return body.length;
  });
  expect(second).toBeLessThan(2_000);
});

test("content of one trace or tenant can't be referenced from another", () => {
  const content = new ContentCache();
  const deduplication = new ContentDeduplication();
  const runs = [conversation(5)];
  const first = deduplication.createDraft();
  expect(receiveBody(bodyOf(batchOfTrace(traceId, runs), first), content).reasons.size).toBe(0);
  first.recordResponse([]);
  const named = bodyOf(batchOfTrace(traceId, runs), deduplication.createDraft());
  const other = Buffer.from(named.toString("latin1").replaceAll(traceId, randomUUID()), "latin1");
  expect([...receiveBody(other, content).reasons.values()]).toEqual([
    expect.stringMatching(unknownContentError),
  ]);
  expect([...receiveBody(named, content, "other").reasons.values()]).toEqual([
    expect.stringMatching(unknownContentError),
  ]);
  expect(receiveBody(named, content).reasons.size).toBe(0);
});

test("a trace whose content the server keeps evicting is sent inline", () => {
  const deduplication = new ContentDeduplication();
  const batch = batchOfTrace(traceId, [conversation(5)]);
  const isInPieces = (): boolean => {
    const draft = deduplication.createDraft();
    const body = bodyOf(batch, draft);
    draft.recordResponse(batch.runs);
    return body.includes("millrace.pieces");
  };
  expect([1, 2, 3, 4].map(isInPieces)).toEqual([true, true, true, false]);
});

test("a worker remembers no more content than its limit", () => {
  const deduplication = new ContentDeduplication(50_000);
  for (let trace = 0; trace < 40; trace++) {
    const draft = deduplication.createDraft();
    bodyOf(batchOfTrace(randomUUID(), [conversation(20)]), draft);
    draft.recordResponse([]);
    expect(deduplication.bytes).toBeLessThanOrEqual(50_000);
  }
  expect(deduplication.bytes).toBeGreaterThan(10_000);
});
