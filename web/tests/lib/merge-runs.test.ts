import { expect, test } from "vitest";
import { mergeRuns } from "../../src/lib/merge-runs.ts";
import { makeRun } from "../support/run.ts";

const run = (startMs: number) => makeRun(`run-${startMs}`, { startMs });
const page = (starts: readonly number[], next?: string) => ({ runs: starts.map(run), next });

test("new runs come first, and a run in both is there once, as the newest page has it", () => {
  const newest = { runs: [run(4), { ...run(3), status: "error" as const }], next: "more" };
  const merged = mergeRuns(newest, [page([3, 2], "c"), page([1])]);
  expect(merged?.map(({ startMs, status }) => `${startMs} ${status}`)).toEqual([
    "4 success",
    "3 error",
    "2 success",
    "1 success",
  ]);
});

test("a newest page that does not reach what is known says that there is a gap", () => {
  expect(mergeRuns(page([9, 8], "more"), [page([3, 2])])).toBeUndefined();
});

test("the newest page of a project that had none is the list", () => {
  expect(mergeRuns(page([1]), [page([])])?.map(({ startMs }) => startMs)).toEqual([1]);
});

test("a newest page with nothing behind it leaves no gap", () => {
  expect(mergeRuns(page([9]), [page([3])])?.map(({ startMs }) => startMs)).toEqual([9, 3]);
});
