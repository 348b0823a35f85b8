import type { FeedbackStats } from "../run-feedback.ts";
import { roundCost } from "../usage/run-cost.ts";
import type { Distribution, RunStatistics } from "../run-query.ts";
import type { RunStatisticsJson } from "../run-schemas.ts";
import { toCostText, toIso } from "../../http/wire-text.ts";

/** Serializes statistics for `POST /runs/stats`. */
export const toStatsJson = (
  statistics: RunStatistics,
  feedbackStats: FeedbackStats = {},
): RunStatisticsJson => {
  const { runCount, errorCount, lastStartMicros, latency, firstToken } = statistics;
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: completion } = statistics;
  return {
    run_count: runCount,
    latency_p50: toSeconds(latency.p50),
    latency_p99: toSeconds(latency.p99),
    first_token_p50: toSeconds(firstToken.p50),
    first_token_p99: toSeconds(firstToken.p99),
    total_tokens: Math.round(total.sum),
    prompt_tokens: Math.round(prompt.sum),
    completion_tokens: Math.round(completion.sum),
    median_tokens: toCount(total.p50),
    tokens_p99: toCount(total.p99),
    prompt_tokens_p50: toCount(prompt.p50),
    prompt_tokens_p99: toCount(prompt.p99),
    completion_tokens_p50: toCount(completion.p50),
    completion_tokens_p99: toCount(completion.p99),
    last_run_start_time: lastStartMicros === null ? null : toIso(lastStartMicros),
    feedback_stats: feedbackStats,
    run_facets: [],
    error_rate: runCount === 0 ? null : errorCount / runCount,
    streaming_rate: runCount === 0 ? null : firstToken.count / runCount,
    total_cost: toCostOrNull(statistics.total_cost),
    prompt_cost: toCostOrNull(statistics.prompt_cost),
    completion_cost: toCostOrNull(statistics.completion_cost),
    cost_p50: statistics.total_cost.p50,
    cost_p99: statistics.total_cost.p99,
  };
};

/** Serializes the statistics of a project, where costs are strings. */
export const toProjectStatsJson = (statistics: RunStatistics, feedbackStats?: FeedbackStats) => ({
  ...toStatsJson(statistics, feedbackStats),
  total_cost: toCostText(toCostOrNull(statistics.total_cost)),
  prompt_cost: toCostText(toCostOrNull(statistics.prompt_cost)),
  completion_cost: toCostText(toCostOrNull(statistics.completion_cost)),
});

const toSeconds = (micros: number | null): number | null =>
  micros === null ? null : micros / 1_000_000;

const toCount = (value: number | null): number | null =>
  value === null ? null : Math.round(value);

/** Returns the sum of costs; `null` instead of zero if no run has a known cost. */
const toCostOrNull = ({ count, sum }: Distribution): number | null =>
  count === 0 ? null : roundCost(sum);
