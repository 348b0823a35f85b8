/** Counts of one second in one project, as the server sends them. */
export interface LiveCounts {
  readonly runs: number;
  readonly traces: number;
  readonly errors: number;
  readonly tokens: number;
  readonly cost: number;
  /** Latencies of traces: how many end in which bucket; bucket `n` reaches to `1.05 ** n` microseconds. */
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
}

export interface LiveSecond {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly projects: Readonly<Record<string, LiveCounts>>;
}

/** Record counts that an SDK client reported. */
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
  readonly atMs: number;
}

/** Activity of the last five minutes. */
export interface LiveReport {
  /** The current second; those before it are complete. */
  readonly now: number;
  readonly seconds: readonly LiveSecond[];
  readonly senders: readonly SdkClient[];
}

/** Activity of an interval. Latencies are milliseconds; absent without traces. */
export interface LiveSummary {
  readonly runsPerSecond: number;
  readonly runs: number;
  readonly traces: number;
  /** 0 to 1. */
  readonly errorRate: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly tokens: number;
  readonly cost: number;
}

/** Seconds of history; the server stores as many. */
const liveSeconds = 300;
const growth = 1.05;

export const emptyReport: LiveReport = { now: 0, seconds: [], senders: [] };

/** @throws TypeError the message is not a live report. */
export function parseLiveReport(text: string): LiveReport {
  const value: unknown = JSON.parse(text);
  const { now, seconds, senders } = value as Partial<LiveReport>;
  if (typeof now !== "number" || !Array.isArray(seconds) || !Array.isArray(senders)) {
    throw new TypeError("the server tells something else than what arrives");
  }
  return {
    now,
    seconds: seconds as readonly LiveSecond[],
    senders: senders as readonly SdkClient[],
  };
}

/** Merges a new report. After a reconnect the server repeats its history, so seconds in both are taken from `latest`. */
export function mergeReports(known: LiveReport, latest: LiveReport): LiveReport {
  const first = latest.seconds[0]?.at ?? latest.now;
  const older = known.seconds.filter(({ at }) => at >= latest.now - liveSeconds && at < first);
  return { ...latest, seconds: [...older, ...latest.seconds] };
}

/** The last seconds, of one project or of all. */
export function summarize(live: LiveReport, lastSeconds: number, projectId?: string): LiveSummary {
  const since = live.now - lastSeconds;
  return sum(
    countsOf(
      live.seconds.filter(({ at }) => at >= since),
      projectId,
    ),
    lastSeconds,
  );
}

/** Projects with activity, the busiest of the last minute first. */
export function activeProjects(live: LiveReport): readonly string[] {
  const runs = new Map<string, number>();
  for (const { at, projects } of live.seconds) {
    for (const [id, counts] of Object.entries(projects)) {
      runs.set(id, (runs.get(id) ?? 0) + (at >= live.now - 60 ? counts.runs : 0));
    }
  }
  return [...runs].toSorted(([, one], [, other]) => other - one).map(([id]) => id);
}

export interface LiveSeries {
  /** Beginnings of the steps, milliseconds since the epoch. */
  readonly at: readonly number[];
  readonly steps: readonly LiveSummary[];
}

/** The last minutes in steps of some seconds, the empty ones too. */
export function toSeries(live: LiveReport, stepSeconds: number): LiveSeries {
  const end = Math.floor(live.now / stepSeconds) * stepSeconds;
  const count = Math.floor(liveSeconds / stepSeconds);
  const steps: LiveSecond[][] = Array.from({ length: count }, () => []);
  for (const second of live.seconds) {
    steps[Math.floor((second.at - end) / stepSeconds) + count]?.push(second);
  }
  return {
    at: steps.map((_, index) => (end - (count - index) * stepSeconds) * 1_000),
    steps: steps.map((seconds) => sum(countsOf(seconds), stepSeconds)),
  };
}

const countsOf = (seconds: readonly LiveSecond[], projectId?: string): readonly LiveCounts[] =>
  seconds.flatMap(({ projects }) => {
    if (projectId === undefined) {
      return Object.values(projects);
    }
    const counts = projects[projectId];
    return counts === undefined ? [] : [counts];
  });

function sum(all: readonly LiveCounts[], seconds: number): LiveSummary {
  const total = (name: "runs" | "traces" | "errors" | "tokens" | "cost"): number =>
    all.reduce((count, counts) => count + counts[name], 0);
  const traces = total("traces");
  const buckets = new Map<number, number>();
  for (const [bucket, count] of all.flatMap(({ latencies }) => latencies)) {
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + count);
  }
  const sorted = [...buckets].toSorted(([one], [other]) => one - other);
  return {
    runs: total("runs"),
    runsPerSecond: total("runs") / seconds,
    traces,
    errorRate: traces === 0 ? undefined : total("errors") / traces,
    p50Ms: quantile(sorted, traces * 0.5),
    p99Ms: quantile(sorted, traces * 0.99),
    tokens: total("tokens"),
    cost: total("cost"),
  };
}

/** The middle of the bucket in which the latency of a rank lies. */
function quantile(
  sorted: readonly (readonly [bucket: number, count: number])[],
  rank: number,
): number | undefined {
  let seen = 0;
  for (const [bucket, count] of sorted) {
    seen += count;
    if (seen >= rank) {
      return growth ** bucket / (1 + (growth - 1) / 2) / 1_000;
    }
  }
  return undefined;
}

/** `4.2 %`. */
export const formatShare = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** Money as models report it: US dollars. */
export function formatCost(cost: number): string {
  return `$${cost === 0 || cost >= 100 ? cost.toFixed(0) : cost.toPrecision(2)}`;
}
