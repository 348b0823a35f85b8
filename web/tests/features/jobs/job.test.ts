import { expect, test } from "vitest";
import {
  describeActive,
  describeProgress,
  describeState,
  parseJob,
  parseJobs,
  toPercent,
} from "../../../src/features/jobs/job.ts";

const running = {
  id: "1",
  kind: "runs.tag",
  title: "Tag 5,000 runs",
  state: "running",
  is_cancel_requested: false,
  progress: { done: 1_200, total: 5_000, figures: { cost_usd: 0.12, model_calls: 40, odd: "x" } },
  failures: { count: 3, messages: ["no"] },
  error: null,
  result: null,
  created_at: "2026-11-21T10:00:00Z",
  started_at: null,
  ended_at: null,
};

test("the progress of a job names its items, failures and further figures", () => {
  const job = parseJob(running);
  expect(describeProgress(job)).toBe("1,200 of 5,000 · 3 failed · cost $0.12 · model calls 40");
  expect(toPercent(job)).toBe(24);
});

test("figures of 0 are not named, except for the percentage", () => {
  const figures = { percent: 0, unpriced_calls: 0, changed: 5 };
  const job = parseJob({ ...running, progress: { done: 7, total: null, figures } });
  expect(describeProgress(job)).toBe("7 done · 3 failed · 0% · changed 5");
});

test("without a total, only what is done is named, and there is no share", () => {
  const job = parseJob({ ...running, progress: { done: 7, total: null, figures: {} } });
  expect(describeProgress(job)).toBe("7 done · 3 failed");
  expect(toPercent(job)).toBeUndefined();
});

test("a job that can't count its items has a share all the same", () => {
  const progress = { done: 7, total: null, figures: { percent: 43, changed: 5 } };
  const job = parseJob({ ...running, progress });
  expect(describeProgress(job)).toBe("7 done · 3 failed · 43% · changed 5");
  expect(toPercent(job)).toBe(43);
});

test("a running job that was canceled is canceling, an ended one is what it became", () => {
  expect(describeState(parseJob({ ...running, is_cancel_requested: true }))).toBe("Canceling");
  const failed = { ...running, state: "failed", is_cancel_requested: true, error: "404" };
  expect(describeState(parseJob(failed))).toBe("Failed");
  expect(parseJob(failed)).toMatchObject({ error: "404" });
});

test.each([
  { states: ["running", "queued", "queued", "succeeded"], text: "1 running" },
  { states: ["queued", "queued", "failed"], text: "2 queued" },
  { states: ["canceled", "succeeded", "failed"], text: undefined },
])("of the jobs $states, the menu says: $text", ({ states, text }) => {
  expect(describeActive(states.map((state) => parseJob({ ...running, state })))).toBe(text);
});

test("a response that is no list of jobs, or has a job of an unknown state, is an error", () => {
  expect(() => parseJobs({})).toThrow(/no list of jobs/);
  expect(() => parseJobs({ jobs: [{ ...running, state: "lost" }] })).toThrow(/known state/);
  expect(parseJobs({ jobs: [running] })).toHaveLength(1);
});
