import { requireItems, requireText, toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/** An experiment on a dataset, with statistics of its runs. */
export interface Experiment {
  readonly id: string;
  readonly name: string;
  readonly startMs: number;
  /** Absent until the program that runs it reports the end. */
  readonly endMs: number | undefined;
  /** When its latest run started. */
  readonly lastRunMs: number | undefined;
  /** Absent if the server could not read the statistics in time. */
  readonly runCount: number | undefined;
  readonly errorRate: number | undefined;
  readonly latencyP50Ms: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  /** Mean score by feedback key. */
  readonly scores: Readonly<Record<string, number>>;
  /** The splits whose examples were run; empty if all examples were run. */
  readonly splits: readonly string[];
  /** The tag by which the version of the dataset was chosen; absent if it was not chosen by a tag. */
  readonly versionTag: string | undefined;
}

/** A comparison in which the outputs of experiments are judged side by side. */
export interface PairwiseComparison {
  readonly id: string;
  readonly name: string;
  readonly createdMs: number;
  readonly experiments: readonly { readonly id: string; readonly name: string }[];
  /** Keys of the feedback that belongs to the comparison. */
  readonly keys: readonly string[];
}

/** @throws TypeError `value` is not a list, or an item is not an experiment. */
export const parseExperiments = (value: unknown): readonly Experiment[] =>
  requireItems(value, "experiments").map((item) => {
    const members = toRecord(item);
    const latency = toNumber(members["latency_p50"]);
    const cost = members["total_cost"];
    const metadata = toRecord(toRecord(members["extra"])["metadata"]);
    return {
      id: requireText(members, "id"),
      name: requireText(members, "name"),
      startMs: parseTimeMs(members["start_time"]) ?? 0,
      endMs: parseTimeMs(members["end_time"]),
      lastRunMs: parseTimeMs(members["last_run_start_time"]),
      runCount: toNumber(members["run_count"]),
      errorRate: toNumber(members["error_rate"]),
      // The server sends the latency in seconds.
      latencyP50Ms: latency === undefined ? undefined : latency * 1_000,
      tokens: toNumber(members["total_tokens"]),
      cost: typeof cost === "string" ? Number(cost) : toNumber(cost),
      scores: Object.fromEntries(
        Object.entries(toRecord(members["feedback_stats"])).flatMap(([key, stats]) => {
          const mean = toNumber(toRecord(stats)["avg"]);
          return mean === undefined ? [] : [[key, mean]];
        }),
      ),
      splits: toItems(metadata["dataset_splits"]).flatMap((split) => toText(split) ?? []),
      versionTag: toText(metadata["dataset_version_tag"]),
    };
  });

/** Facts about the compared experiments, including those that the experiment list has not loaded. */
export interface ComparedExperiments {
  /** Names by experiment id. */
  readonly names: ReadonlyMap<string, string>;
  /** Start times by experiment id, in milliseconds since the Unix epoch. */
  readonly starts: ReadonlyMap<string, number>;
  /** Ids of the experiments that have no end time and are probably running, so that rows may still be added. */
  readonly runningIds: readonly string[];
}

/** An experiment that has no end time after this many milliseconds was probably abandoned. */
const maxExperimentMs = 86_400_000;
/** A program that sets no end time has probably finished if it started no run for this many milliseconds. */
const maxQuietMs = 600_000;

/** Whether an experiment without an end time is probably still running. */
export const isProbablyRunning = (
  { startMs, lastRunMs = 0 }: { readonly startMs: number; readonly lastRunMs?: number | undefined },
  nowMs: number,
): boolean =>
  nowMs - startMs < maxExperimentMs && nowMs - Math.max(startMs, lastRunMs) < maxQuietMs;

const isUnfinished = (members: JsonMembers, nowMs: number): boolean =>
  toText(members["end_time"]) === undefined &&
  nowMs - (parseTimeMs(members["start_time"]) ?? 0) < maxExperimentMs;

/**
 * Returns the ids of the experiments that have no end time and began less than a day ago.
 *
 * @throws TypeError `value` is not a list, or an item is not an experiment.
 */
export const findUnfinishedIds = (value: unknown, nowMs: number): readonly string[] =>
  requireItems(value, "experiments")
    .map(toRecord)
    .filter((members) => isUnfinished(members, nowMs))
    .map((members) => requireText(members, "id"));

/**
 * Parses facts about the compared experiments. `lastRuns` contains, by experiment id, when the latest run of each
 * unfinished experiment started, in milliseconds. Experiments without runs are left out.
 *
 * @throws TypeError `value` is not a list, or an item is not an experiment.
 */
export function parseComparedExperiments(
  value: unknown,
  { nowMs, lastRuns }: { readonly nowMs: number; readonly lastRuns: ReadonlyMap<string, number> },
): ComparedExperiments {
  const experiments = requireItems(value, "experiments").map(toRecord);
  return {
    names: new Map(
      experiments.map((members) => [requireText(members, "id"), requireText(members, "name")]),
    ),
    starts: new Map(
      experiments.map((members) => [
        requireText(members, "id"),
        parseTimeMs(members["start_time"]) ?? 0,
      ]),
    ),
    runningIds: experiments
      .filter((members) => {
        const startMs = parseTimeMs(members["start_time"]) ?? 0;
        const lastRunMs = lastRuns.get(requireText(members, "id"));
        return isUnfinished(members, nowMs) && isProbablyRunning({ startMs, lastRunMs }, nowMs);
      })
      .map((members) => requireText(members, "id")),
  };
}

/** @throws TypeError `value` is not a list, or an item is not a pairwise comparison. */
export const parsePairwise = (value: unknown): readonly PairwiseComparison[] =>
  requireItems(value, "comparisons").map((item) => {
    const members = toRecord(item);
    const id = requireText(members, "id");
    return {
      id,
      name: toText(members["name"]) ?? id.slice(0, 8),
      createdMs: parseTimeMs(members["created_at"]) ?? 0,
      experiments: toItems(members["experiments_info"]).map((experiment) => ({
        id: requireText(toRecord(experiment), "id"),
        name: toText(toRecord(experiment)["name"]) ?? "",
      })),
      keys: Object.keys(toRecord(members["feedback_stats"])),
    };
  });
