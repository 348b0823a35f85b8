import { latencyBucket } from "../activity.ts";
import type { Activity } from "../activity.ts";
import type { RunMeasures } from "../run-measures.ts";
import type { RunRow } from "../run-row.ts";
import { idOf } from "../../storage/sqlite/tenant-keys.ts";

interface Counter {
  readonly tenantId: string;
  runs: number;
  traces: number;
  errors: number;
  tokens: number;
  cost: number;
  readonly latencies: Map<number, number>;
}

interface Stored {
  /** What was known of the run before. */
  readonly known: RunRow | undefined;
  readonly row: Pick<
    RunRow,
    "projectId" | "runType" | "startMicros" | "endMicros" | "hasError" | "parentRunId"
  >;
  /** The usage that the stored record reports. */
  readonly measures: RunMeasures | undefined;
}

/** Counts what is stored, for the live view: numbers in memory, collected after each commit. */
export class ActivityCounter {
  #byProject = new Map<string, Counter>();

  add(tenantId: string, { known, row, measures }: Stored): void {
    const counter = this.#counterOf(tenantId, row.projectId);
    if (known === undefined) {
      counter.runs += 1;
    }
    if (row.parentRunId === null && row.endMicros !== null && (known?.endMicros ?? null) === null) {
      const bucket = latencyBucket(row.endMicros - row.startMicros);
      counter.traces += 1;
      counter.errors += row.hasError ? 1 : 0;
      counter.latencies.set(bucket, (counter.latencies.get(bucket) ?? 0) + 1);
    }
    // Where it arose: a chain that repeats its child's would count it twice; and once for each run.
    if (measures !== undefined && row.runType === "llm" && known?.measures !== "some") {
      counter.tokens += measures.total_tokens ?? 0;
      counter.cost += measures.total_cost ?? 0;
    }
  }

  /** What was counted since the last time. */
  take(): readonly Activity[] {
    if (this.#byProject.size === 0) {
      return [];
    }
    const taken = [...this.#byProject].map(([projectId, { latencies, ...counts }]) => ({
      projectId: idOf(projectId),
      ...counts,
      latencies: [...latencies],
    }));
    this.#byProject = new Map();
    return taken;
  }

  #counterOf(tenantId: string, projectId: string): Counter {
    const known = this.#byProject.get(projectId);
    if (known !== undefined) {
      return known;
    }
    const empty = { runs: 0, traces: 0, errors: 0, tokens: 0, cost: 0 };
    const counter: Counter = { tenantId, ...empty, latencies: new Map() };
    this.#byProject.set(projectId, counter);
    return counter;
  }
}
