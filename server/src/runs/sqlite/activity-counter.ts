import { toLatencyBucket } from "../activity.ts";
import type { Activity } from "../activity.ts";
import { isModelCall } from "../usage/run-cost.ts";
import type { RunMeasures } from "../usage/measures.ts";
import type { RunRow } from "../run-row.ts";
import { idOf } from "../../storage/row-keys.ts";

interface Counter {
  readonly tenantId: string;
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  /** Number of traces by latency bucket. */
  readonly latencies: Map<number, number>;
}

interface StoredRecord {
  /** The run as it was stored before this record; `undefined` if the run is new. */
  readonly previous: RunRow | undefined;
  readonly row: Pick<
    RunRow,
    "projectId" | "runType" | "startMicros" | "endMicros" | "hasError" | "parentRunId"
  >;
  /** The usage of the run, if the stored record reports any. */
  readonly measures: RunMeasures | undefined;
}

/**
 * Counts what is stored, for the live view. The counts are kept in memory. After each commit, they are read and reset.
 */
export class ActivityCounter {
  #byProject = new Map<string, Counter>();

  add(tenantId: string, { previous, row, measures }: StoredRecord): void {
    const counter = this.#findOrCreateCounter(tenantId, row.projectId);
    if (previous === undefined) {
      counter.runs += 1;
    }
    if (
      row.parentRunId === null &&
      row.endMicros !== null &&
      (previous?.endMicros ?? null) === null
    ) {
      const bucket = toLatencyBucket(row.endMicros - row.startMicros);
      counter.traces += 1;
      counter.errors += row.hasError ? 1 : 0;
      counter.latencies.set(bucket, (counter.latencies.get(bucket) ?? 0) + 1);
    }
    // Only model calls are counted, because a chain repeats the usage of its children. Each run is counted only once.
    if (measures !== undefined && isModelCall(row.runType) && previous?.measureState !== "some") {
      counter.tokens += measures.total_tokens ?? 0;
      counter.cost += measures.total_cost ?? 0;
    }
  }

  /** Returns the counts since the previous call, and resets them. */
  takeCounts(): readonly Activity[] {
    if (this.#byProject.size === 0) {
      return [];
    }
    const activities = [...this.#byProject].map(([projectId, { latencies, ...counts }]) => ({
      projectId: idOf(projectId),
      ...counts,
      latencies: [...latencies],
    }));
    this.#byProject = new Map();
    return activities;
  }

  #findOrCreateCounter(tenantId: string, projectId: string): Counter {
    const existing = this.#byProject.get(projectId);
    if (existing !== undefined) {
      return existing;
    }
    const empty = { runs: 0, traces: 0, errors: 0, tokens: 0, cost: 0 };
    const counter: Counter = { tenantId, ...empty, latencies: new Map() };
    this.#byProject.set(projectId, counter);
    return counter;
  }
}
