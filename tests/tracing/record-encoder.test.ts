import { describe, expect, test } from "vitest";
import type { Operation, WirePatch } from "../../src/model/run.ts";
import { createTestBatcher, runsOf } from "../support/batching.ts";
import { encodeWire } from "../../src/tracing/tape/record-encoder.ts";

const traceId = "00000000-0000-4000-8000-000000000001";
const id = "00000000-0000-4000-8000-000000000002";
const root = `20260102T030405000006Z${traceId}`;
const dotted = `${root}.20260102T030405678901Z${id}`;

type Step = readonly [Operation, WirePatch];

/** The request content for these records of one run, when all of them are waiting. */
function sent(...steps: readonly Step[]): Record<string, unknown> | undefined {
  const { batcher } = createTestBatcher();
  for (const [operation, run] of steps) {
    batcher.record(encodeWire, { operation, id, run, projectName: "default" });
  }
  return batcher.takeAll().waiting.flatMap(({ tape }) => runsOf(tape))[0];
}

const start: WirePatch = {
  id,
  trace_id: traceId,
  dotted_order: dotted,
  name: "model",
  run_type: "llm",
  inputs: { q: 1 },
};

describe("a run in the wire format", () => {
  test("has its ids, its parent and its start from the dotted order", () => {
    expect(sent(["post", start])).toMatchObject({
      operation: "post",
      id,
      trace_id: traceId,
      parent_run_id: traceId,
      dotted_order: dotted,
      start_time: "2026-01-02T03:04:05.678901Z",
      name: "model",
      run_type: "llm",
      session_name: "default",
      inputs: { q: 1 },
    });
  });

  test("as LangChain passes it: both kinds of times, and undefined, function and symbol values", () => {
    const langchain = {
      ...start,
      start_time: "2026-01-02T03:04:05.678901Z",
      end_time: 1_767_323_046_000,
      session_name: undefined,
      project_name: "chains",
      child_runs: [],
      execution_order: 3,
      client: () => undefined,
      [Symbol("lc")]: 1,
      serialized: { toJSON: () => ({ lc: 1, type: "constructor" }) },
    };
    const run = sent(["post", langchain]);
    expect(run).toMatchObject({
      session_name: "chains",
      start_time: "2026-01-02T03:04:05.678901Z",
      end_time: 1_767_323_046_000,
      execution_order: 3,
      serialized: { lc: 1, type: "constructor" },
    });
    expect(run).not.toHaveProperty("child_runs");
    expect(run).not.toHaveProperty("client");
  });

  test("a patch without a project does not move the run", () => {
    expect(sent(["patch", start])).not.toHaveProperty("session_name");
    expect(sent(["patch", { ...start, session_name: "p" }])).toHaveProperty("session_name", "p");
  });

  test("null in a patch is sent, undefined is not", () => {
    const patch = { ...start, error: null, outputs: undefined };
    const run = sent(["patch", patch]);
    expect(run).toHaveProperty("error", null);
    expect(run).not.toHaveProperty("outputs");
  });

  test("keeps its own runtime information, or gets ours if it has none", () => {
    expect(sent(["post", { ...start, extra: { a: 1 } }])?.["extra"]).toEqual({
      a: 1,
      runtime: { sdk: "test" },
    });
    expect(sent(["post", { ...start, extra: { runtime: { sdk: "theirs" } } }])?.["extra"]).toEqual({
      runtime: { sdk: "theirs" },
    });
    expect(sent(["post", { ...start, extra: {} }])?.["extra"]).toEqual({
      runtime: { sdk: "test" },
    });
  });
});

describe("waiting records of one run", () => {
  test("a start and an end become one post; the end's fields override", () => {
    const run = sent(
      ["post", { ...start, error: "from the start" }],
      ["patch", { ...start, inputs: undefined, error: "from the end", outputs: { a: 1 } }],
    );
    expect(run).toMatchObject({
      operation: "post",
      inputs: { q: 1 },
      outputs: { a: 1 },
      error: "from the end",
    });
  });

  test("two ends become one patch; the later one overrides, also keys that the wire format does not define", () => {
    const run = sent(
      ["patch", { ...start, outputs: { n: 1 }, custom: "a", first: 1 }],
      ["patch", { ...start, outputs: { n: 2 }, custom: "b" }],
    );
    expect(run).toMatchObject({ operation: "patch", outputs: { n: 2 }, custom: "b", first: 1 });
  });
});

describe("a malformed run is counted as invalid and does not affect others", () => {
  const bad: readonly (readonly [string, string, WirePatch])[] = [
    ["an id that is no UUID", "42", start],
    ["a dotted order of another run", traceId, start],
    ["a dotted order of another trace", id, { ...start, trace_id: id }],
    ["a malformed dotted order", id, { ...start, dotted_order: "now" }],
    [
      "a dotted order with an invalid day",
      id,
      { ...start, dotted_order: `20261399T000000000000Z${id}` },
    ],
  ];

  test.each(bad)("%s", (_, badId, run) => {
    const { batcher, ledger, record } = createTestBatcher();
    const good = record();
    batcher.record(encodeWire, { operation: "post", id: badId, run, projectName: "default" });
    expect(ledger.lost.invalid).toBe(1);
    const runs = batcher.takeAll().waiting.flatMap(({ tape }) => runsOf(tape));
    expect(runs.map((waiting) => waiting["id"])).toEqual([good]);
  });
});
