import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toBatch } from "../../../otlp/to-batch.ts";
import { EnginePairs } from "../../../../tests/support/engine-pairs.ts";
import type { EnginePair } from "../../../../tests/support/engine-pairs.ts";
import {
  otlpSpan,
  readSpans,
  spanUuid,
  spanIdOf,
  traceUuid,
} from "../../../../tests/support/otlp-spans.ts";
import type { SpanInit } from "../../../../tests/support/otlp-spans.ts";

// Spans are placed by the same rules on SQLite and on PostgreSQL, which reads the spans of a trace at once.

let pairs: EnginePairs;
beforeAll(async () => {
  pairs = await EnginePairs.open();
}, 60_000);
afterAll(() => pairs.close());

/** The flags of a span whose parent belongs to another process. */
const remote = { flags: 0x300 };

const send = (pair: EnginePair, spans: readonly SpanInit[], project?: string) =>
  pair.store(() => toBatch(readSpans(spans.map(otlpSpan)), { project }).batch);

test("spans in any order, of requests in any order, leave the same runs on both engines", async () => {
  const anySpans = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 8 }),
      parent: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      isRemote: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anySpans, { minLength: 1, maxLength: 5 }), async (requests) => {
      const pair = await pairs.create();
      for (const request of requests) {
        const spans = request.map(({ id, parent, isRemote }) => ({
          id,
          ...(parent === undefined ? {} : { parent }),
          ...(isRemote ? { rest: remote } : {}),
        }));
        await send(pair, spans);
        await pair.querySame({});
      }
    }),
    { numRuns: 20 },
  );
}, 180_000);

test("a late root takes the place of the entry span, with its payload and its children", async () => {
  const pair = await pairs.create();
  await send(pair, [
    { id: 3, parent: 2, rest: remote },
    { id: 4, parent: 3 },
  ]);
  await send(pair, [{ id: 2, parent: 1 }]);
  await send(pair, [{ id: 1 }]);
  const runs = await pair.querySame({ traceId: traceUuid });
  expect(new Map(runs.map(({ row }) => [row.id, row.parentRunId]))).toEqual(
    new Map([
      [traceUuid, null],
      [spanUuid(spanIdOf(2)), traceUuid],
      [spanUuid(spanIdOf(3)), spanUuid(spanIdOf(2))],
      [spanUuid(spanIdOf(4)), spanUuid(spanIdOf(3))],
    ]),
  );
  const entry = await pairs.postgres.read.runs.find(pair.tenantId, spanUuid(spanIdOf(3)));
  expect(entry?.bodies).toHaveLength(1);
});

test("a trace whose spans name a project moves its placeholder there", async () => {
  const pair = await pairs.create();
  await send(pair, [{ id: 3, parent: 2 }], "spans");
  await send(pair, [{ id: 2, parent: 1 }], "spans");
  const runs = await pair.querySame({});
  expect(runs.map(({ projectName }) => projectName)).toEqual(["spans", "spans", "spans"]);
  await send(pair, [{ id: 1 }]);
  expect(await pair.querySame({ isRoot: true })).toHaveLength(1);
});
