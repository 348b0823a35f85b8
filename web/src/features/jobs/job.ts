import {
  omitUndefined,
  parseChoice,
  requireItems,
  requireText,
  toNumber,
  toRecord,
  toText,
  toTexts,
} from "../../api/parse.ts";
import { formatDollars } from "../../components/text/cost.ts";
import { parseTimeMs } from "../../components/time/time.ts";

export type JobState = "queued" | "running" | "succeeded" | "failed" | "canceled";

const states = ["queued", "running", "succeeded", "failed", "canceled"] as const;

/** A task that the server performs in the background, or a download. */
export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly state: JobState;
  readonly isCancelRequested: boolean;
  /** Whether the job can be continued after it failed or was canceled. A download can't. */
  readonly isRetryable: boolean;
  readonly done: number;
  /** Absent while the number of items is unknown. */
  readonly total?: number;
  /** Other numbers that the job reports about its progress, by name, such as `cost_usd`. */
  readonly figures: readonly (readonly [name: string, value: number])[];
  /** Number of items that failed, and the error messages of the first ones. */
  readonly failureCount: number;
  readonly failureMessages: readonly string[];
  /** Why the job failed, or why it was canceled without a request to cancel it. */
  readonly error?: string;
  /** The result of the job, in one sentence. */
  readonly summary?: string;
  /** The dataset or queue to which the job has added something. */
  readonly datasetId?: string;
  readonly queueId?: string;
  readonly createdMs?: number;
  readonly endedMs?: number;
}

/** @throws TypeError the value is not a job. */
export function parseJob(value: unknown): Job {
  const members = toRecord(value);
  const progress = toRecord(members["progress"]);
  const failures = toRecord(members["failures"]);
  const result = toRecord(members["result"]);
  const state = parseChoice(members["state"], states);
  if (state === undefined) {
    throw new TypeError("The response contains a job without a known state.");
  }
  return {
    id: requireText(members, "id"),
    kind: requireText(members, "kind"),
    title: requireText(members, "title"),
    state,
    isCancelRequested: members["is_cancel_requested"] === true,
    isRetryable: members["is_retryable"] !== false,
    done: toNumber(progress["done"]) ?? 0,
    figures: Object.entries(toRecord(progress["figures"])).flatMap(([name, figure]) => {
      const number = toNumber(figure);
      return number === undefined ? [] : [[name, number] as const];
    }),
    failureCount: toNumber(failures["count"]) ?? 0,
    failureMessages: toTexts(failures["messages"]),
    ...omitUndefined({
      total: toNumber(progress["total"]),
      error: toText(members["error"]),
      summary: toText(result["summary"]),
      datasetId: toText(result["dataset_id"]),
      queueId: toText(result["queue_id"]),
      createdMs: parseTimeMs(members["created_at"]),
      endedMs: parseTimeMs(members["ended_at"]),
    }),
  };
}

/** @throws TypeError the value is not a list of jobs. */
export const parseJobs = (value: unknown): readonly Job[] =>
  requireItems(toRecord(value)["jobs"], "jobs").map(parseJob);

/** Whether a job has not ended. */
export const isActive = ({ state }: Job): boolean => state === "queued" || state === "running";

/** How many jobs are running or, if none is, how many are queued; `undefined` if all have ended. */
export function describeActive(jobs: readonly Job[]): string | undefined {
  for (const state of ["running", "queued"] as const) {
    const count = jobs.filter((job) => job.state === state).length;
    if (count > 0) {
      return `${count} ${state}`;
    }
  }
  return undefined;
}

/** The state of a job as a label. */
export const describeState = (job: Job): string =>
  isActive(job) && job.isCancelRequested ? "Canceling" : stateLabels[job.state];

const stateLabels: { readonly [State in JobState]: string } = {
  queued: "Queued",
  running: "Running",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/** The figure in which a job reports its progress if it can't count its items in advance. */
const percentFigure = "percent";

/** The progress of a job in percent, from 0 to 100; `undefined` while the number of items is unknown. */
export const toPercent = ({ done, total, figures }: Job): number | undefined =>
  figures.find(([name]) => name === percentFigure)?.[1] ??
  (total === undefined || total === 0 ? undefined : Math.min(100, (100 * done) / total));

/** The progress in words: `1,200 of 5,000 · 3 failed · cost $0.12`. */
export const describeProgress = ({ done, total, failureCount, figures }: Job): string =>
  [
    total === undefined
      ? `${done.toLocaleString("en")} done`
      : `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`,
    ...(failureCount === 0 ? [] : [`${failureCount.toLocaleString("en")} failed`]),
    ...figures
      // Keep a percentage of 0, which a job has while it starts. Any other figure of 0 is left out, because nothing of
      // that kind happened.
      .filter(([name, value]) => value !== 0 || name === percentFigure)
      .map(describeFigure),
  ].join(" · ");

function describeFigure([name, value]: Job["figures"][number]): string {
  if (name === percentFigure) {
    return `${value}%`;
  }
  return name.endsWith("_usd")
    ? `${toWords(name.slice(0, -"_usd".length))} ${formatDollars(value)}`
    : `${toWords(name)} ${value.toLocaleString("en")}`;
}

const toWords = (name: string): string => name.replaceAll("_", " ");
