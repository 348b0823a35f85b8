import type { Activity, ActivityCounts } from "../runs/activity.ts";

/** One second of one project. */
interface Slot {
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  readonly latencies: Map<number, number>;
}

interface ProjectSlots {
  readonly tenantId: string;
  readonly projectId: string;
  readonly slots: Map<number, Slot>;
}

/** What one second brought, by project. */
export interface LiveSecond {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly projects: Readonly<Record<string, ActivityCounts>>;
}

/** Projects whose seconds are kept at once; of more, those are dropped that were quiet for longest. */
const projectsMax = 500;

/** What the last minutes brought, second by second: counters in memory, as many as are needed. */
export class ActivityHistory {
  readonly #spanSeconds: number;
  /** By tenant and project, in the order of their last activity; then by second. */
  readonly #projects = new Map<string, ProjectSlots>();

  constructor(spanSeconds: number) {
    this.#spanSeconds = spanSeconds;
  }

  add(activity: readonly Activity[], atSeconds: number): void {
    for (const one of activity) {
      const { tenantId, projectId } = one;
      const key = `${tenantId}/${projectId}`;
      const { slots } = this.#projects.get(key) ?? { slots: new Map<number, Slot>() };
      this.#projects.delete(key);
      this.#projects.set(key, { tenantId, projectId, slots });
      this.#forgetBefore(slots, atSeconds - this.#spanSeconds);
      addTo(slots, atSeconds, one);
    }
    for (const key of this.#projects.keys()) {
      if (this.#projects.size <= projectsMax) {
        return;
      }
      this.#projects.delete(key);
    }
  }

  /** The seconds from one on and before another, those without activity left out. */
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
      .toSorted((one, other) => one.at - other.at);
  }

  #forgetBefore(slots: Map<number, Slot>, seconds: number): void {
    for (const at of slots.keys()) {
      if (at >= seconds) {
        return;
      }
      slots.delete(at);
    }
  }
}

function addTo(slots: Map<number, Slot>, at: number, counts: ActivityCounts): void {
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
