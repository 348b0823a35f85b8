import { expect, test } from "vitest";
import { toExperimentStatus } from "../../../src/features/experiments/experiment-status.ts";
import { parseExperiments } from "../../../src/features/experiments/experiment.ts";
import { parseExperimentJobs } from "../../../src/features/experiments/launch/launch.ts";

const startTime = "2026-11-21T10:00:00Z";
const nowMs = Date.parse("2026-11-21T10:05:00Z");

function readStatus(project: object, job?: object, now = nowMs) {
  const [experiment] = parseExperiments([
    { id: "e1", name: "first", start_time: startTime, extra: {}, ...project },
  ]);
  const [parsedJob] =
    job === undefined
      ? []
      : parseExperimentJobs({ jobs: [{ id: "j1", experiment_id: "e1", name: "first", ...job }] });
  return toExperimentStatus(experiment!, parsedJob, now);
}

const ended = { end_time: "2026-11-21T10:04:00Z" };

test("an experiment of the server has the status of its job, with the reason of a failure", () => {
  const progress = { done: 3, total: 12 };
  const labels = (["queued", "running", "canceled", "succeeded"] as const).map(
    (state) => readStatus(ended, { state, progress }).label,
  );
  expect(labels).toEqual([
    "Queued",
    "Running, 3 of 12 rows",
    "Canceled after 3 of 12 rows",
    "Done",
  ]);
  const error = "the daily budget of $1 is not enough";
  // Its project has no end, and its last run has just started: the job nevertheless has failed.
  expect(
    readStatus({ last_run_start_time: startTime }, { state: "failed", progress, error }),
  ).toEqual({ kind: "failed", label: "Failed after 3 of 12 rows", reason: error });
});

test("an experiment that ended partially names the number of its failed rows", () => {
  const failures = { count: 2, messages: ["the model \u202Edid not answer"] };
  const job = { state: "succeeded", progress: { done: 12, total: 12 }, failures };
  expect(readStatus(ended, job)).toEqual({
    kind: "partial",
    label: "2 of 12 rows failed",
    reason: expect.stringMatching(/^the model .*did not answer$/) as string,
  });
  expect(readStatus({ ...ended, run_count: 60, error_rate: 1 / 60 }).label).toBe(
    "1 of 60 rows failed",
  );
});

test("an experiment of a program is running until it ends or has been quiet for ten minutes", () => {
  const later = nowMs + 600_000;
  const quiet = { run_count: 1, last_run_start_time: startTime };
  expect(readStatus({ ...ended, run_count: 60, error_rate: 0 }).kind).toBe("done");
  expect(readStatus(quiet)).toEqual({ kind: "running", label: "Running, 1 row" });
  expect(readStatus(quiet, undefined, later).label).toBe("Not finished");
  expect(
    readStatus({ ...quiet, last_run_start_time: "2026-11-21T10:10:00Z" }, undefined, later).kind,
  ).toBe("running");
});
