import { expect, test } from "vitest";
import { parseThreadPage, parseTurnPage } from "../../../src/features/threads/thread-item.ts";
import {
  parseThreadSearch,
  parseThreadsSearch,
} from "../../../src/features/threads/thread-search.ts";

test("a page of threads is parsed; an unknown cost is not zero", () => {
  const thread = {
    id: "t",
    turn_count: 3,
    is_truncated: false,
    error_count: 1,
    last_start_time: "2026-03-01T12:00:00.000500Z",
    total_tokens: null,
    total_cost: null,
    last_message: { source: "error", text: "no" },
    feedback_stats: {
      helpful: { n: 2, avg: 0.5, values: {} },
      tone: { n: 1, avg: null, values: { good: 1 } },
    },
  };
  expect(parseThreadPage({ threads: [thread], cursors: { next: "c" }, is_partial: true })).toEqual({
    items: [
      {
        id: "t",
        turnCount: 3,
        isTruncated: false,
        errorCount: 1,
        lastStartMs: Date.parse("2026-03-01T12:00:00Z") + 0.5,
        tokens: undefined,
        cost: undefined,
        lastMessage: { source: "error", text: "no" },
        feedback: {
          helpful: { count: 2, average: 0.5, values: {} },
          tone: { count: 1, average: undefined, values: { good: 1 } },
        },
      },
    ],
    next: "c",
    isPartial: true,
  });
});

test("a response without threads, turns or times is an error that says what is missing", () => {
  expect(() => parseThreadPage({})).toThrow("no list of threads");
  expect(() => parseTurnPage({ turns: {} })).toThrow("no list of turns");
  expect(() => parseThreadPage({ threads: [{ id: "t" }] })).toThrow("last_start_time");
});

test("a thread's id in the URL stays a text, whatever it looks like", () => {
  expect(parseThreadSearch({ id: 12 })).toEqual({ id: "12" });
  expect(parseThreadSearch({ id: "../x" })).toEqual({ id: "../x" });
  expect(parseThreadSearch({ id: { a: 1 } })).toEqual({});
  expect(parseThreadsSearch({ q: true })).toEqual({ q: "true" });
});

test("the order of the threads is in the URL", () => {
  expect(parseThreadsSearch({ sort: "cost", order: "asc" })).toEqual({
    sort: "cost",
    order: "asc",
  });
  expect(parseThreadsSearch({ sort: "cost", order: "sideways" })).toEqual({
    sort: "cost",
    order: "desc",
  });
  expect(parseThreadsSearch({ order: "asc" })).toEqual({});
});
