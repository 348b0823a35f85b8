import type { TraceModel } from "./trace-model.ts";

/** The types of runs that call a model. Other runs often repeat the usage of their children. */
const modelCallTypes: ReadonlySet<string> = new Set(["llm", "embedding"]);

export const isModelCall = (model: TraceModel, run: number): boolean =>
  modelCallTypes.has(model.types[run] ?? "");

/** Sums tokens or costs over the model calls of a trace. */
export const sumModelCalls = (model: TraceModel, values: ReadonlyMap<number, number>): number =>
  [...values].reduce((sum, [run, value]) => sum + (isModelCall(model, run) ? value : 0), 0);

/** Sums over a run and its descendants, by run index. */
export interface SubtreeUsage {
  readonly tokens: Float64Array;
  readonly costs: Float64Array;
}

/** Sums the tokens and costs of the model calls in each subtree. */
export const sumSubtrees = (model: TraceModel): SubtreeUsage => ({
  tokens: sumUp(model, model.tokens),
  costs: sumUp(model, model.costs),
});

function sumUp(model: TraceModel, values: ReadonlyMap<number, number>): Float64Array {
  const { count, order, parents } = model;
  const sums = new Float64Array(count);
  if (values.size === 0) {
    return sums;
  }
  // Children come after their parents in `order`. In reverse order, the sum of a run is complete before it is added to
  // that of the parent.
  for (let rank = count - 1; rank >= 0; rank -= 1) {
    const run = order[rank] ?? 0;
    const parent = parents[run] ?? -1;
    sums[run] = (sums[run] ?? 0) + (isModelCall(model, run) ? (values.get(run) ?? 0) : 0);
    if (parent >= 0) {
      sums[parent] = (sums[parent] ?? 0) + (sums[run] ?? 0);
    }
  }
  return sums;
}
