import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { findThreadId } from "../../../src/features/trace/header/thread-id.ts";
import { createTraceRunQuery } from "../../../src/features/trace/queries.ts";

const longId = "a".repeat(201);

test.each([
  { title: "leads to the thread that the server reports", reported: "t", threadId: "t" },
  {
    title: "with an id of 200 characters leads to it",
    reported: longId.slice(1),
    threadId: longId.slice(1),
  },
  // A run is only in the thread of its first key.
  { title: "with a longer first id leads to no thread", reported: longId, threadId: undefined },
  { title: "with an empty first id leads to no thread", reported: "", threadId: undefined },
  { title: "without an id leads to no thread", reported: null, threadId: undefined },
])("a run $title", async ({ reported, threadId }) => {
  const metadata = reported === null ? {} : { session_id: reported, thread_id: "second" };
  const run = { id: "r", start_time: "2026-03-01T14:05:09Z", thread_id: reported };
  vi.stubGlobal("fetch", async () => Response.json({ ...run, extra: { metadata } }));
  const client = new QueryClient();
  expect(findThreadId(await client.fetchQuery(createTraceRunQuery("r")))).toBe(threadId);
  client.clear();
});

test("a run that is not read yet leads to no thread", () => {
  expect(findThreadId(undefined)).toBeUndefined();
});
