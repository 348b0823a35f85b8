import type { WireRun } from "millrace/model";
import { expect, test } from "vitest";
import { canonicalJson, digest } from "../../examples/ask-the-docs/canonical.ts";
import { Comparison, isComplete } from "../../examples/ask-the-docs/compare.ts";
import { Ledger } from "../../examples/ask-the-docs/ledger.ts";

const ledgerOfThree = (): Ledger => {
  const ledger = new Ledger();
  const inputs = { question: "Why?" };
  ledger.note(
    { id: "root", parentRunId: undefined },
    { name: "ask", runType: "chain", inputs, outputs: { answer: "So.", words: 1 } },
  );
  ledger.note(
    { id: "model", parentRunId: "root" },
    { name: "answer", runType: "llm", inputs, outputs: { text: "So." }, tokens: ["So", "."] },
  );
  ledger.note(
    { id: "tool", parentRunId: "root" },
    { name: "count", runType: "tool", inputs, error: new RangeError("no such language") },
  );
  return ledger;
};

const end_time = "2026-01-01T00:00:00Z";
const root: WireRun = {
  id: "root",
  name: "ask",
  run_type: "chain",
  parent_run_id: null,
  inputs: { question: "Why?" },
  outputs: { words: 1, answer: "So." },
  error: null,
  end_time,
};
const model: WireRun = {
  ...root,
  id: "model",
  name: "answer",
  run_type: "llm",
  parent_run_id: "root",
  outputs: { text: "So." },
  events: [
    { name: "new_token", time: end_time, token: "So" },
    { name: "new_token", time: end_time, token: "." },
  ],
};
const tool: WireRun = {
  ...root,
  id: "tool",
  name: "count",
  run_type: "tool",
  parent_run_id: "root",
  outputs: null,
  error: "RangeError: no such language\n    at somewhere",
};

const compare = (...runs: WireRun[]) => {
  const comparison = new Comparison(ledgerOfThree());
  for (const run of runs) {
    comparison.add(run);
  }
  return comparison.result();
};

test("runs that are read back as recorded are complete, whatever the order of runs and keys", () => {
  const result = compare(tool, model, root);
  expect(result).toEqual({ equal: 3, different: [], missing: [], unknown: 0 });
  expect(isComplete(result)).toBe(true);
});

test("a run that does not come back is missing", () => {
  const result = compare(root, tool);
  expect(result.missing).toEqual(["model"]);
  expect(isComplete(result)).toBe(false);
});

test.each<[string, WireRun, Partial<WireRun>]>([
  ["name", root, { name: "asks" }],
  ["run type", root, { run_type: "llm" }],
  ["parent", model, { parent_run_id: null }],
  ["inputs", root, { inputs: { question: "Why not?" } }],
  ["outputs", root, { outputs: { answer: "So.", words: 2 } }],
  ["outputs", root, { outputs: null }],
  ["error", tool, { error: null }],
  ["error", root, { error: "RangeError: no such language" }],
  ["error", tool, { error: "another" }],
  ["tokens", model, { events: [] }],
  ["tokens", model, { events: (model.events ?? []).toReversed() }],
  ["end time", root, { end_time: null }],
])("a run with another %s is different", (field, run, change) => {
  const others = [root, model, tool].filter((other) => other !== run);
  const result = compare(...others, { ...run, ...change });
  expect(result.different).toEqual([`${run.name} ${run.id}: ${field}`]);
  expect(isComplete(result)).toBe(false);
});

test("a run that arrives twice, or was never recorded, is unknown", () => {
  expect(compare(root, model, tool, root).unknown).toBe(1);
  const result = compare(root, model, tool, { ...root, id: "stranger" });
  expect(result.unknown).toBe(1);
  expect(isComplete(result)).toBe(false);
});

test("the canonical text sorts keys at every depth and leaves out what is undefined", () => {
  const text = canonicalJson({ b: [{ d: null, c: 1 }], a: 'x"', e: undefined });
  expect(text).toBe(String.raw`{"a":"x\"","b":[{"c":1,"d":null}]}`);
  expect(JSON.parse(text)).toEqual({ b: [{ d: null, c: 1 }], a: 'x"' });
});

test("the digest counts bytes, not characters, and changes with every character", () => {
  expect(digest("né").sizeBytes).toBe(5);
  expect(digest({ a: "one" }).hash).not.toBe(digest({ a: "two" }).hash);
});

test("the ledger records the smallest and the largest payload, and a successful trace", () => {
  const { size, payloadBytes, sample } = ledgerOfThree();
  expect(size).toBe(3);
  expect(payloadBytes.min).toBe('{"question":"Why?"}'.length);
  expect(payloadBytes.max).toBe('{"question":"Why?"}{"answer":"So.","words":1}'.length);
  expect(sample).toBe("root");
});
