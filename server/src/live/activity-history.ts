import type { Activity, ActivityCounts } from "../runs/activity.ts";

/** Counts for one second of one project. */
interface SecondCounts {
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  readonly latencies: Map<number, number>;
}

interface ProjectHistory {
  readonly tenantId: string;
  readonly projectId: string;
  readonly slots: Map<number, SecondCounts>;
}

/** What was stored in one second, by project. */
export interface LiveSecond {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly projects: Readonly<Record<string, ActivityCounts>>;
}

/** Maximum number of projects in memory; beyond it, the project that was inactive longest is dropped. */
const maxProjects = 500;

/** Counts of the runs that were stored in the last minutes, for each second and project. Kept in memory only. */
export class ActivityHistory {
  readonly #spanSeconds: number;
  /** Keyed by tenant and project, in the order of their last activity. */
  readonly #projects = new Map<string, ProjectHistory>();

  constructor(spanSeconds: number) {
    this.#spanSeconds = spanSeconds;
  }

  add(activity: readonly Activity[], atSeconds: number): void {
    for (const entry of activity) {
      const { tenantId, projectId } = entry;
      const key = `${tenantId}/${projectId}`;
      const { slots } = this.#projects.get(key) ?? { slots: new Map<number, SecondCounts>() };
      this.#projects.delete(key);
      this.#projects.set(key, { tenantId, projectId, slots });
      this.#deleteBefore(slots, atSeconds - this.#spanSeconds);
      addTo(slots, atSeconds, entry);
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
    for (const { projectId, slots, ...owner } of this.#projects.values()) {
      if (owner.tenantId === tenantId) {
        for (const [at, { latencies, ...counts }] of slots) {
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

  #deleteBefore(slots: Map<number, SecondCounts>, seconds: number): void {
    for (const at of slots.keys()) {
      if (at >= seconds) {
        return;
      }
      slots.delete(at);
    }
  }
}

function addTo(slots: Map<number, SecondCounts>, at: number, counts: ActivityCounts): void {
  const slot = slots.get(at) ?? {
    runs: 0,
    traces: 0,
    errors: 0,
    tokens: 0,
    cost: 0,
    latencies: new Map<number, number>(),
  };
  slots.set(at, slot);
  slot.runs += counts.runs;
  slot.traces += counts.traces;
  slot.errors += counts.errors;
  slot.tokens += counts.tokens;
  slot.cost += counts.cost;
  for (const [bucket, count] of counts.latencies) {
    slot.latencies.set(bucket, (slot.latencies.get(bucket) ?? 0) + count);
  }
}
