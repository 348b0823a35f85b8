import type { Activity, ActivityCounts } from "../runs/activity.ts";

/** Counts for one second of one project. */
interface SecondCounts {
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  /** Number of runs by latency bucket. */
  readonly latencies: Map<number, number>;
}

interface ProjectHistory {
  readonly tenantId: string;
  readonly projectId: string;
  /** Keyed by seconds since the epoch, in ascending order. */
  readonly seconds: Map<number, SecondCounts>;
}

/** What was stored in one second, by project. */
export interface LiveSecond {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly projects: Readonly<Record<string, ActivityCounts>>;
}

/** Maximum number of projects in memory; beyond it, the project that was inactive longest is dropped. */
const maxProjects = 500;

/** Keeps in memory, for each project and each of the last `historySeconds` seconds, the counts of the stored runs. */
export class ActivityHistory {
  readonly #historySeconds: number;
  /** Keyed by tenant and project, in the order of their last activity. */
  readonly #projects = new Map<string, ProjectHistory>();

  constructor(historySeconds: number) {
    this.#historySeconds = historySeconds;
  }

  add(activity: readonly Activity[], atSeconds: number): void {
    for (const entry of activity) {
      const { tenantId, projectId } = entry;
      const key = `${tenantId}/${projectId}`;
      const { seconds } = this.#projects.get(key) ?? { seconds: new Map<number, SecondCounts>() };
      this.#projects.delete(key);
      this.#projects.set(key, { tenantId, projectId, seconds });
      this.#deleteBefore(seconds, atSeconds - this.#historySeconds);
      addCounts(seconds, atSeconds, entry);
    }
    for (const key of this.#projects.keys()) {
      if (this.#projects.size <= maxProjects) {
        return;
      }
      this.#projects.delete(key);
    }
  }

  /** The seconds from `fromSeconds` up to, but not including, `toSeconds`; those without activity are omitted. */
  read(tenantId: string, fromSeconds: number, toSeconds: number): readonly LiveSecond[] {
    const bySecond = new Map<number, Record<string, ActivityCounts>>();
    for (const { tenantId: ownerId, projectId, seconds } of this.#projects.values()) {
      if (ownerId === tenantId) {
        for (const [at, { latencies, ...counts }] of seconds) {
          if (at >= fromSeconds && at < toSeconds) {
            const second = bySecond.get(at) ?? {};
            bySecond.set(at, second);
            second[projectId] = { ...counts, latencies: [...latencies] };
          }
        }
      }
    }
    return [...bySecond]
      .map(([at, projects]) => ({ at, projects }))
      .toSorted((a, b) => a.at - b.at);
  }

  #deleteBefore(seconds: Map<number, SecondCounts>, oldest: number): void {
    for (const second of seconds.keys()) {
      if (second >= oldest) {
        return;
      }
      seconds.delete(second);
    }
  }
}

function addCounts(
  seconds: Map<number, SecondCounts>,
  second: number,
  counts: ActivityCounts,
): void {
  const counted = seconds.get(second) ?? {
    runs: 0,
    traces: 0,
    errors: 0,
    tokens: 0,
    cost: 0,
    latencies: new Map<number, number>(),
  };
  seconds.set(second, counted);
  counted.runs += counts.runs;
  counted.traces += counts.traces;
  counted.errors += counts.errors;
  counted.tokens += counts.tokens;
  counted.cost += counts.cost;
  for (const [bucket, count] of counts.latencies) {
    counted.latencies.set(bucket, (counted.latencies.get(bucket) ?? 0) + count);
  }
}
