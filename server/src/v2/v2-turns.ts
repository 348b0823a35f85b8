import { roundCost } from "../runs/usage/run-cost.ts";

// Computes threads and their statistics from turns. All functions expect the turns in the order of their start times.

/** A turn of a thread: a root run, with the fields from which the thread's fields are computed. */
export interface Turn {
  readonly trace_id: string;
  readonly thread_id?: string;
  readonly start_time: string;
  readonly end_time?: string;
  readonly latency_seconds?: number;
  readonly status: string;
  readonly total_tokens?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_cost?: number;
  readonly prompt_cost?: number;
  readonly completion_cost?: number;
  readonly inputs_preview?: string;
  readonly outputs_preview?: string;
  readonly error_preview?: string;
  readonly first_token_time?: string;
  readonly prompt_token_details?: Details;
  readonly completion_token_details?: Details;
  readonly prompt_cost_details?: Details;
  readonly completion_cost_details?: Details;
}

/** Numbers by category. */
interface Details {
  readonly raw: Readonly<Record<string, number>>;
}

const detailNames = [
  "prompt_token_details",
  "completion_token_details",
  "prompt_cost_details",
  "completion_cost_details",
] as const;

/** The names by which a request selects the fields of {@link Turn}. */
export const turnFields = [
  "TRACE_ID",
  "THREAD_ID",
  "START_TIME",
  "END_TIME",
  "LATENCY_SECONDS",
  "STATUS",
  "TOTAL_TOKENS",
  "PROMPT_TOKENS",
  "COMPLETION_TOKENS",
  "TOTAL_COST",
  "PROMPT_COST",
  "COMPLETION_COST",
  "INPUTS_PREVIEW",
  "OUTPUTS_PREVIEW",
  "ERROR_PREVIEW",
  "FIRST_TOKEN_TIME",
  ...detailNames.map((name) => name.toUpperCase()),
];

/** Computes a thread from its turns, which are in the order of their start times. */
export function toThread(id: string, turns: readonly Turn[]) {
  const [oldest, newest] = [turns[0], turns.at(-1)];
  const latencies = sortLatencies(turns);
  return {
    thread_id: id,
    count: turns.length,
    trace_id: newest?.trace_id,
    first_trace_id: oldest?.trace_id,
    last_trace_id: newest?.trace_id,
    first_inputs: oldest?.inputs_preview,
    last_outputs: newest?.outputs_preview,
    last_error: newest?.error_preview,
    start_time: oldest?.start_time,
    min_start_time: oldest?.start_time,
    max_start_time: newest?.start_time ?? "",
    latency_p50: findQuantile(latencies, 0.5),
    latency_p99: findQuantile(latencies, 0.99),
    num_errored_turns: turns.filter(({ status }) => status === "ERROR").length,
    total_tokens: sumMembers(turns, "total_tokens"),
    total_cost: sumCosts(turns, "total_cost"),
    total_token_details: sumDetails(turns, ["prompt_token_details", "completion_token_details"]),
    total_cost_details: sumDetails(turns, ["prompt_cost_details", "completion_cost_details"]),
  };
}

/** Computes the statistics of a single thread. */
export function computeThreadStats(turns: readonly Turn[]): Readonly<Record<string, unknown>> {
  const endTimes = turns.flatMap(({ end_time: end }) => end ?? []);
  return {
    ...computeTotals(turns),
    ...Object.fromEntries(detailNames.map((name) => [name, { raw: sumDetails(turns, [name]) }])),
    turns: turns.length,
    first_start_time: turns[0]?.start_time,
    last_start_time: turns.at(-1)?.start_time,
    last_end_time: endTimes.toSorted().at(-1),
  };
}

/** Computes the statistics over all threads of a project. */
export function computeOverallStats(
  threads: ReadonlyMap<string, readonly Turn[]>,
): Readonly<Record<string, unknown>> {
  const turns = [...threads.values()].flat();
  const endedTurns = turns.filter(({ end_time: end }) => end !== undefined);
  const firstTokenSeconds = turns.flatMap(({ start_time: start, first_token_time: time }) =>
    time === undefined ? [] : (Date.parse(time) - Date.parse(start)) / 1_000,
  );
  const tokenCounts = turns.map(({ total_tokens: count }) => count ?? 0);
  return {
    ...computeTotals(turns),
    ...Object.fromEntries(detailNames.map((name) => [name, sumDetails(turns, [name])])),
    thread_count: threads.size,
    trace_count: turns.length,
    error_rate: computeRate(turns.filter(({ status }) => status === "ERROR").length, turns.length),
    streaming_rate: computeRate(
      endedTurns.filter(({ first_token_time: time }) => time !== undefined).length,
      endedTurns.length,
    ),
    median_tokens: findQuantile(sortAscending(tokenCounts), 0.5),
    first_token_p50_seconds: findQuantile(sortAscending(firstTokenSeconds), 0.5),
    first_token_p99_seconds: findQuantile(sortAscending(firstTokenSeconds), 0.99),
    // On this server, feedback belongs to runs and projects, never to a thread.
    thread_feedback_stats: {},
  };
}

/** Computes the statistics that are reported both for a single thread and for all threads. */
function computeTotals(turns: readonly Turn[]): Readonly<Record<string, unknown>> {
  const latencies = sortLatencies(turns);
  return {
    latency_p50_seconds: findQuantile(latencies, 0.5),
    latency_p99_seconds: findQuantile(latencies, 0.99),
    prompt_tokens: sumMembers(turns, "prompt_tokens"),
    completion_tokens: sumMembers(turns, "completion_tokens"),
    total_tokens: sumMembers(turns, "total_tokens"),
    prompt_cost: sumCosts(turns, "prompt_cost"),
    completion_cost: sumCosts(turns, "completion_cost"),
    total_cost: sumCosts(turns, "total_cost"),
  };
}

/** Sums the numbers in the named details of all turns, by category. */
function sumDetails(
  turns: readonly Turn[],
  names: readonly (typeof detailNames)[number][],
): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const { raw } of turns.flatMap((turn) => names.flatMap((name) => turn[name] ?? []))) {
    for (const [category, count] of Object.entries(raw)) {
      sums.set(category, (sums.get(category) ?? 0) + count);
    }
  }
  return Object.fromEntries(sums);
}

const computeRate = (count: number, total: number): number | undefined =>
  total === 0 ? undefined : count / total;

const sortLatencies = (turns: readonly Turn[]): readonly number[] =>
  sortAscending(turns.flatMap(({ latency_seconds: latency }) => latency ?? []));

const sortAscending = (numbers: readonly number[]): readonly number[] =>
  numbers.toSorted((a, b) => a - b);

const findQuantile = (sorted: readonly number[], fraction: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)];

const sumMembers = (
  turns: readonly Turn[],
  name: "total_tokens" | "prompt_tokens" | "completion_tokens",
): number => turns.reduce((total, turn) => total + (turn[name] ?? 0), 0);

/** Returns `undefined` if no cost is known: an unknown cost is not zero. */
function sumCosts(
  turns: readonly Turn[],
  name: "total_cost" | "prompt_cost" | "completion_cost",
): number | undefined {
  const costs = turns.flatMap((turn) => turn[name] ?? []);
  return costs.length === 0 ? undefined : roundCost(costs.reduce((total, cost) => total + cost, 0));
}
