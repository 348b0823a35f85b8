import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseBatch, decodeBatch, walkBatch } from "../parse-batch.ts";
import { rowLimits } from "../walk-layout.ts";
import { usageSources } from "../../usage/usage-sources.ts";
import { expectAsParsed } from "../../../../tests/support/batch-oracle.ts";
import { someMicros, wireRun } from "../../../../tests/support/wire-runs.ts";

const root = wireRun({ id: "01a20177-2565-737a-8327-bc822f53273d" });

/** Creates the members of a run as the SDK sends them. */
const createUsualRun = (over: Readonly<Record<string, unknown>> = {}) => ({
  ...wireRun({ parent: root, micros: someMicros + 1_000 }),
  start_time: "2026-11-21T10:11:12.346678Z",
  end_time: "2026-11-21T10:11:13.000001Z",
  session_name: "a project",
  inputs: { messages: [{ role: "user", content: 'say "hi"\n\\ 日本語 😀' }], none: null },
  outputs: { text: "grüße", list: [1, -0.5e3, true, false, [], {}] },
  extra: { metadata: { release: "1", list: ["a", ["b"]] }, runtime: { sdk: "test" } },
  ...over,
});

const createBody = (post: readonly unknown[], patch?: readonly unknown[]): string =>
  JSON.stringify({ post, patch });

/** Returns the measures of the only run of a body. */
const parseMeasures = (body: string): unknown =>
  decodeBatch([Buffer.from(body)]).batch.records[0]?.measures;

/** Whether the WebAssembly module indexes a body. */
const isIndexedByModule = (body: string): boolean => walkBatch([Buffer.from(body)]) !== undefined;

