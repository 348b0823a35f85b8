import { Link, useParams } from "@tanstack/react-router";
import { formatDollars } from "../../../components/text/cost.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { describeCost } from "./run-cost.ts";
import type { RunCost } from "./run-cost.ts";

/**
 * The cost of a run with its parts in a tooltip. If the cost is unknown, shows "Unknown" with the reason in a tooltip
 * and, for a model without a price, a link to set one; `prefix` precedes the word "unknown". Nothing is shown for a run
 * without usage.
 */
export const CostText = ({
  cost,
  prefix = "",
}: {
  readonly cost: RunCost;
  readonly prefix?: string;
}) => {
  const { total, unknownReason, unpricedModel } = cost;
  if (total !== undefined) {
    return <span title={toVisibleText(describeCost(cost))}>{formatDollars(total)}</span>;
  }
  if (unknownReason === undefined) {
    return null;
  }
  return (
    <span className="absent" title={toVisibleText(unknownReason)}>
      {prefix === "" ? "Unknown" : `${prefix} unknown`}
      {unpricedModel !== undefined && <PriceLink model={unpricedModel} />}
    </span>
  );
};

const PriceLink = ({ model }: { readonly model: string }) => {
  // The page of a shared run has no tenant, and its readers can't set prices.
  const { tenantId } = useParams({ strict: false });
  if (tenantId === undefined) {
    return null;
  }
  return (
    <>
      {" · "}
      <Link to="/o/$tenantId/settings/prices" params={{ tenantId }} search={{ add: model }}>
        Set price
      </Link>
    </>
  );
};
