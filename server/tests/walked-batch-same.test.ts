import { isUtf8 } from "node:buffer";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { getBatchWalk } from "../src/runs/ingest/batch-walk.ts";
import { JsonCursor, JsonError } from "../src/bodies/json-cursor.ts";
import * as layout from "../src/runs/ingest/walk-layout.ts";
import { expectSame } from "./support/seen-batch.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

const root = wireRun({ id: "01a20177-2565-737a-8327-bc822f53273d" });
const bad = "01A20177-2565-737a-8327-bc822f53273d";
const usage = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_cost: 0.25 } };

const oddBodies: readonly string[] = [
  "",
  " ",
  "{}",
  " { } ",
  "[]",
  "null",
  "5",
  "{",
  '{"post"}',
  '{"post":}',
  '{"post":[}',
  '{"post":[],}',
  '{"post":[]}x',
  '{"post":[]} ',
  '{"post":[],"patch":null}',
  '{"post":7}',
  '{"post":{}}',
  '{"post":"[]"}',
  '{"post":[1,"a",null,[],{}]}',
  '{"patch":[1,{},[]],"post":[{}]}',
  '{"p\\u006fst":[{}]}',
  '{"post":[{}],"post":[]}',
  '{"post":[],"post":[{}]}',
  '{"post":null,"post":[{}]}',
  '{"post":[{}],"post":null}',
  '{"post":[{}],"post":5}',
  '{"post":[{"a":01}]}',
  '{"post":[{"a":-}]}',
  '{"post":[{"a":1.}]}',
  '{"post":[{"a":1e}]}',
  '{"post":[{"a":+1}]}',
  '{"post":[{"a":1E+5,"b":-0,"c":0.5e-7}]}',
  '{"post":[{"a":tru}]}',
  '{"post":[{"a":nul}]}',
  '{"post":[{"a":fals3}]}',
  '{"post":[{"a":nullx}]}',
  '{"post":[{"a":"\\x"}]}',
  '{"post":[{"a":"\\u12g4"}]}',
  '{"post":[{"a":"\n"}]}',
  '{"post":[{"a":"\0"}]}',
  '{"post":[{"a":"}]}',
  '{"post":[{"":1," ":2}]}',
  '{"other":{"deep":[[[{}]]]},"post":[{}]}',
  '{"post":[{"__proto__":{},"constructor":1}]}',
  '{"post":[{}{}]}',
  '{"post":[{},]}',
  '{"post":[,{}]}',
  "\ufeff{}",
  `{"post":[${"[".repeat(9_998)}${"]".repeat(9_998)}]}`,
  `{"post":[${"[".repeat(9_999)}${"]".repeat(9_999)}]}`,
  `{"post":[${"[".repeat(10_000)}${"]".repeat(10_000)}]}`,
  `{"post":[{"a":${"[".repeat(9_998)}${"]".repeat(9_998)}}]}`,
  `{"post":[{"a":${"[".repeat(9_999)}${"]".repeat(9_999)}}]}`,
  `{"a":${'{"a":'.repeat(10_001)}1${"}".repeat(10_001)}}`,
  `{"post":[${"{},".repeat(2_100)}{}]}`,
  `{"post":[${"0,".repeat(10_000)}0]}`,
  `{"post":[${"0,".repeat(9_999)}0],"patch":[0]}`,
];

test.each(oddBodies.map((body) => [body.slice(0, 60), body]))(
  "%j gives the same result as without the module",
  (_title, body) => {
    expectSame(body);
  },
);

