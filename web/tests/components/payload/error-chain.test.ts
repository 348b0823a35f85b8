import { expect, test } from "vitest";
import { toErrorChain } from "../../../src/components/payload/error-chain.tsx";
import { toReplayCode } from "../../../src/features/trace/run-panel/code-tab.tsx";
import { parseTraceSearch } from "../../../src/features/trace/trace-search.ts";

test("a JavaScript error is split at its causes, and its stack is separated", () => {
  const text = [
    "Error: outer",
    "    at f (a.js:1:1)",
    "    at g (a.js:2:1)",
    "  [cause]: TypeError: inner",
    "      at h (b.js:1:1)",
  ].join("\n");
  expect(toErrorChain(text)).toEqual([
    { message: "Error: outer", stack: "    at f (a.js:1:1)\n    at g (a.js:2:1)" },
    { message: "TypeError: inner", stack: "      at h (b.js:1:1)" },
  ]);
});

test("the last of Python's tracebacks comes first, since it is the one that was raised", () => {
  const first = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1';
  const second =
    'Traceback (most recent call last):\n  File "b.py", line 2, in g\nValueError: no\nmore';
  const text = `${first}\n\nThe above exception was the direct cause of the following exception:\n\n${second}`;
  expect(toErrorChain(text).map(({ message }) => message)).toEqual([
    "ValueError: no\nmore",
    "KeyError: 1",
  ]);
});

test("an error of one line is a chain of one, and a chain from an untrusted text is limited", () => {
  expect(toErrorChain("boom")).toEqual([{ message: "boom", stack: "" }]);
  expect(toErrorChain(`a${"\nCaused by: b".repeat(10_000)}`)).toHaveLength(20);
});

test("the replay code of a run contains its id and its escaped name", () => {
  const name = 'x"; process.exit(); //\n\u2028';
  const code = toReplayCode({ id: "id-1", name, runType: "chain", inputs: {} }, "http://a.test");
  expect(code).toContain('runs.read("id-1")');
  expect(code).toContain(String.raw`name: "x\"; process.exit(); //\n\u2028"`);
});

test("a model call in a known format is replayed with its provider", () => {
  const codeOf = (inputs: unknown) =>
    toReplayCode({ id: "1", name: "n", runType: "llm", inputs }, "http://a.test");
  const messages = [{ role: "user", content: "hi" }];
  expect(codeOf({ model: "m", messages })).toContain("chat.completions.create");
  expect(codeOf({ model: "claude-x", max_tokens: 9, messages })).toContain("new Anthropic()");
  expect(codeOf({ model: "m", input: "hi" })).toContain("responses.create");
  expect(codeOf({ question: "hi" })).toContain("traceable(");
});

test("valid parameters of a trace's URL are parsed, and others dropped", () => {
  expect(
    parseTraceSearch({
      panel: "code",
      as: "raw",
      find: 7,
      errors: true,
      path: true,
      zoom: "0-50",
      hide: "llm",
    }),
  ).toEqual({
    panel: "code",
    as: "raw",
    find: "7",
    errors: true,
    path: true,
    zoom: "0-50",
    hide: "llm",
  });
  expect(
    parseTraceSearch({ panel: "data", as: "html", find: "", errors: "yes", vs: "x", zoom: "a-b" }),
  ).toEqual({});
});
