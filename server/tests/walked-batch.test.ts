import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { BatchWalk } from "../src/runs/ingest/batch-walk.ts";
import { takeBatch } from "../src/runs/ingest/parse-batch.ts";
import * as layout from "../src/runs/ingest/walk-layout.ts";
import { usageSources } from "../src/runs/usage-sources.ts";
import { postColumns } from "../src/runs/sqlite/post-rows.ts";
import { expectSame } from "./support/seen-batch.ts";
import { someMicros, wireRun } from "./support/wire-runs.ts";

const walk = createWalk();

function createWalk(): BatchWalk {
  const created = BatchWalk.create();
  if (created === undefined) {
    throw new Error("There is no WebAssembly here");
  }
  return created;
}

/**
 * The kind of each run in a body, as the module classifies it; `undefined` if the module does not handle the body.
 */
function kindsOf(body: string): readonly number[] | undefined {
  if (!walk.walk([Buffer.from(body)])) {
    return undefined;
  }
  const { posts, patches } = walk;
  return Array.from({ length: posts.count + patches.count }, (_, entry) =>
    walk.word(entry, layout.field.kind),
  );
}

const root = wireRun({ id: "01a20177-2565-737a-8327-bc822f53273d" });

/** The members of a run that the SDK sends. */
const usual = (over: Readonly<Record<string, unknown>> = {}) => ({
  ...wireRun({ parent: root, micros: someMicros + 1_000 }),
  start_time: "2026-11-21T10:11:12.346678Z",
  end_time: "2026-11-21T10:11:13.000001Z",
  session_name: "a project",
  inputs: { messages: [{ role: "user", content: 'say "hi"\n\\ 日本語 😀' }], none: null },
  outputs: { text: "grüße", list: [1, -0.5e3, true, false, [], {}] },
  extra: { metadata: { release: "1", list: ["a", ["b"]] }, runtime: { sdk: "test" } },
  ...over,
});

const bodyOf = (post: readonly unknown[], patch?: readonly unknown[]): string =>
  JSON.stringify({ post, patch });

describe("an ordinary post", () => {
  test.each<[string, unknown]>([
    ["of a child", usual()],
    ["of a root", { ...root, inputs: {} }],
    ["without anything to keep", root],
    ["without name, type, project and times", { ...root, name: null, run_type: undefined }],
    ["with an error", usual({ error: "it broke" })],
    ["with an error that says nothing", usual({ error: "" })],
    ["with an error that is null", usual({ error: null })],
    ["with tags and events", usual({ tags: ["a", "b"], events: [{ name: "new_token" }] })],
    ["with members that nobody foresaw", usual({ one: 1, two: 2 })],
    ["with a name that is no ASCII", usual({ name: "grüße 日本語", session_name: "ä" })],
    ["that is not ended", usual({ end_time: null })],
    ["of a leap day", usual({ start_time: "2028-02-29T23:59:59.999999Z" })],
    ["of a time long ahead", usual({ end_time: "2254-12-31T23:59:59.999999Z" })],
    ["with nulls in place of ids", usual({ session_id: null, reference_example_id: null })],
  ])("%s becomes a row at once", (_title, run) => {
    const body = bodyOf([run, run]);
    expect(kindsOf(body)).toEqual([0, 0]);
    expectSame(body);
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
      const body = bodyOf([usual(run)]);
      expect(kindsOf(body)).toEqual([0]);
      expectSame(body);
      const { batch } = takeBatch([Buffer.from(body)]);
      expect(batch.posts?.values.at(postColumns.indexOf("measured"))).toBe(2);
    },
  );

  test("that reports usage in an escaped member is counted if the payload contains the marker somewhere", () => {
    const members = `"a":"_metadata","usage\\u005fmetadata":{"input_tokens":3}`;
    const body = bodyOf([usual({ outputs: 1 })]).replace('"outputs":1', `"outputs":{${members}}`);
    expect(kindsOf(body)).toEqual([0]);
    expectSame(body);
    const { batch } = takeBatch([Buffer.from(body)]);
    expect(batch.posts?.values).toContain(3);
  });

  test("that reports usage among more members than the module can handle is counted", () => {
    const wide = Object.fromEntries(
      Array.from({ length: layout.limit.members }, (_, at) => [`m${at}`, 1]),
    );
    const body = bodyOf([usual({ outputs: { ...wide, usage_metadata: { input_tokens: 3 } } })]);
    expect(kindsOf(body)).toEqual([0]);
    expectSame(body);
    expect(takeBatch([Buffer.from(body)]).batch.posts?.values).toContain(3);
  });

  test("has its own tags, even if another run has the same metadata", () => {
    const lists = [undefined, ["a"], ["b"], ["a"], [], undefined];
    const body = bodyOf(lists.map((tags) => usual({ tags })));
    expectSame(body);
    const { batch } = takeBatch([Buffer.from(body)]);
    expect(batch.posts?.facetLists).toHaveLength(4);
  });

  test("that streams has the time of its first token", () => {
    const events = [{ name: "start" }, { name: "new_token", time: "2026-11-21T10:11:12.5Z" }];
    expectSame(bodyOf([usual({ events }), usual({ events: [] }), usual({ events: null })]));
  });
});

