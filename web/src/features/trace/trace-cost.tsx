import { formatDollars } from "../../components/text/cost.ts";
import { pluralize } from "../../components/text/quantity.ts";
import type { TraceModel } from "./trace-model.ts";

/** The types of runs that call a model. Other runs often repeat the usage of their children. */
const modelCallTypes: ReadonlySet<string> = new Set(["llm", "embedding"]);

/** Sums tokens or costs over the model calls of a trace. */
export const sumModelCalls = (model: TraceModel, values: ReadonlyMap<number, number>): number =>
  [...values].reduce((sum, [run, value]) => sum + (isModelCall(model, run) ? value : 0), 0);

const isModelCall = (model: TraceModel, run: number): boolean =>
  modelCallTypes.has(model.types[run] ?? "");

/**
 * The cost of a trace with its parts in a tooltip. If no price is known for some of its model calls, the tooltip says
 * for how many. Nothing is shown for a trace without usage.
 */
export const TraceCost = ({ model }: { readonly model: TraceModel }) => {
  const { costs, promptCosts, completionCosts, tokens } = model;
  const knownCalls = [...costs.keys()].filter((run) => isModelCall(model, run));
  const unknownCount = [...tokens].filter(
    ([run, count]) => count > 0 && isModelCall(model, run) && !costs.has(run),
  ).length;
  const callCount = knownCalls.length + unknownCount;
  if (callCount === 0) {
    return null;
  }
  const hasParts = knownCalls.some((run) => promptCosts.has(run) || completionCosts.has(run));
  const lines = [
    ...(hasParts
      ? [
          `Prompt: ${formatDollars(sumModelCalls(model, promptCosts))}`,
          `Completion: ${formatDollars(sumModelCalls(model, completionCosts))}`,
        ]
      : []),
    ...(unknownCount === 0
      ? []
      : [
          `The cost of ${unknownCount.toLocaleString()} of ${pluralize(callCount, "model call")} is unknown: select one to see why.`,
        ]),
  ];
  const total = formatDollars(sumModelCalls(model, costs));
  return (
    <span
      className={knownCalls.length === 0 ? "absent" : undefined}
      title={lines.length === 0 ? undefined : lines.join("\n")}
    >
      {knownCalls.length === 0 ? "Cost unknown" : `${unknownCount === 0 ? "" : "≥ "}${total}`}
    </span>
  );
};
