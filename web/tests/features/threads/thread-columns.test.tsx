import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { createThreadColumns } from "../../../src/features/threads/thread-columns.tsx";
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
