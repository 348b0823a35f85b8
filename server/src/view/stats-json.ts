import type { RunStatistics } from "../store/run-query.ts";
import type { FeedbackStats } from "../store/feedback.ts";
import { toIso } from "./run-json.ts";

/** Statistics as `POST /runs/stats` answers them; a project with statistics has the same members. */
export const toStatsJson = (statistics: RunStatistics, feedbackStats: FeedbackStats = {}) => {
  const { runCount, errorCount, latencyP50, latencyP99, lastStartMicros } = statistics;
  return {
    run_count: runCount,
    latency_p50: latencyP50,
    latency_p99: latencyP99,
    first_token_p50: null,
    first_token_p99: null,
    total_tokens: null,
    prompt_tokens: null,
    completion_tokens: null,
    median_tokens: null,
    last_run_start_time: lastStartMicros === null ? null : toIso(lastStartMicros),
    feedback_stats: feedbackStats,
    run_facets: [],
    error_rate: runCount === 0 ? null : errorCount / runCount,
    streaming_rate: null,
    total_cost: null,
    prompt_cost: null,
    completion_cost: null,
  };
};
