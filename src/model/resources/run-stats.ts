import { Fields, omitUndefined } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** Statistics of a set of runs. A number that the server does not know is absent. */
export interface RunStats {
  readonly runCount: number;
  /** Median latency in seconds. */
  readonly latencyP50?: number | undefined;
  /** Latency in seconds that 99 percent of the runs do not exceed. */
  readonly latencyP99?: number | undefined;
  /** Fraction of runs with an error, from 0 to 1. */
  readonly errorRate?: number | undefined;
  readonly totalTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** In US dollars, as the server sent it: a string such as "0.0042", or a number. */
  readonly totalCost?: string | number | undefined;
  /** A time in ISO 8601 format. */
  readonly lastRunStartTime?: string | undefined;
  /** Statistics by feedback key. */
  readonly feedbackStats: KeyValues;
}

/** @throws {@link ResponseError} if `value` is not an object. */
export function parseRunStats(value: unknown): RunStats {
  const fields = new Fields(value, "statistics");
  return omitUndefined({
    runCount: fields.readOptionalNumber("run_count") ?? 0,
    latencyP50: fields.readOptionalNumber("latency_p50"),
    latencyP99: fields.readOptionalNumber("latency_p99"),
    errorRate: fields.readOptionalNumber("error_rate"),
    totalTokens: fields.readOptionalNumber("total_tokens"),
    promptTokens: fields.readOptionalNumber("prompt_tokens"),
    completionTokens: fields.readOptionalNumber("completion_tokens"),
    totalCost: readCost(fields.readValue("total_cost")),
    lastRunStartTime: fields.readOptionalText("last_run_start_time"),
    feedbackStats: fields.readObject("feedback_stats"),
  });
}

/** Returns a cost, which is a string or a number; `undefined` if the server sent neither. */
const readCost = (value: unknown): string | number | undefined =>
  typeof value === "string" || typeof value === "number" ? value : undefined;
