import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseBatch, decodeBatch } from "../parse-batch.ts";
import { expectAsParsed } from "../../../../tests/support/batch-oracle.ts";
import { batchText, mutatedBatch } from "../../../../tests/support/batch-texts.ts";

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
  `{"post":[{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}]}`,
  `{"a":${'{"a":'.repeat(10_001)}1${"}".repeat(10_001)}}`,
  `{"post":[${"{},".repeat(2_100)}{}]}`,
  `{"post":[${"0,".repeat(10_000)}0]}`,
  `{"post":[${"0,".repeat(9_999)}0],"patch":[0]}`,
];

test.each(oddBodies.map((body) => [body.slice(0, 60), body]))(
  "%j is parsed as JSON.parse parses it",
  (_title, body) => {
    expectAsParsed(body);
  },
);

test("any batch is parsed as JSON.parse parses it", () => {
  fc.assert(fc.property(batchText, expectAsParsed), { numRuns: 500 });
});

test("a batch with bytes replaced, cut or doubled is parsed as JSON.parse parses it", () => {
  fc.assert(fc.property(mutatedBatch, expectAsParsed), { numRuns: 1_000 });
});

test("a number that no double can hold is kept as it was sent", () => {
  const id = "01a20177-2565-737a-8327-bc822f532730";
  const run = `{"id":"${id}","trace_id":"${id}","dotted_order":"20261121T101112345678Z${id}","inputs":[1e400,-1e400]}`;
  expectAsParsed(`{"patch":[${run}]}`);
});

test("the values of a run may be nested as deeply as JSON may be", () => {
  const body = Buffer.from(`{"post":[{"a":${"[".repeat(9_999)}${"]".repeat(9_999)}}]}`);
  const reasons = [parseBatch(body), decodeBatch([body])].map(({ rejected }) => rejected);
  expect(reasons.flat().map(({ reason }) => reason)).toEqual(["id is missing", "id is missing"]);
});
