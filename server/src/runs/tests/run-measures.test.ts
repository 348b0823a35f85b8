import { describe, expect, test } from "vitest";
import { readMeasures } from "../usage/run-measures.ts";
import { toProjectStatsJson, toStatsJson } from "../serializers/stats-json.ts";
import { FilterFixture } from "../../../tests/support/filter-fixture.ts";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import type { WireObject } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

const measuresOf = (members: WireObject): unknown =>
  readMeasures(
    new Map(
      Object.entries(members).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]),
    ),
  );

const counted = { total_tokens: 7, prompt_tokens: 3, completion_tokens: 4 };
const none = {
  total_tokens: null,
  prompt_tokens: null,
  completion_tokens: null,
  total_cost: null,
  prompt_cost: null,
  completion_cost: null,
  first_token_us: null,
};
const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const camel = { promptTokens: 3, completionTokens: 4, totalTokens: 7 };

/** The outputs of a chat model in LangChain. */
const chatOutputs = (of: unknown): WireObject => ({
  generations: [[{ text: "hi", message: { lc: 1, kwargs: { usage_metadata: of } } }]],
});

describe("usage of one run", () => {
  test.each([
    ["the outputs", { outputs: { usage_metadata: usage } }],
    ["the metadata", { extra: { metadata: { usage_metadata: usage } } }],
    ["the message of a chat model", { outputs: chatOutputs(usage) }],
    ["the outputs of older models", { outputs: { llmOutput: { tokenUsage: camel } } }],
    [
      "the outputs of older models in Python",
      { outputs: { llm_output: { token_usage: counted } } },
    ],
    ["a mixture of the two", { outputs: { llm_output: { tokenUsage: camel } } }],
  ])("tokens are read from %s", (_, members) => {
    expect(measuresOf(members)).toEqual({ ...none, ...counted });
  });

  test("the outputs take precedence over the metadata, number by number", () => {
    const members = {
      outputs: { usage_metadata: { input_tokens: 1, output_tokens: "many" } },
      extra: { metadata: { usage_metadata: usage } },
    };
    expect(measuresOf(members)).toEqual({ ...none, ...counted, prompt_tokens: 1 });
  });

  test("a missing total is the sum of both parts, and is unknown if one is missing", () => {
    const totalOf = (of: WireObject): unknown => measuresOf({ outputs: { usage_metadata: of } });
    expect(totalOf({ input_tokens: 3, output_tokens: 4 })).toEqual({ ...none, ...counted });
    expect(totalOf({ total_tokens: 7 })).toEqual({ ...none, total_tokens: 7 });
    expect(totalOf({ input_tokens: 3 })).toEqual({ ...none, prompt_tokens: 3 });
  });

  test("costs are read next to the tokens", () => {
    const costs = { total_cost: 0.75, input_cost: 0.25, output_cost: 0.5 };
    expect(measuresOf({ outputs: { usage_metadata: costs } })).toEqual({
      ...none,
      total_cost: 0.75,
      prompt_cost: 0.25,
      completion_cost: 0.5,
    });
  });

  test("the first token arrived at the time of the first event with that name", () => {
    const events = [
      { name: "start", time: "2026-11-21T10:11:12.4Z" },
      { name: "new_token", time: "2026-11-21T10:11:12.345678Z" },
      { name: "new_token", time: "2026-11-21T10:11:13Z" },
    ];
    expect(measuresOf({ events })).toEqual({ ...none, first_token_us: someMicros });
    expect(measuresOf({ events: [{ name: "new_token", time: someMicros / 1_000 }] })).toEqual({
      ...none,
      first_token_us: someMicros,
    });
  });

  test.each([
    [{}],
    [{ outputs: null }],
    [{ outputs: "usage_metadata" }],
    [{ outputs: { usage_metadata: [3] } }],
    [{ outputs: { usage_metadata: { total_tokens: [3] } } }],
    [{ outputs: { generations: [{ usage_metadata: usage }] } }],
    [{ outputs: { tokenUsage: camel } }],
    [{ inputs: { usage_metadata: usage } }],
    [{ events: [{ name: "new_token" }, "new_token"] }],
    [{ events: { name: "new_token", time: 1 } }],
  ])("%j reports none", (members) => {
    expect(measuresOf(members)).toBeUndefined();
  });

  test("a number beyond the range of JavaScript counts as none", () => {
    const outputs = Buffer.from('{"usage_metadata":{"total_tokens":1e999,"input_tokens":1}}');
    expect(readMeasures(new Map([["outputs", outputs]]))).toEqual({ ...none, prompt_tokens: 1 });
  });

  test.each([
    ["negative", -5],
    ["a fraction", 1.5],
    ["beyond 2^53", 2 ** 53],
  ])("a number of tokens that is %s counts as none", (_, count) => {
    const measure = (members: WireObject): unknown =>
      measuresOf({ outputs: { usage_metadata: members } });
    expect(measure({ input_tokens: count, output_tokens: 2, total_tokens: count })).toEqual({
      ...none,
      completion_tokens: 2,
    });
    expect(measure({ input_tokens: 3, output_tokens: 4, total_tokens: count })).toEqual({
      ...none,
      ...counted,
    });
    expect(measure({ total_tokens: count })).toBeUndefined();
  });

  test("a total that contradicts its parts is kept, as it may count other tokens", () => {
    const members = { input_tokens: 3, output_tokens: 4, total_tokens: 5 };
    expect(measuresOf({ outputs: { usage_metadata: members } })).toEqual({
      ...none,
      ...counted,
      total_tokens: 5,
    });
  });

  test("10,000 levels next to the usage cause no harm", () => {
    const deep = `${"[".repeat(9_000)}${"]".repeat(9_000)}`;
    const outputs = Buffer.from(`{"deep":${deep},"usage_metadata":{"total_tokens":7}}`);
    expect(readMeasures(new Map([["outputs", outputs]]))).toEqual({ ...none, total_tokens: 7 });
  });
});

