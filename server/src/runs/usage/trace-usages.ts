import type { TraceUsage } from "../trace.ts";
import { isModelCall, roundCost } from "./run-cost.ts";

/**
 * Maximum number of runs that are read to sum the usage of one trace. It is limited, because a list shows the usage of
 * many traces.
 */
const maxUsageRuns = 1_000;
/**
 * Maximum number of runs that are read for all traces of a list together. Once it is reached, up to `minUsageRuns` runs
 * of each further trace are still read.
 */
const maxUsageRunsOfList = 20_000;
const minUsageRuns = 20;
/** Maximum number of models that are listed for a trace. */
const maxModels = 3;

export interface UsageRun {
  readonly runType: string;
  readonly startMicros: number;
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly firstTokenMicros: number | null;
  /** The model that the run calls. */
  readonly model: string | null;
}

/** Sums the usage of the traces of a list, from a limited number of runs. */
export class TraceUsages {
  /** Traces without usage have no entry. */
  readonly byTrace = new Map<string, TraceUsage>();
  #remainingRuns = maxUsageRunsOfList;

  /** Maximum number of runs to read from the next trace. */
  get nextLimit(): number {
    return Math.max(minUsageRuns, Math.min(maxUsageRuns, this.#remainingRuns));
  }

  /** @param runs - runs of the trace. If there are more than `limit`, the trace is not read completely. */
  add(traceId: string, runs: readonly UsageRun[], limit: number): void {
    this.#remainingRuns -= runs.length;
    const readRuns = runs.slice(0, limit);
    const calls = readRuns.filter(({ runType }) => isModelCall(runType));
    const firstTokenMicros = findFirstToken(readRuns);
    if (calls.length > 0 || firstTokenMicros !== null) {
      const isPartial = runs.length > limit;
      this.byTrace.set(traceId, { ...sumUsage(calls), firstTokenMicros, isPartial });
    }
  }
}

/** Finds the earliest first token of any run, because a run that calls no model can be streamed, too. */
function findFirstToken(runs: readonly UsageRun[]): number | null {
  const times = runs.flatMap(({ firstTokenMicros }) => firstTokenMicros ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

function sumUsage(calls: readonly UsageRun[]): Pick<TraceUsage, "tokens" | "cost" | "models"> {
  const models = new Set<string>();
  let [tokens, cost]: [number | null, number | null] = [null, null];
  for (const call of calls.toSorted((left, right) => left.startMicros - right.startMicros)) {
    tokens = call.tokens === null ? tokens : (tokens ?? 0) + call.tokens;
    cost = call.cost === null ? cost : (cost ?? 0) + call.cost;
    if (call.model !== null && models.size < maxModels) {
      models.add(call.model);
    }
  }
  return {
    tokens,
    cost: cost === null ? null : roundCost(cost),
    models: [...models],
  };
}
