import { Fields, omitUndefined } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** Statistics of a set of runs. A number that the server does not know is absent. */
export interface RunStats {
  readonly runCount: number;
  /** In seconds. */
  readonly latencyP50?: number | undefined;
  /** In seconds. */
  readonly latencyP99?: number | undefined;
  /** From 0 to 1. */
  readonly errorRate?: number | undefined;
  readonly totalTokens?: number | undefined;
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** A time in ISO 8601 format. */
  readonly lastRunStartTime?: string | undefined;
  /** Statistics by feedback key. */
  readonly feedbackStats: KeyValues;
}

/** @throws {@link ResponseError} if `value` is not an object. */
export function parseRunStats(value: unknown): RunStats {
  const fields = new Fields(value, "statistics");
  return omitUndefined({
    runCount: fields.optionalNumber("run_count") ?? 0,
    latencyP50: fields.optionalNumber("latency_p50"),
    latencyP99: fields.optionalNumber("latency_p99"),
    errorRate: fields.optionalNumber("error_rate"),
    totalTokens: fields.optionalNumber("total_tokens"),
    promptTokens: fields.optionalNumber("prompt_tokens"),
    completionTokens: fields.optionalNumber("completion_tokens"),
    lastRunStartTime: fields.optionalText("last_run_start_time"),
    feedbackStats: fields.object("feedback_stats"),
  });
}