const llm = (fields: WireObject = {}) => wireRun({ run_type: "llm", ...fields });
const using = (total: number): WireObject => ({
  outputs: { usage_metadata: { total_tokens: total } },
});

describe("usage of many runs", () => {
  const totalIn = (fixture: FilterFixture): number =>
    fixture.readers.runs.readStatistics(fixture.tenantId, {}).total_tokens.sum;

  /** Checks the columns and the payloads, which must agree. */
  const expectTotal = (fixture: FilterFixture, total: number): void => {
    expect(totalIn(fixture)).toBe(total);
    expect(fixture.runs().reduce((sum, run) => sum + Number(run["total_tokens"]), 0)).toBe(total);
    fixture.db.exec("UPDATE runs SET measured = 0");
    expect(totalIn(fixture)).toBe(total);
  };

  test("only runs of language models are summed", () => {
    const fixture = new FilterFixture();
    const chain = wireRun({ ...using(7), run_type: "chain" });
    const child = llm({
      parent: chain,
      outputs: { usage_metadata: { ...usage, total_cost: 0.5 } },
    });
    const other = llm({ outputs: chatOutputs({ input_tokens: 10, output_tokens: 20 }) });
    fixture.send({ post: [chain, child, other, llm(), llm(using(100))] });
    const statistics = fixture.readers.runs.readStatistics(fixture.tenantId, {});
    const stats = toStatsJson(statistics);
    expect(stats).toMatchObject({
      run_count: 5,
      total_tokens: 137,
      prompt_tokens: 13,
      completion_tokens: 24,
      median_tokens: 30,
      tokens_p99: 100,
      prompt_tokens_p50: 3,
      completion_tokens_p99: 20,
      total_cost: 0.5,
      prompt_cost: null,
      cost_p50: 0.5,
      streaming_rate: 0,
      first_token_p50: null,
    });
    expect(toProjectStatsJson(statistics)).toMatchObject({ total_cost: "0.5", prompt_cost: null });
    fixture.db.exec("UPDATE runs SET measured = 0");
    expect(toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}))).toEqual(stats);
  });

  test("the filter selects which runs are summed", () => {
    const fixture = new FilterFixture();
    fixture.send({ post: [llm({ name: "a", ...using(7) }), llm({ name: "b", ...using(100) })] });
    const filter = { runFilters: [fixture.check('eq(name, "a")')] };
    expect(fixture.readers.runs.readStatistics(fixture.tenantId, filter).total_tokens.sum).toBe(7);
  });

  test("without any usage tokens are zero, and costs and quantiles unknown", () => {
    const fixture = new FilterFixture();
    expect(toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}))).toMatchObject({
      run_count: 0,
      total_tokens: 0,
      prompt_tokens: 0,
      completion_tokens: 0,
      median_tokens: null,
      total_cost: null,
      streaming_rate: null,
    });
  });

  test("times to the first token are counted from the start, in seconds", () => {
    const fixture = new FilterFixture();
    const events = (seconds: number) => [
      { name: "new_token", time: someMicros / 1_000 + seconds * 1_000 },
    ];
    fixture.send({
      post: [llm({ events: events(0.5) }), llm({ events: events(2) }), llm(), llm()],
    });
    expect(toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}))).toMatchObject({
      first_token_p50: 0.5,
      first_token_p99: 2,
      streaming_rate: 0.5,
    });
    expect(fixture.runs().map((run) => run["first_token_time"])).toContain(
      "2026-11-21T10:11:12.845678Z",
    );
  });

  test("the patch's outputs win, whichever arrives first", () => {
    const post = llm(using(7));
    const patch = patchOf(post, using(9));
    const inOrder = new FilterFixture();
    inOrder.send({ post: [post] });
    inOrder.send({ patch: [patch] });
    expectTotal(inOrder, 9);
    const reversed = new FilterFixture();
    reversed.send({ patch: [patch] });
    reversed.send({ post: [post] });
    expectTotal(reversed, 9);
  });

  test("outputs without usage remove the usage of earlier outputs", () => {
    const post = llm(using(7));
    const fixture = new FilterFixture();
    fixture.send({ post: [post], patch: [patchOf(post, { outputs: { text: "hi" } })] });
    expectTotal(fixture, 0);
    fixture.send({ patch: [patchOf(post, using(3))] });
    expectTotal(fixture, 3);
  });

  test("a post that arrives after its patch does not change the usage in the patch's outputs", () => {
    const post = llm(using(7));
    const fixture = new FilterFixture();
    fixture.send({ patch: [patchOf(post, { outputs: { text: "hi" } })] });
    fixture.send({ post: [post] });
    expectTotal(fixture, 0);
  });

  test("a patch without usage keeps it", () => {
    const post = llm(using(7));
    const fixture = new FilterFixture();
    fixture.send({ post: [post], patch: [patchOf(post, { tags: ["x"] })] });
    expectTotal(fixture, 7);
  });

  test("outputs of the patch and metadata of the post are combined", () => {
    const post = llm({ extra: { metadata: { usage_metadata: { input_tokens: 3 } } } });
    const fixture = new FilterFixture();
    fixture.send({ post: [post] });
    fixture.send({ patch: [patchOf(post, { outputs: { usage_metadata: { output_tokens: 4 } } })] });
    expectTotal(fixture, 7);
  });

  test("a duplicate is counted once", () => {
    const fixture = new FilterFixture();
    const post = llm(using(7));
    fixture.send({ post: [post] });
    fixture.send({ post: [post] });
    expectTotal(fixture, 7);
  });

  test("usage of a run older than the columns is read from its payload, until a patch arrives", () => {
    const fixture = new FilterFixture();
    const post = llm(using(7));
    fixture.send({ post: [post] });
    fixture.db.exec("UPDATE runs SET measured = 0, total_tokens = NULL");
    expect(totalIn(fixture)).toBe(7);
    expect(fixture.find("eq(total_tokens, 7)")).toHaveLength(1);
    fixture.send({ patch: [patchOf(post, { tags: ["x"] })] });
    const columns = fixture.db.prepare("SELECT measured, total_tokens FROM runs").raw();
    expect(columns.all([])).toEqual([[2, 7]]);
  });

  test("negative numbers of tokens reduce no total, also in runs older than the columns", () => {
    const fixture = new FilterFixture();
    const usages = [
      { input_tokens: -5, output_tokens: 2, total_tokens: -3 },
      { input_tokens: 3, output_tokens: 4, total_tokens: -1 },
      { input_tokens: 1.5, total_tokens: 1e300 },
    ];
    fixture.send({ post: usages.map((of) => llm({ outputs: { usage_metadata: of } })) });
    const sums = (): unknown =>
      toStatsJson(fixture.readers.runs.readStatistics(fixture.tenantId, {}));
    const expected = { total_tokens: 7, prompt_tokens: 3, completion_tokens: 6 };
    expect(sums()).toMatchObject(expected);
    expect(fixture.find("lt(total_tokens, 0)")).toEqual([]);
    fixture.db.exec("UPDATE runs SET measured = 0");
    expect(sums()).toMatchObject(expected);
    expect(fixture.find("lt(total_tokens, 0)")).toEqual([]);
  });

  test("a filter by tokens reads no payloads", () => {
    const fixture = new FilterFixture();
    fixture.send({ post: [llm(using(7))] });
    fixture.db.exec("DELETE FROM payloads");
    expect(fixture.find("gt(total_tokens, 5)")).toHaveLength(1);
  });
});
