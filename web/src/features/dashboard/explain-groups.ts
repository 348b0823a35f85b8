import type { MetricGroup } from "../metrics/metrics.ts";
import type { Grouping, Scope } from "./dashboard-search.ts";

/**
 * Returns an explanation if none of the counted runs has the property by which runs are grouped, but runs of another
 * scope usually have it; otherwise `undefined`.
 */
export function explainNoValues(
  groups: readonly Pick<MetricGroup, "kind">[],
  { scope, grouping }: { readonly scope: Scope; readonly grouping: Grouping | undefined },
): string | undefined {
  if (groups.length === 0 || groups.some(({ kind }) => kind !== "none")) {
    return undefined;
  }
  if (scope === "traces") {
    return grouping === "model"
      ? "No root run names a model. Select “Model calls” to group the runs that do."
      : undefined;
  }
  return grouping === "tag" || grouping === "user"
    ? `None of these runs has a ${grouping} of its own. If your root runs have one, select “Traces”.`
    : undefined;
}
