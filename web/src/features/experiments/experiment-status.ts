import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { isProbablyRunning } from "./experiment.ts";
import type { Experiment } from "./experiment.ts";
import type { ExperimentJob } from "./launch/launch.ts";

/** The progress of an experiment, or how it ended. */
export interface ExperimentStatus {
  readonly kind: "queued" | "running" | "done" | "partial" | "failed" | "canceled" | "unfinished";
  /** The status in a few words, such as `Running, 3 of 12 rows`. */
  readonly label: string;
  /** Why the experiment or its first failed row failed, or what the status means. */
  readonly reason?: string;
}

/**
 * Computes the status of an experiment. If the server runs the experiment in a job and has not removed the job, the
 * status is that of the job. Otherwise a program runs the experiment, and the status follows from its times and its
 * failed runs.
 */
export function toExperimentStatus(
  experiment: Experiment,
  job: ExperimentJob | undefined,
  nowMs: number,
): ExperimentStatus {
  if (job !== undefined) {
    return toJobStatus(job);
  }
  const { endMs, runCount = 0, errorRate = 0 } = experiment;
  const failedCount = Math.round(runCount * errorRate);
  if (endMs !== undefined) {
    return toEndedStatus({ failedCount, total: runCount });
  }
  return isProbablyRunning(experiment, nowMs)
    ? { kind: "running", label: `Running, ${pluralize(runCount, "row")}` }
    : {
        kind: "unfinished",
        label: "Not finished",
        reason: "The program that ran this experiment has not reported its end.",
      };
}

function toJobStatus({
  state,
  done,
  total,
  failureCount,
  failure,
  error,
}: ExperimentJob): ExperimentStatus {
  const rows = `${done.toLocaleString("en")} of ${total?.toLocaleString("en") ?? "?"} rows`;
  switch (state) {
    case "queued":
      return { kind: "queued", label: "Queued" };
    case "running":
      return { kind: "running", label: `Running, ${rows}` };
    case "succeeded":
      return toEndedStatus({ failedCount: failureCount, total: total ?? done, failure });
    case "failed":
      return { kind: "failed", label: `Failed after ${rows}`, ...toReason(error) };
    case "canceled":
      return { kind: "canceled", label: `Canceled after ${rows}` };
  }
}

const toEndedStatus = ({
  failedCount,
  total,
  failure,
}: {
  readonly failedCount: number;
  readonly total: number;
  readonly failure?: string | undefined;
}): ExperimentStatus =>
  failedCount === 0
    ? { kind: "done", label: "Done" }
    : {
        kind: "partial",
        label: `${failedCount.toLocaleString("en")} of ${pluralize(total, "row")} failed`,
        ...toReason(failure),
      };

const toReason = (text: string | undefined): Pick<ExperimentStatus, "reason"> =>
  text === undefined ? {} : { reason: toVisibleText(text) };
