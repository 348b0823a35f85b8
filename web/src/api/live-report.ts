/** Counts of one second in one project, as the server sends them. */
export interface LiveCounts {
  readonly runs: number;
  readonly traces: number;
  readonly errors: number;
  readonly tokens: number;
  readonly cost: number;
  /** A histogram of trace latencies. The upper bound of bucket `n` is `1.05 ** n` microseconds. */
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
}

export interface LiveSecond {
  /** Seconds since the Unix epoch. */
  readonly at: number;
  readonly projects: Readonly<Record<string, LiveCounts>>;
}

/** An SDK client, and the numbers of records in its latest report. */
export interface SdkClient {
  readonly id: string;
  readonly project: string;
  readonly pid: number;
  readonly version: string;
  readonly accepted: number;
  readonly delivered: number;
  readonly rejected: number;
  readonly dropped: number;
  readonly spooled: number;
  readonly pending: number;
  /** The time of the report, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** Activity of the last five minutes. */
export interface LiveReport {
  /** The current second, in seconds since the Unix epoch. Earlier seconds are complete. */
  readonly now: number;
  readonly seconds: readonly LiveSecond[];
  /** The SDK clients that reported recently. */
  readonly senders: readonly SdkClient[];
}

/** Activity of a time interval. Latencies are in milliseconds; they are `undefined` without traces. */
export interface LiveSummary {
  readonly runsPerSecond: number;
  readonly runs: number;
  readonly traces: number;
  /** The fraction of traces with an error, from 0 to 1; `undefined` if there are no traces. */
  readonly errorRate: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly tokens: number;
  readonly cost: number;
}

/** The length of the activity history, in seconds. The server's history has the same length. */
const historySeconds = 300;
/** The ratio of the upper bounds of two adjacent latency buckets. */
const bucketGrowth = 1.05;

export const emptyReport: LiveReport = { now: 0, seconds: [], senders: [] };

/** @throws TypeError the message is not a live report. */
export function parseLiveReport(text: string): LiveReport {
  const value: unknown = JSON.parse(text);
  const { now, seconds, senders } = value as Partial<LiveReport>;
  if (typeof now !== "number" || !Array.isArray(seconds) || !Array.isArray(senders)) {
    throw new TypeError("The message is not a live report.");
  }
  return {
    now,
    seconds: seconds as readonly LiveSecond[],
    senders: senders as readonly SdkClient[],
  };
}

/**
 * Merges a new report into the previous ones. After a reconnect the server repeats its history, so `latest` takes
 * precedence.
 */
export function mergeReports(previous: LiveReport, latest: LiveReport): LiveReport {
  const firstSecond = latest.seconds[0]?.at ?? latest.now;
  const olderSeconds = previous.seconds.filter(
    ({ at }) => at >= latest.now - historySeconds && at < firstSecond,
  );
  return { ...latest, seconds: [...olderSeconds, ...latest.seconds] };
}

/** Summarizes the last seconds, of one project or of all projects. */
export function summarize(
  liveReport: LiveReport,
  lastSeconds: number,
  projectId?: string,
): LiveSummary {
  const since = liveReport.now - lastSeconds;
  return summarizeCounts(
    selectCounts(
      liveReport.seconds.filter(({ at }) => at >= since),
      projectId,
    ),
    lastSeconds,
  );
}

/** The ids of projects with activity, sorted by the runs of the last minute, the busiest first. */
export function listActiveProjects(live: LiveReport): readonly string[] {
  const interval = { fromMs: (live.now - 60) * 1_000, toMs: Infinity };
  return countRunsByProject(live, interval).map(({ id }) => id);
}

export interface LiveSeries {
  /** The start of each step, in milliseconds since the Unix epoch. */
  readonly stepStarts: readonly number[];
  readonly steps: readonly LiveSummary[];
}

/** Divides the last five minutes into steps and summarizes each, including empty ones. */
export function toSeries(live: LiveReport, stepSeconds: number): LiveSeries {
  const end = Math.floor(live.now / stepSeconds) * stepSeconds;
  const count = Math.floor(historySeconds / stepSeconds);
  const steps: LiveSecond[][] = Array.from({ length: count }, () => []);
  for (const second of live.seconds) {
    steps[Math.floor((second.at - end) / stepSeconds) + count]?.push(second);
  }
  return {
    stepStarts: steps.map((_, index) => (end - (count - index) * stepSeconds) * 1_000),
    steps: steps.map((seconds) => summarizeCounts(selectCounts(seconds), stepSeconds)),
  };
}

/**
 * Counts the runs of each project in a time interval, the busiest project first. A project whose activity was only at
 * other times is listed with 0 runs.
 */
export function countRunsByProject(
  { seconds }: LiveReport,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly { readonly id: string; readonly runs: number }[] {
  const runsByProjectId = new Map<string, number>();
  for (const { at, projects } of seconds) {
    const isCounted = at * 1_000 >= fromMs && at * 1_000 < toMs;
    for (const [id, { runs }] of Object.entries(projects)) {
      runsByProjectId.set(id, (runsByProjectId.get(id) ?? 0) + (isCounted ? runs : 0));
    }
  }
  return [...runsByProjectId]
    .map(([id, runs]) => ({ id, runs }))
    .toSorted((a, b) => b.runs - a.runs);
}

const selectCounts = (seconds: readonly LiveSecond[], projectId?: string): readonly LiveCounts[] =>
  seconds.flatMap(({ projects }) => {
    if (projectId === undefined) {
      return Object.values(projects);
    }
    const counts = projects[projectId];
    return counts === undefined ? [] : [counts];
  });

function summarizeCounts(allCounts: readonly LiveCounts[], seconds: number): LiveSummary {
  const sumCounts = (name: "runs" | "traces" | "errors" | "tokens" | "cost"): number =>
    allCounts.reduce((count, counts) => count + counts[name], 0);
  const traces = sumCounts("traces");
  const buckets = new Map<number, number>();
  for (const [bucket, count] of allCounts.flatMap(({ latencies }) => latencies)) {
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + count);
  }
  const sortedBuckets = [...buckets].toSorted(([a], [b]) => a - b);
  return {
    runs: sumCounts("runs"),
    runsPerSecond: sumCounts("runs") / seconds,
    traces,
    errorRate: traces === 0 ? undefined : sumCounts("errors") / traces,
    p50Ms: computeQuantile(sortedBuckets, traces * 0.5),
    p99Ms: computeQuantile(sortedBuckets, traces * 0.99),
    tokens: sumCounts("tokens"),
    cost: sumCounts("cost"),
  };
}

/** Returns the middle, in milliseconds, of the histogram bucket that contains the latency with the given rank. */
function computeQuantile(
  sortedBuckets: readonly (readonly [bucket: number, count: number])[],
  rank: number,
): number | undefined {
  let countSoFar = 0;
  for (const [bucket, count] of sortedBuckets) {
    countSoFar += count;
    if (countSoFar >= rank) {
      return bucketGrowth ** bucket / (1 + (bucketGrowth - 1) / 2) / 1_000;
    }
  }
  return undefined;
}

/** Formats a fraction as a percentage: `4.2 %`. */
export const formatShare = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** Formats a cost in US dollars: whole dollars from $100 on, cents from $1 on, else two significant digits. */
export function formatCost(cost: number): string {
  if (cost === 0 || cost >= 100) {
    return `$${cost.toFixed(0)}`;
  }
  return `$${cost >= 1 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
