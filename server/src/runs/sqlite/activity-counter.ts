import { latencyBucket } from "../activity.ts";
import type { Activity } from "../activity.ts";
import type { RunMeasures } from "../run-measures.ts";
import type { RunRow } from "../run-row.ts";
import { idOf } from "../../storage/row-keys.ts";

interface Counter {
  readonly tenantId: string;
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  readonly latencies: Map<number, number>;
}

interface StoredRecord {
  /** The run as it was stored before this record; `undefined` for a new run. */
  readonly previous: RunRow | undefined;
  readonly row: Pick<
    RunRow,
    "projectId" | "runType" | "startMicros" | "endMicros" | "hasError" | "parentRunId"
  >;
  /** The usage that the stored record reports. */
  readonly measures: RunMeasures | undefined;
}

/** Counts what is stored, for the live view. The counts are in memory and are collected after each commit. */
export class ActivityCounter {
  #byProject = new Map<string, Counter>();

  add(tenantId: string, { previous, row, measures }: StoredRecord): void {
    const counter = this.#counterOf(tenantId, row.projectId);
    if (previous === undefined) {
      counter.runs += 1;
    }
    if (
      row.parentRunId === null &&
      row.endMicros !== null &&
      (previous?.endMicros ?? null) === null
    ) {
      const bucket = latencyBucket(row.endMicros - row.startMicros);
      counter.traces += 1;
      counter.errors += row.hasError ? 1 : 0;
      counter.latencies.set(bucket, (counter.latencies.get(bucket) ?? 0) + 1);
    }
    // Only runs of type `llm` count, because a chain repeats the usage of its children, and each run counts only
    // once.
    if (measures !== undefined && row.runType === "llm" && previous?.measures !== "some") {
      counter.tokens += measures.total_tokens ?? 0;
      counter.cost += measures.total_cost ?? 0;
    }
  }

  /** Returns what was counted since the previous call, and starts over. */
  take(): readonly Activity[] {
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

  #counterOf(tenantId: string, projectId: string): Counter {
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
