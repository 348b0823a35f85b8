import { randomUUID } from "node:crypto";
import type { Operation } from "millrace/model";
import { expect, test } from "vitest";
import { MultipartBatch } from "../multipart-batch.ts";
import { MultipartParser } from "../../../bodies/multipart-parser.ts";
import { parseBatch, parseOneRun } from "../parse-batch.ts";
import type { Rejection } from "../../run-record.ts";
import { boundary, multipart, wireRun } from "../../../../tests/support/wire-runs.ts";
import type { PartInit } from "../../../../tests/support/wire-runs.ts";

const root = wireRun();
const child = wireRun({ parent: root });
const stamp = "20261121T101112345678Z";
const other = "0195d3a2-0000-7000-8000-00000000000f";

/** Rules that apply to batches and multipart requests alike. */
const rules: readonly (readonly [string, Operation, Readonly<Record<string, unknown>>, string])[] =
  [
    ["no id", "post", { ...root, id: undefined }, "id is missing"],
    ["an id that is not a UUID", "post", { ...root, id: "run-1" }, 'id is not a UUID: "run-1"'],
    ["an id that is a number", "post", { ...root, id: 5 }, "id is not a UUID: 5"],
    ["no trace_id", "post", { ...root, trace_id: undefined }, "trace_id is missing"],
    ["no dotted_order", "patch", { ...root, dotted_order: undefined }, "dotted_order is missing"],
    [
      "a trace_id that is not a UUID",
      "post",
      { ...root, trace_id: "t" },
      'trace_id is not a UUID: "t"',
    ],
    [
      "a malformed dotted_order",
      "post",
      { ...root, dotted_order: "x" },
      'dotted_order: segment 1 is not <YYYYMMDDTHHMMSSffffffZ><uuid>: "x"',
    ],
    [
      "a dotted_order with a day that does not exist",
      "post",
      { ...root, dotted_order: `20261341T101112345678Z${root.id}` },
      "dotted_order: segment 1 is not a valid date and time: 20261341T101112345678Z; expected YYYYMMDDTHHMMSSffffffZ",
    ],
    [
      "a root with two segments",
      "post",
      { ...child, parent_run_id: undefined, trace_id: child.id },
      "dotted_order of a root run (without parent_run_id) must have one segment, not 2",
    ],
    [
      "a child with one segment",
      "post",
      { ...root, parent_run_id: other },
      "dotted_order of a child run must have at least two segments, not one",
    ],
    [
      "a root whose trace is another",
      "post",
      { ...root, trace_id: other },
      `trace_id of a root run must be its id: trace_id is ${other}, id is ${root.id}`,
    ],
    [
      "a dotted_order that begins elsewhere",
      "post",
      { ...child, trace_id: other },
      `dotted_order begins with ${root.id}, which is not trace_id ${other}`,
    ],
    [
      "a dotted_order that ends elsewhere",
      "post",
      { ...root, dotted_order: stamp + other, trace_id: root.id },
      `dotted_order begins with ${other}, which is not trace_id ${root.id}`,
    ],
    [
      "a patch's dotted_order that ends elsewhere",
      "patch",
      { ...child, id: other },
      `dotted_order ends with ${child.id}, which is not id ${other}`,
    ],
    [
      "a parent that is not a UUID",
      "post",
      { ...child, parent_run_id: "p" },
      'parent_run_id is not a UUID: "p"',
    ],
    [
      "a project id that is not a UUID",
      "post",
      { ...root, session_id: "s" },
      'session_id is not a UUID: "s"',
    ],
    [
      "an example id that is not a UUID",
      "post",
      { ...root, reference_example_id: "e" },
      'reference_example_id is not a UUID: "e"',
    ],
    [
      "a start that is not a time",
      "post",
      { ...root, start_time: "noon" },
      'start_time is neither an ISO 8601 time nor epoch milliseconds: "noon"',
    ],
    [
      "an end that is not a time",
      "patch",
      { ...root, end_time: -1 },
      "end_time is neither an ISO 8601 time nor epoch milliseconds: -1",
    ],
    ["a name that is not a string", "post", { ...root, name: 5 }, "name must be a string, not 5"],
    [
      "a run type that is not a string",
      "post",
      { ...root, run_type: ["llm"] },
      'run_type must be a string, not ["llm"]',
    ],
    [
      "a project name that is not a string",
      "post",
      { ...root, session_name: {} },
      "session_name must be a string, not {}",
    ],
  ];

test.each(rules)(
  "in a batch, %s (%s) is reported, and the neighbors are accepted",
  (_title, operation, bad, reason) => {
    const body = {
      post: [wireRun()],
      patch: [wireRun()],
      [operation]: [wireRun(), bad, wireRun()],
    };
    const { batch, rejected } = parseBatch(Buffer.from(JSON.stringify(body)));
    expect(batch.records).toHaveLength(3);
    expect(rejected.map(({ reason: output, operation: which }) => [which, output])).toEqual([
      [operation, reason],
    ]);
  },
);

function parseParts(parts: readonly PartInit[]): { ids: string[]; rejected: readonly Rejection[] } {
  const collected = new MultipartBatch();
  const parser = new MultipartParser(boundary, (part) => collected.add(part));
  parser.push(multipart(parts));
  parser.end();
  const { batch, rejected } = collected.build();
  return { ids: batch.records.map(({ id }) => id), rejected };
}

const mainPart = (run: { readonly id: string }, operation: Operation = "post"): PartInit => ({
  name: `${operation}.${run.id}`,
  body: JSON.stringify(run),
});

const before = wireRun();
const after = wireRun();
const bad = wireRun();
const id = bad.id;

