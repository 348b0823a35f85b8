import { formatDollars } from "../../../components/text/cost.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { describeCost } from "./run-cost.ts";
import type { RunCost } from "./run-cost.ts";

/**
 * The cost of a run with its parts in a tooltip, or "Unknown" with the reason. `prefix` precedes the word "unknown".
 * Nothing is shown for a run without usage.
 */
export const CostText = ({
  cost,
  prefix = "",
}: {
  readonly cost: RunCost;
  readonly prefix?: string;
}) => {
  const { total, unknownReason } = cost;
  if (total !== undefined) {
    return <span title={toVisibleText(describeCost(cost))}>{formatDollars(total)}</span>;
  }
  return unknownReason === undefined ? null : (
    <span className="absent" title={toVisibleText(unknownReason)}>
      {prefix === "" ? "Unknown" : `${prefix} unknown`}
    </span>
  );
};
