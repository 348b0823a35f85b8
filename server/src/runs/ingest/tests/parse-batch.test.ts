import * as fc from "fast-check";
import { expect, test } from "vitest";
import { BatchBuilder } from "../batch-builder.ts";
import type { ParsedBatch } from "../batch-builder.ts";
import { JsonCursor } from "../../../bodies/json-cursor.ts";
import { parseBatch } from "../parse-batch.ts";

const trace = "01234567-89ab-7cde-8f01-23456789abcd";
const createId = (index: number): string => `01234567-89ab-7cde-8f01-0000000000${index + 10}`;
const head = `20261121T101112345678Z${trace}`;

/** Creates the members that every run must have. */
const createRequiredMembers = (index: number): string[][] => [
  ["trace_id", `"${trace}"`],
  ["id", `"${createId(index).toUpperCase()}"`],
  ["dotted_order", `"${head}.20261121T101112345679Z${createId(index)}"`],
];

/** Arbitrary other members, some of them invalid. */
const anyMember = () =>
  fc.oneof(
    fc.constantFrom(
      ["parent_run_id", `"${trace}"`],
      ["parent_run_id", "null"],
      ["session_name", '"a project"'],
      ["session_name", "7"],
      ["run_type", '"l\\u006cm"'],
      ["start_time", '"2026-11-21T10:11:12.345678Z"'],
      ["start_time", "1763719872345"],
      ["end_time", "null"],
      ["reference_example_id", '"no id"'],
      ["error", '"it broke"'],
    ),
    fc.constantFrom('"plain"', '"with \\ud800 in it"', '"é"', "null").map((raw) => ["name", raw]),
    fc
      .tuple(fc.constantFrom("inputs", "outputs", "extra", "in\\u0070uts", "é"), fc.json())
      .map(([name, json]) => [name, json]),
  );

const runText = (index: number) =>
  fc
    .tuple(
      fc
        .tuple(fc.subarray(createRequiredMembers(index), { minLength: 2 }), fc.array(anyMember()))
        .map((lists) => lists.flat())
        .chain((members) => fc.shuffledSubarray(members, { minLength: members.length })),
      fc.constantFrom("", " ", "\n\t"),
    )
    .map(
      ([members, space]) =>
        `{${members.map(([name, raw]) => `${space}"${name}"${space}:${space}${raw}${space}`).join(",")}}`,
    );

/** Returns the result of parsing a batch, independent of whitespace and of the order of members in a payload. */
const summarize = ({ batch, rejected }: ParsedBatch): unknown => ({
  rejected,
  records: batch.records.map(({ bodyStart, bodyEnd, digest, ...record }) => ({
    ...record,
    hasDigest: digest !== "",
    payload: Object.fromEntries(
      [...new JsonCursor(Buffer.from(batch.bodies).subarray(bodyStart, bodyEnd)).readMembers()].map(
        ([name, raw]) => [name, raw.toString()],
      ),
    ),
  })),
});

test("parsing a batch in one pass gives the same runs as parsing them one by one", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.nat(3).chain((index) => runText(index)),
        { maxLength: 4 },
      ),
      fc.constantFrom("post" as const, "patch" as const),
      (texts, operation) => {
        const builder = new BatchBuilder();
        for (const text of texts) {
          const members = new JsonCursor(Buffer.from(text)).readMembers();
          builder.addRun({ operation, members }, { position: "required" });
        }
        const body = Buffer.from(`{ "${operation}" : [${texts.join(" ,")}] }`);
        expect(summarize(parseBatch(body))).toEqual(summarize(builder.build()));
      },
    ),
    { numRuns: 2_000 },
  );
});

const createValidRun = (index: number): string =>
  `{"id":"${createId(index)}","trace_id":"${trace}","dotted_order":"${head}.20261121T101112345679Z${createId(index)}","parent_run_id":"${trace}","inputs":{"a":1},"outputs":{}}`;

test("neighboring members are stored as they were sent", () => {
  const { batch } = parseBatch(Buffer.from(`{"post":[${createValidRun(0)}]}`));
  expect(Buffer.from(batch.bodies).toString()).toBe('{"inputs":{"a":1},"outputs":{}}');
});

test("of two lists with the same name the last one counts, even if one of them is not a list", () => {
  const ids = (body: string): string[] =>
    parseBatch(Buffer.from(body)).batch.records.map(({ id }) => id);
  expect(ids(`{"post":[${createValidRun(0)}],"post":[${createValidRun(1)}]}`)).toEqual([
    createId(1),
  ]);
  expect(ids(`{"post":7,"post":[${createValidRun(1)}]}`)).toEqual([createId(1)]);
  expect(ids(`{"post":[${createValidRun(0)}],"post":null}`)).toEqual([]);
  expect(() => ids(`{"post":[${createValidRun(0)}],"post":7}`)).toThrow(
    "post must be an array of runs",
  );
});

test("malformed JSON after valid runs rejects the body, and the error has the position", () => {
  const good = `{"post":[${createValidRun(0)}]`;
  expect(() => parseBatch(Buffer.from(`${good},"patch":[tru]}`))).toThrow(
    `the body is not JSON: expected true at byte ${good.length + 10}`,
  );
});

test("posts are processed before patches, whichever list comes first", () => {
  const body = `{"patch":[${createValidRun(0)}],"post":[${createValidRun(1)},[]]}`;
  const { batch, rejected } = parseBatch(Buffer.from(body));
  expect(batch.records.map(({ operation }) => operation)).toEqual(["post", "patch"]);
  expect(rejected).toEqual([
    { id: null, operation: "post", reason: "a run must be a JSON object" },
  ]);
});

test("a wrong segment after valid ancestors is counted from the root", () => {
  const wrong = createValidRun(1).replace(`679Z${createId(1)}`, `679Z${createId(1).slice(1)}0x`);
  const { rejected } = parseBatch(Buffer.from(`{"post":[${createValidRun(0)},${wrong}]}`));
  expect(rejected[0]?.reason).toMatch(/^dotted_order: segment 2 is not/);
});

test("24:00:00 is a valid time in a dotted order, a fraction of a second after it is not", () => {
  const at = (stamp: string): string => createValidRun(0).replace("20261121T101112345679Z", stamp);
  const reasons = [
    "20261121T240000000000Z",
    "20261121T240000500000Z",
    "20261121T240000000000Z",
  ].map((stamp) => parseBatch(Buffer.from(`{"post":[${at(stamp)}]}`)).rejected[0]?.reason);
  expect(reasons).toEqual([
    undefined,
    expect.stringMatching(/is not a valid date and time/),
    undefined,
  ]);
});