const faults: readonly (readonly [string, readonly PartInit[], string])[] = [
  [
    "a main part that is not JSON",
    [{ name: `post.${id}`, body: "{" }],
    `part "post.${id}" is not JSON: expected a name in quotes at byte 1 of 1`,
  ],
  [
    "a main part that is not an object",
    [{ name: `post.${id}`, body: "[]" }],
    `part "post.${id}" is not JSON: expected an object at byte 0 of 2`,
  ],
  [
    "a main part of another id",
    [{ name: `post.${id}`, body: JSON.stringify(before) }],
    `id is ${before.id}, but the URL names ${id}`,
  ],
  [
    "a field that is not JSON",
    [mainPart(bad), { name: `post.${id}.inputs`, body: "{'a':1}" }],
    `part "post.${id}.inputs" is not JSON: expected a name in quotes at byte 1 of 7`,
  ],
  [
    "a field that is not UTF-8",
    [mainPart(bad), { name: `post.${id}.inputs`, body: Buffer.from([0x22, 0xff, 0x22]) }],
    `part "post.${id}.inputs" is not UTF-8`,
  ],
  [
    "a field without its run",
    [{ name: `post.${id}.inputs`, body: "{}" }],
    `fields without a run: the request has no part post.${id}`,
  ],
  [
    "a field without a length",
    [mainPart(bad), { name: `post.${id}.inputs`, body: "{}", length: null }],
    `part "post.${id}.inputs" has no length, neither in Content-Type nor as Content-Length`,
  ],
  [
    "a field of a wrong length",
    [mainPart(bad), { name: `post.${id}.inputs`, body: "{}", length: 1 }],
    `part "post.${id}.inputs" announces 1 bytes and has 2`,
  ],
  [
    "a part whose name has no meaning",
    [{ name: "wibble", body: "{}" }],
    'part "wibble" has an unknown name; expected post|patch.<run id>, post|patch.<run id>.<field>, attachment.<run id>.<name>, feedback.<run id>',
  ],
  [
    "a field that the wire format does not define",
    [{ name: `post.${id}.secrets`, body: "{}" }],
    `part "post.${id}.secrets" has an unknown name; expected post|patch.<run id>, post|patch.<run id>.<field>, attachment.<run id>.<name>, feedback.<run id>`,
  ],
  [
    "feedback without a key",
    [{ name: `feedback.${id}`, body: "{}" }],
    `part "feedback.${id}" is not valid feedback: it must have required properties key`,
  ],
  [
    "an attachment without a run",
    [{ name: "attachment.x.a", body: "1" }],
    'part "attachment.x.a" has a run id that is not a UUID',
  ],
];

test.each(faults)(
  "in a multipart request, %s is reported, and the neighbors are accepted",
  (_title, parts, reason) => {
    const { ids, rejected } = parseParts([mainPart(before), ...parts, mainPart(after, "patch")]);
    expect(ids).toEqual([before.id, after.id]);
    expect(rejected.map(({ reason: output }) => output)).toEqual([reason]);
  },
);

test("fields may be sent before their run", () => {
  const { ids, rejected } = parseParts([{ name: `post.${id}.inputs`, body: "{}" }, mainPart(bad)]);
  expect([ids, rejected]).toEqual([[id], []]);
});

test("an id in capitals names the same run", () => {
  const upper = {
    ...root,
    id: root.id.toUpperCase(),
    trace_id: root.id.toUpperCase(),
    dotted_order: stamp + root.id.toUpperCase(),
  };
  const { batch, rejected } = parseBatch(Buffer.from(JSON.stringify({ post: [upper] })));
  expect(rejected).toEqual([]);
  expect(batch.records[0]).toMatchObject({
    id: root.id,
    traceId: root.id,
    dottedOrder: stamp + root.id,
  });
});

test("a patch that may be of a root or a child can have any number of segments", () => {
  const { id: childId, trace_id, dotted_order } = child;
  const { rejected } = parseBatch(
    Buffer.from(JSON.stringify({ patch: [{ id: childId, trace_id, dotted_order }] })),
  );
  expect(rejected).toEqual([]);
});

test("a single-run request may omit the trace and the dotted order", () => {
  const body = Buffer.from(JSON.stringify({ id: randomUUID(), name: "one" }));
  expect(parseOneRun(body, "post", { position: "optional" }).rejected).toEqual([]);
});

test.each([
  ["no JSON", "{", "the body is not JSON: expected a name in quotes at byte 1 of 1"],
  ["an array", "[]", "the body is not JSON: expected an object at byte 0 of 2"],
  ["post that is not a list", '{"post":{}}', "post must be an array of runs"],
])("a batch that is %s is rejected completely", (_title, body, message) => {
  expect(() => parseBatch(Buffer.from(body))).toThrow(message);
});

test("a run in a batch that is not an object is reported", () => {
  const { batch, rejected } = parseBatch(
    Buffer.from(JSON.stringify({ post: [null, root, 5], patch: null })),
  );
  expect(batch.records).toHaveLength(1);
  expect(rejected.map(({ reason }) => reason)).toEqual([
    "a run must be a JSON object",
    "a run must be a JSON object",
  ]);
});

test("more operations than the limit are rejected", () => {
  const list = (length: number): string => Array.from({ length }, () => "{}").join(",");
  const long = Buffer.from(`{"post":[${list(10_001)}]}`);
  expect(() => parseBatch(long)).toThrow("more than 10000 items in one list");
  const both = Buffer.from(`{"post":[${list(5_001)}],"patch":[${list(5_000)}]}`);
  expect(() => parseBatch(both)).toThrow(
    "10001 operations in one request; at most 10000 are allowed: send fewer per request",
  );
});
