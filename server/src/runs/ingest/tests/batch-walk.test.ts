import { isUtf8 } from "node:buffer";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonCursor, JsonError } from "../../../bodies/json-cursor.ts";
import { decodeText } from "../../../bodies/json-text.ts";
import { indexBatch } from "../batch-index.ts";
import type { BatchIndex } from "../batch-index.ts";
import { BatchWalk } from "../batch-walk.ts";
import {
  rowLimits,
  memberField,
  wordsPerMember,
  notAnObject,
  runField,
  wordsPerRun,
  unknownNameCode,
} from "../walk-layout.ts";
import { batchText, mutatedBatch } from "../../../../tests/support/batch-texts.ts";

const walk = createWalk();
const batchBytes = batchText.map((text) => Buffer.from(text));

function createWalk(): BatchWalk {
  const created = BatchWalk.create();
  if (created === undefined) {
    throw new Error("There is no WebAssembly here");
  }
  return created;
}

/** The members of each run as names and positions; `null` for an item that is not an object. */
function describeIndex({ body, names, runs, members, lists }: BatchIndex): unknown {
  const memberAt = (row: number) => {
    const [code = unknownNameCode, nameAt, nameEnd, from, to] = Array.from(
      { length: wordsPerMember },
      (_, word) => members[row * wordsPerMember + word],
    );
    return [names[code] ?? decodeText(body.subarray(nameAt, nameEnd)), nameAt, from, to];
  };
  const runAt = (row: number) => {
    const first = runs[row * wordsPerRun + runField.first] ?? notAnObject;
    const end = runs[row * wordsPerRun + runField.end] ?? notAnObject;
    return first === notAnObject
      ? null
      : Array.from({ length: end - first }, (_, index) => memberAt(first + index));
  };
  return [lists.post, lists.patch].map(({ first, count }) =>
    Array.from({ length: count }, (_, index) => runAt(first + index)),
  );
}

test("the module indexes a batch as the TypeScript indexer does, or leaves it to that", () => {
  fc.assert(
    fc.property(fc.oneof(batchBytes, batchBytes, mutatedBatch), (body) => {
      const index = walk.walk([body]);
      fc.pre(index !== undefined);
      expect(describeIndex(index)).toEqual(describeIndex(indexBatch(body)));
    }),
    { numRuns: 1_000 },
  );
});

test("the members of an object in a body are listed, unless there are too many", () => {
  const object = { usage: { a: 1 }, '\u0061"': [1, 2], inputs: null };
  const wide = Object.fromEntries(
    Array.from({ length: rowLimits.members }, (_, at) => [`m${at}`, 1]),
  );
  const index = walk.walk([Buffer.from(JSON.stringify({ post: [{ object, wide }] }))]);
  const [first = 0, second = 0] = [
    memberField.valueStart,
    wordsPerMember + memberField.valueStart,
  ].map((word) => index?.members[word]);
  const members = walk.findMembers(index?.body.subarray(first) ?? Buffer.alloc(0));
  expect(
    [...(members ?? [])].map(([name, json]) => [name, JSON.parse(json.toString()) as unknown]),
  ).toEqual(Object.entries(object));
  expect(walk.findMembers(index?.body.subarray(second) ?? Buffer.alloc(0))).toBeUndefined();
});

/** Whether the TypeScript parser accepts the text as JSON. */
function isJson(json: Buffer): boolean {
  try {
    new JsonCursor(json).assertOneValue();
    return true;
  } catch (cause) {
    if (!(cause instanceof JsonError)) {
      throw cause;
    }
    return false;
  }
}

test("the module accepts a value as JSON if the TypeScript parser does, unless it is short or long", () => {
  fc.assert(
    fc.property(fc.oneof(batchBytes, mutatedBatch), (body) => {
      fc.pre(isUtf8(body));
      const padded = Buffer.concat([body, Buffer.alloc(256, " ")]);
      expect(walk.isJson(padded)).toBe(isJson(padded));
    }),
    { numRuns: 1_000 },
  );
  const deep = (levels: number): Buffer => Buffer.from("[".repeat(levels) + "]".repeat(levels));
  expect([10_001, 10_002].map((levels) => walk.isJson(deep(levels)))).toEqual([true, false]);
  expect([10_001, 10_002].map((levels) => isJson(deep(levels)))).toEqual([true, false]);
  expect(
    [255, 256, 4_194_304, 4_194_305].map((size) => walk.isJson(Buffer.alloc(size, "1"))),
  ).toEqual([false, true, true, false]);
});

test("without WebAssembly the module is not created", () => {
  const { WebAssembly: engine } = globalThis as { WebAssembly?: unknown };
  try {
    Reflect.deleteProperty(globalThis, "WebAssembly");
    expect(BatchWalk.create()).toBeUndefined();
  } finally {
    Reflect.set(globalThis, "WebAssembly", engine);
  }
});
