import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MultipartBatch } from "../multipart-batch.ts";
import { parseBatch } from "../parse-batch.ts";
import { parseTime } from "../../../model/parse-time.ts";
import { readColumnValues } from "../run-members.ts";
import { parsePartHead } from "../../../bodies/part-head.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

// The most common forms of requests have fast paths; these tests compare them with the general parser.

const values = fc.constantFrom<unknown>(
  null,
  5,
  "",
  "text",
  'with "quotes"',
  "\u0000\ud800",
  {},
  ["llm"],
  "2026-11-21T10:11:12.345678Z",
  "2026-02-30T10:11:12.345678Z",
  wireRun().id,
);

const names =
  "id trace_id dotted_order session_id session_name name run_type start_time end_time parent_run_id reference_example_id tags error inputs __proto__ other".split(
    " ",
  );

const run = fc
  .dictionary(fc.constantFrom(...names), values, { maxKeys: 5, noNullPrototype: true })
  .map((fields) => ({ ...wireRun(), ...fields }));

test("the main part of a run is parsed like the same object in a list", () => {
  fc.assert(
    fc.property(run, (given) => {
      const text = JSON.stringify(given);
      const listed = parseBatch(Buffer.from(`{"post":[${text}]}`));
      const parts = new MultipartBatch();
      const id = JSON.stringify(given.id).replaceAll('"', "");
      const contentType = "application/json";
      parts.add({ name: `post.${id}`, contentType, bytes: Buffer.from(text), fault: undefined });
      const { batch, rejected } = parts.build();
      fc.pre(/^[\da-f-]{36}$/.test(id));
      expect(rejected).toEqual(listed.rejected);
      expect(batch.records).toEqual(listed.batch.records);
      expect(Buffer.from(batch.bodies)).toEqual(Buffer.from(listed.batch.bodies));
    }),
  );
});

test.each([
  '{"name":"a","tags":[]}',
  '{"name":"\\u0061"}',
  '{"name":"a",}',
  "[]",
  "null",
  '{"__proto__":1}',
  `{"name":"${"a".repeat(2_048)}"}`,
])("the fast path leaves %s to the general parser", (json) => {
  expect(readColumnValues(Buffer.from(json))).toBeUndefined();
});

test.each<[string, Partial<ReturnType<typeof parsePartHead>>]>([
  [
    'Content-Disposition: form-data; name="post.a"\r\nContent-Type: application/json; length=12',
    { name: "post.a", contentType: "application/json; length=12", length: 12, fault: undefined },
  ],
  [
    'content-disposition: form-data; name="post.a"\r\nContent-Type: application/json;length=12',
    { name: "post.a", contentType: "application/json;length=12", length: 12, fault: undefined },
  ],
  [
    'Content-Disposition: form-data; name="a"; filename="b"\r\nContent-Type: application/json; length=1',
    { name: "a", length: 1, fault: undefined },
  ],
  [
    'Content-Disposition: form-data; name="a\0"\r\nContent-Type: application/json; length=1',
    { fault: "has a header line with a NUL, CR or LF character" },
  ],
  [
    'Content-Disposition: form-data; name="a"\r\nContent-Encoding: gzip\r\nContent-Type: application/json; length=1',
    { fault: "is compressed; only a whole body may be compressed" },
  ],
])("the header %j is parsed the same however it is written", (text, head) => {
  expect(parsePartHead(text)).toMatchObject(head);
});

test("times within one second are each parsed correctly, one after another", () => {
  const times = [
    "2026-11-21T10:11:12.000001Z",
    "2026-11-21T10:11:12.999999Z",
    "2026-11-21T10:11:13.000001Z",
    "2026-11-21T10:11:12.5Z",
    "2026-11-21T10:11:12.000001+01:00",
    "2026-02-30T10:11:12.000001Z",
    "2026-02-30T10:11:12.000002Z",
    "2026-11-21T10:11:12+01.000001Z",
    "1969-12-31T23:59:59.999999Z",
  ];
  const second = 1_795_255_872_000_000;
  expect(times.map(parseTime)).toEqual([
    second + 1,
    second + 999_999,
    second + 1_000_001,
    second + 500_000,
    second + 1 - 3_600_000_000,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