/** Texts that may collide in the module's hash table. */
const someText = fc.constantFrom(
  "a",
  "b",
  "answer",
  "ä",
  "",
  "exactly sixteen!",
  "seventeen letters",
  "日本語",
  "x\\y",
);
const id = fc.constantFrom(
  ...Array.from({ length: 6 }, (_, at) => `01a20177-2565-737a-8327-bc822f53273${at}`),
);
const micros = fc.integer({ min: someMicros, max: someMicros + 3_000_000 });
const place = fc
  .tuple(fc.array(id, { minLength: 1, maxLength: 4 }), micros)
  .map(
    ([ids, start]) =>
      ids.reduce<ReturnType<typeof wireRun> | undefined>(
        (parent, own, at) =>
          wireRun({ id: own, micros: start + at, ...(parent === undefined ? {} : { parent }) }),
        undefined,
      ) ?? root,
  );
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    5,
    "",
    "text",
    {},
    [],
    ["llm"],
    usage,
    { metadata: usage },
    [{ name: "new_token", time: 5 }],
    bad,
  ),
  fc.constantFrom<unknown>(
    "2026-11-21T10:11:12.345678Z",
    "2026-11-21T10:11:12Z",
    1_763_719_872_345.5,
    "2026-13-21T10:11:12.345678Z",
  ),
  fc.json().map((json) => JSON.parse(json) as unknown),
);
const details = fc.record(
  {
    name: someText,
    run_type: someText,
    session_name: someText,
    inputs: anyValue,
    outputs: anyValue,
    extra: anyValue,
    tags: fc.array(someText),
    error: someText,
    events: anyValue,
    other: anyValue,
    start_time: fc.constantFrom("2026-11-21T10:11:12.345678Z", null),
    end_time: fc.constantFrom("2026-11-21T10:11:14.000000Z", null),
  },
  { requiredKeys: [] },
);
const memberNames = Object.keys(layout.member);
const spoilt = fc.dictionary(fc.constantFrom(...memberNames, "é", "__proto__"), anyValue, {
  maxKeys: 2,
  noNullPrototype: true,
});
const run = fc
  .tuple(place, details, fc.option(spoilt, { freq: 3 }), fc.boolean())
  .map(([at, fields, over, isKeptFirst]) => ({
    ...(isKeptFirst ? fields : {}),
    ...at,
    ...fields,
    ...over,
  }));
const spaces = fc.constantFrom("", "", " ", "\n\t\r  ");
const batch = fc
  .tuple(fc.array(run, { maxLength: 8 }), fc.array(run, { maxLength: 3 }), spaces, fc.boolean())
  .map(([post, patch, space, isPatchFirst]) =>
    JSON.stringify(isPatchFirst ? { patch, post } : { post, patch }, undefined, space),
  );

test("any batch gives the same result as without the module", () => {
  fc.assert(fc.property(batch, expectSame), { numRuns: 1_500 });
});

const mutation = fc.record({
  at: fc.nat(),
  byte: fc.constantFrom(...Buffer.from('"\\{}[],:0eE.-+ntf \n\0\x1fAz'), 0x80, 0xff),
  how: fc.constantFrom("set", "cut", "insert", "double"),
});

/** A batch in which some bytes are replaced, removed, inserted or repeated, mostly making it malformed. */
const spoiltBatch = fc
  .tuple(batch, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([text, mutations]) =>
    mutations.reduce((body, { at, byte, how }) => {
      const from = at % (body.length + 1);
      const [head, tail] = [body.subarray(0, from), body.subarray(from)];
      switch (how) {
        case "set":
          return Buffer.concat([head, Buffer.of(byte), tail.subarray(1)]);
        case "cut":
          return Buffer.concat([head, tail.subarray(byte)]);
        case "insert":
          return Buffer.concat([head, Buffer.of(byte), tail]);
        default:
          return Buffer.concat([head, tail.subarray(0, byte), tail]);
      }
    }, Buffer.from(text)),
  );

test("bytes that are replaced, cut or doubled make no difference either", () => {
  fc.assert(fc.property(spoiltBatch, expectSame), { numRuns: 3_000 });
});

/** Whether the TypeScript parser accepts the text as JSON. */
function isWhole(json: Buffer): boolean {
  try {
    new JsonCursor(json).readWhole();
    return true;
  } catch (cause) {
    if (!(cause instanceof JsonError)) {
      throw cause;
    }
    return false;
  }
}

test("the module accepts a value as JSON if the TypeScript parser does, unless it is short or long", () => {
  const walk = getBatchWalk();
  fc.assert(
    fc.property(
      fc.oneof(
        batch.map((text) => Buffer.from(text)),
        spoiltBatch,
      ),
      (body) => {
        fc.pre(isUtf8(body));
        const padded = Buffer.concat([body, Buffer.alloc(256, " ")]);
        expect(walk?.isJson(padded)).toBe(isWhole(padded));
      },
    ),
    { numRuns: 2_000 },
  );
  const deep = (levels: number): Buffer => Buffer.from("[".repeat(levels) + "]".repeat(levels));
  expect([10_001, 10_002].map((levels) => walk?.isJson(deep(levels)))).toEqual([true, false]);
  expect([10_001, 10_002].map((levels) => isWhole(deep(levels)))).toEqual([true, false]);
  expect(
    [255, 256, 4_194_304, 4_194_305].map((size) => walk?.isJson(Buffer.alloc(size, "1"))),
  ).toEqual([false, true, true, false]);
});
