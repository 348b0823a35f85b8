import { formatDollars } from "../../../components/text/cost.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import type { TraceModel } from "../trace-model.ts";
import { isModelCall, sumModelCalls } from "../trace-usage.ts";

/**
 * The cost of a trace, with its parts in a tooltip. If the cost of some of its model calls is unknown, the tooltip
 * shows their number. Nothing is shown for a trace without usage.
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
          `The cost of ${unknownCount.toLocaleString("en")} of ${pluralize(callCount, "model call")} is unknown: select one to see why.`,
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
