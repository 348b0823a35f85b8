import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ChunkedSender } from "../../../../tests/support/chunked-runs.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import { readSharedRanges, toShareableTexts } from "../shared-ranges.ts";
import type { SharedRange } from "../shared-ranges.ts";
import { toHashKind } from "../shareable-text.ts";

const long = "long enough to be shared ".repeat(12);

test("the hashes that are computed from a payload are those of the client that sent it", () => {
  const value = fc.oneof(
    fc.constantFrom(long, '"\\', "]", ",", "水車 🌊", '\\\\"[{'),
    fc.jsonValue({ maxDepth: 2 }),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), (values) => {
      const run = wireRun({ inputs: { list: [...values, long], text: long }, outputs: { long } });
      const { records, bodies } = new ChunkedSender("one").createBatch([{ run }, { run }]);
      // The second payload repeats the first, so all of its texts are known.
      const { bodyStart, bodyEnd, shareable = [] } = records[1] ?? { bodyStart: 0, bodyEnd: 0 };
      const ranges = shareable.map(({ start, end, hashes }): SharedRange => ({
        kind: toHashKind(hashes[0] ?? "") ?? "text",
        start,
        end,
      }));
      const texts = toShareableTexts(bodies.subarray(bodyStart, bodyEnd), ranges);
      expect(texts.map(({ hashes }) => hashes.at(-1))).toEqual(
        shareable.map(({ hashes }) => hashes.at(-1)),
      );
      expect(texts.map(({ start, end }) => [start, end])).toEqual(
        shareable.map(({ start, end }) => [start, end]),
      );
      expect(shareable.length).toBeGreaterThanOrEqual(2);
    }),
  );
});

test("a list has a hash for each of its beginnings that is long enough to be shared", () => {
  const list = Buffer.from(`[${JSON.stringify(long)},1,{"a":[2,3]}`);
  const [text] = toShareableTexts(list, [{ kind: "list", start: 0, end: list.length }]);
  const firstEnd = long.length + 3;
  expect(text).toMatchObject({
    ends: [firstEnd, firstEnd + 2, list.length],
    start: 0,
    end: list.length,
    isRepeated: true,
  });
  expect(new Set(text?.hashes).size).toBe(3);
  const [beginning] = toShareableTexts(list, [{ kind: "list", start: 0, end: firstEnd }]);
  expect(beginning?.hashes).toEqual(text?.hashes.slice(0, 1));
});

test("a list that can't be separated into items, and a short text, remain in their payload", () => {
  const lists = [`{"a":"${long}"`, `["${long}`, `["${long}",[1`, `["${long}"],2`, `["${long}\\`];
  for (const list of lists.map((json) => Buffer.from(json))) {
    expect(toShareableTexts(list, [{ kind: "list", start: 0, end: list.length }])).toEqual([]);
  }
  const short = Buffer.from("x".repeat(255));
  expect(toShareableTexts(short, [{ kind: "text", start: 0, end: short.length }])).toEqual([]);
});

test("the ranges of a payload follow from its parts, unless a text is missing", () => {
  const parts = JSON.stringify([
    [10, "Tone", 300],
    [5, "Ltwo", 700],
    [2, null, null],
  ]);
  expect(readSharedRanges(parts, 1_017)).toEqual([
    { kind: "text", start: 10, end: 310 },
    { kind: "list", start: 315, end: 1_015 },
  ]);
  expect(readSharedRanges(parts, 1_018)).toEqual([]);
  expect(readSharedRanges(null, 1_017)).toEqual([]);
});