const bad = "01A20177-2565-737a-8327-bc822f53273d";

describe("an unusual run falls back to the TypeScript parser, in its position", () => {
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
    const body = `{"post":[${JSON.stringify(usual())},${text},${JSON.stringify(usual())}]}`;
    expect(kindsOf(body)).toEqual([0, 1, 0]);
    expectSame(body);
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ["id", { id: bad }],
    ["trace_id", { trace_id: bad }],
    ["parent_run_id", { parent_run_id: bad }],
    ["a parent that is no other's", { parent_run_id: randomUUID() }],
    ["no parent", { parent_run_id: null }],
    ["no trace", { trace_id: undefined }],
    ["no dotted order", { dotted_order: undefined }],
    ["another trace", { trace_id: randomUUID() }],
    ["a dotted order that is cut", { dotted_order: root.dotted_order.slice(1) }],
    ["a dotted order that is another's", { dotted_order: root.dotted_order }],
    ["a parent above a root", { ...root, parent_run_id: randomUUID() }],
    ["a dotted order without dots", { dotted_order: usual().dotted_order.replace(".", "_") }],
    ["ids that are numbers", { id: 5, trace_id: 6 }],
  ])("with %s", (_title, over) => {
    const body = bodyOf([usual(), usual(over), usual()], [usual(over)]);
    expect(kindsOf(body)).toEqual([0, 1, 0, 1]);
    expectSame(body);
  });

  test("and so does each later post of the same run", () => {
    const [first, second] = [usual(), usual()];
    const unplaced = { ...first, session_id: randomUUID() };
    expectSame(bodyOf([first, unplaced, first, second, first], [first, second]));
    const { batch } = takeBatch([Buffer.from(bodyOf([first, unplaced, first, second]))]);
    expect(batch.posts?.facetsAt).toHaveLength(2);
    expect(batch.records.map(({ id }) => id)).toEqual([first.id, first.id]);
  });
});

test("bytes that are not UTF-8 are rejected with the same message", () => {
  const body = Buffer.from(bodyOf([usual({ name: "é" })]));
  body[body.indexOf("é") + 1] = 0x28;
  expectSame(body);
});

test("a body with more runs, members or bytes than the module can handle is still accepted", () => {
  const many = Array.from({ length: layout.limit.entries + 1 }, () =>
    usual({ inputs: {}, outputs: {} }),
  );
  expect(kindsOf(bodyOf(many))).toBeUndefined();
  expectSame(bodyOf(many));
  const wide = Object.fromEntries(
    Array.from({ length: layout.limit.members }, (_, at) => [`m${at}`, 1]),
  );
  expect(kindsOf(bodyOf([usual(wide)]))).toBeUndefined();
  expectSame(bodyOf([usual(wide)]));
  const large = bodyOf([usual({ inputs: { text: "a".repeat(5_000_000) } })]);
  expect(kindsOf(large)).toBeUndefined();
  expectSame(large);
});

test("a short body after a long one is not read beyond its end", () => {
  takeBatch([Buffer.from(bodyOf([usual({ inputs: "1".repeat(4_000) })]))]);
  expectSame('{"post":[{"a":1');
  expectSame("{");
});

test("texts that collide in the hash table are told apart", () => {
  const post = Array.from({ length: 2_000 }, (_, at) =>
    usual({ name: `${1_000 + at} 0123456789abcdef`, run_type: `${1_000 + at}-0123456789abcdef` }),
  );
  const body = bodyOf(post);
  expect(new Set(kindsOf(body))).toEqual(new Set([0]));
  expectSame(body);
});

test("runs whose texts exceed the module's capacity fall back to the TypeScript parser, among the others", () => {
  const trees = Array.from({ length: 2_000 }, (_, at) =>
    usual({
      ...wireRun({ parent: wireRun() }),
      name: `n${at}`,
      run_type: `t${at}`,
      session_name: `s${at}`,
    }),
  );
  const deep = Array.from({ length: 60 }, () => 0).reduce<typeof root>(
    (parent) => wireRun({ parent }),
    root,
  );
  const siblings = Array.from({ length: 400 }, () => usual(wireRun({ parent: deep })));
  for (const body of [bodyOf(trees), bodyOf(siblings)]) {
    expect(new Set(kindsOf(body))).toEqual(new Set([0, 1]));
    expectSame(body);
  }
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