describe("a post", () => {
  test.each<[string, unknown]>([
    ["of a child", createUsualRun()],
    ["of a root", { ...root, inputs: {} }],
    ["without anything to keep", root],
    ["without name, type, project and times", { ...root, name: null, run_type: undefined }],
    ["with an error", createUsualRun({ error: "it broke" })],
    ["with an empty error", createUsualRun({ error: "" })],
    ["with an error that is null", createUsualRun({ error: null })],
    ["with tags and events", createUsualRun({ tags: ["a", "b"], events: [{ name: "new_token" }] })],
    ["with unknown members", createUsualRun({ one: 1, two: 2 })],
    ["with a name that is not ASCII", createUsualRun({ name: "grüße 日本語", session_name: "ä" })],
    ["that is not ended", createUsualRun({ end_time: null })],
    ["of a leap day", createUsualRun({ start_time: "2028-02-29T23:59:59.999999Z" })],
    ["with an end far in the future", createUsualRun({ end_time: "2254-12-31T23:59:59.999999Z" })],
    [
      "with nulls in place of ids",
      createUsualRun({ session_id: null, reference_example_id: null }),
    ],
  ])("%s is accepted", (_title, run) => {
    const body = createBody([run, run]);
    expectAsParsed(body);
    expect(parseBatch(Buffer.from(body)).batch.records).toHaveLength(2);
  });

  test.each(usageSources)(
    "that reports usage in $root at $steps is counted",
    ({ root: at, steps, names }) => {
      const numbers = Object.fromEntries(
        Object.values(names).map((name, index) => [name, index + 1]),
      );
      const value = steps
        .toReversed()
        .reduce<unknown>(
          (inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }),
          numbers,
        );
      const run = at === "outputs" ? { outputs: value } : { extra: { metadata: value } };
      const body = createBody([createUsualRun(run)]);
      expectAsParsed(body);
      expect(parseMeasures(body)).toMatchObject(
        Object.fromEntries(Object.keys(names).map((name, index) => [name, index + 1])),
      );
    },
  );

  test("that reports usage in an escaped member is counted if the payload contains the marker somewhere", () => {
    const members = `"a":"_metadata","usage\\u005fmetadata":{"input_tokens":3}`;
    const body = createBody([createUsualRun({ outputs: 1 })]).replace(
      '"outputs":1',
      `"outputs":{${members}}`,
    );
    expectAsParsed(body);
    expect(parseMeasures(body)).toMatchObject({ prompt_tokens: 3 });
  });

  test("that reports usage among more members than the module can handle is counted", () => {
    const wide = Object.fromEntries(
      Array.from({ length: rowLimits.members }, (_, at) => [`m${at}`, 1]),
    );
    const body = createBody([
      createUsualRun({ outputs: { ...wide, usage_metadata: { input_tokens: 3 } } }),
    ]);
    expectAsParsed(body);
    expect(parseMeasures(body)).toMatchObject({ prompt_tokens: 3 });
  });

  test("has its own tags, even if another run has the same metadata", () => {
    const lists = [undefined, ["a"], ["b"], ["a"], [], undefined];
    const body = createBody(lists.map((tags) => createUsualRun({ tags })));
    expectAsParsed(body);
    const { records } = decodeBatch([Buffer.from(body)]).batch;
    expect(records.map(({ facets }) => facets.includes("ta"))).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  test("that streams has the time of its first token", () => {
    const events = [{ name: "start" }, { name: "new_token", time: "2026-11-21T10:11:12.5Z" }];
    expectAsParsed(
      createBody([
        createUsualRun({ events }),
        createUsualRun({ events: [] }),
        createUsualRun({ events: null }),
      ]),
    );
  });
});

const upperCaseId = "01A20177-2565-737a-8327-bc822f53273d";

describe("a run of a rare form is parsed in its position", () => {
  test.each<[string, unknown]>([
    ["an escaped name", `"name":"\\u0061"`],
    ["an escaped type", `"run_type":"l\\u006cm"`],
    ["an escaped member", `"in\\u0070uts":1`],
    ["a member twice", `"inputs":1,"inputs":2`],
    ["an unforeseen member twice", `"one":1,"one":2`],
    ["many unforeseen members", Array.from({ length: 9 }, (_, at) => `"m${at}":1`).join(",")],
    ["a name twice", `"name":"a","name":"b"`],
    ["a name that is a number", `"name":5`],
    ["a type that is a list", `"run_type":["llm"]`],
    ["a project's id", `"session_id":"${randomUUID()}"`],
    ["a reference", `"reference_example_id":"${randomUUID()}"`],
    ["a start in milliseconds", `"start_time":1763719872345`],
    ["a start without a zone", `"start_time":"2026-11-21T10:11:12"`],
    ["a day that does not exist", `"end_time":"2026-02-30T10:11:12.345678Z"`],
    ["an end long ahead", `"end_time":"9999-12-31T23:59:59.999999Z"`],
    ["an end before 1970", `"end_time":"1969-12-31T23:59:59.999999Z"`],
    ["members that are not side by side", `"inputs":1,"run_type":"llm","outputs":2`],
  ])("with %s", (_title, members) => {
    const text = JSON.stringify({ ...root, name: undefined, run_type: undefined, ids: 1 }).replace(
      `"ids":1`,
      String(members),
    );
    const body = `{"post":[${JSON.stringify(createUsualRun())},${text},${JSON.stringify(createUsualRun())}]}`;
    expectAsParsed(body);
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ["id", { id: upperCaseId }],
    ["trace_id", { trace_id: upperCaseId }],
    ["parent_run_id", { parent_run_id: upperCaseId }],
    ["a parent that is no other's", { parent_run_id: randomUUID() }],
    ["no parent", { parent_run_id: null }],
    ["no trace", { trace_id: undefined }],
    ["no dotted order", { dotted_order: undefined }],
    ["another trace", { trace_id: randomUUID() }],
    ["a dotted order that is cut", { dotted_order: root.dotted_order.slice(1) }],
    ["a dotted order that is another's", { dotted_order: root.dotted_order }],
    ["a parent above a root", { ...root, parent_run_id: randomUUID() }],
    [
      "a dotted order without dots",
      { dotted_order: createUsualRun().dotted_order.replace(".", "_") },
    ],
    ["ids that are numbers", { id: 5, trace_id: 6 }],
  ])("with %s", (_title, over) => {
    const body = createBody(
      [createUsualRun(), createUsualRun(over), createUsualRun()],
      [createUsualRun(over)],
    );
    expectAsParsed(body);
  });

  test("and so is each later post of the same run", () => {
    const [first, second] = [createUsualRun(), createUsualRun()];
    const unplaced = { ...first, session_id: randomUUID() };
    expectAsParsed(createBody([first, unplaced, first, second, first], [first, second]));
  });
});

test("bytes that are not UTF-8 are rejected", () => {
  const body = Buffer.from(createBody([createUsualRun({ name: "é" })]));
  body[body.indexOf("é") + 1] = 0x28;
  expectAsParsed(body);
});

test("a body with more runs, members or bytes than the module can handle is still accepted", () => {
  const many = Array.from({ length: rowLimits.runs + 1 }, () =>
    createUsualRun({ inputs: {}, outputs: {} }),
  );
  expect(isIndexedByModule(createBody(many))).toBe(false);
  expectAsParsed(createBody(many));
  const wide = Object.fromEntries(
    Array.from({ length: rowLimits.members }, (_, at) => [`m${at}`, 1]),
  );
  expect(isIndexedByModule(createBody([createUsualRun(wide)]))).toBe(false);
  expectAsParsed(createBody([createUsualRun(wide)]));
  const large = createBody([createUsualRun({ inputs: { text: "a".repeat(5_000_000) } })]);
  expect(isIndexedByModule(large)).toBe(false);
  expectAsParsed(large);
});

test("a short body after a long one is not read beyond its end", () => {
  decodeBatch([Buffer.from(createBody([createUsualRun({ inputs: "1".repeat(4_000) })]))]);
  expectAsParsed('{"post":[{"a":1');
  expectAsParsed("{");
});
