import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { createThreadColumns } from "../../../src/features/threads/thread-columns.tsx";
import { FeedbackScores } from "../../../src/features/threads/feedback-scores.tsx";
import type { LastMessage, ThreadItem } from "../../../src/features/threads/thread-item.ts";

afterEach(cleanup);

const showMessage = (lastMessage: LastMessage): string => {
  const column = createThreadColumns(String).find(({ id }) => id === "message")!;
  const item: ThreadItem = {
    id: "t",
    turnCount: 1,
    isTruncated: false,
    errorCount: 0,
    lastStartMs: 0,
    tokens: undefined,
    cost: undefined,
    lastMessage,
    feedback: {},
  };
  return render(<>{column.renderCell(item)}</>).container.textContent;
};

test.for<[LastMessage["source"], string, string]>([
  ["outputs", "It rains **tomorrow", "Assistant It rains tomorrow"],
  ["error", "Error: 429 Too many requests", "Error: 429 Too many requests"],
  ["error", "RateLimitError: slow down", "RateLimitError: slow down"],
  ["error", "boom", "Error boom"],
])("the last message of %s %s is shown as %s", ([source, text, shown]) => {
  expect(showMessage({ source, text })).toBe(shown);
});

test.each([
  [{ count: 2, average: 0.5, values: { good: 1 } }, "0.5"],
  [{ count: 1, average: undefined, values: { good: 1 } }, "good"],
  [{ count: 2, average: undefined, values: { good: 2 } }, "good 2×"],
  [{ count: 3, average: undefined, values: { "1": 1, "2": 2 } }, "2 2 of 3"],
  [{ count: 2, average: undefined, values: { good: 1 } }, "good 1 of 2"],
  [{ count: 4, average: undefined, values: {} }, "4×"],
  [{ count: 1, average: undefined, values: { "\u202Egnp": 1 } }, String.raw`\u202egnp`],
])("feedback %j is shown as %s", (tone, shown) => {
  const { container } = render(<FeedbackScores scores={{ tone }} />);
  expect(container.textContent).toBe(`tone ${shown}`);
});
