import { conditionsByGrouping } from "../../components/filter/grouping-conditions.ts";
import { toCountedTimes } from "../metrics/metrics.ts";
import type { RunListSearch } from "../runs/run-list-search.ts";
import type { Grouping, Scope } from "./dashboard-search.ts";
import type { MetricGroup } from "../metrics/metrics.ts";

/** The runs that a number of the dashboard counts. */
export interface CountedRuns {
  readonly scope: Scope;
  /** The filter of the dashboard. */
  readonly filter: string | undefined;
  readonly fromMs: number;
  /** The runs start before this time. */
  readonly toMs: number;
  /** The property by which runs are grouped, and the group, if only the runs of one group are counted. */
  readonly grouping?: Grouping | undefined;
  readonly group?: Pick<MetricGroup, "kind" | "value"> | undefined;
  /** The values that have their own group. The group "Other" excludes the runs with these values. */
  readonly values?: readonly string[] | undefined;
  /** Whether only runs with an error are counted. */
  readonly isError?: boolean;
}

/** Returns the search parameters of the run list that shows exactly the counted runs. */
export function toRunListSearch(counted: CountedRuns): RunListSearch {
  const { scope, filter, fromMs, toMs, isError = false } = counted;
  const conditions = [
    ...(scope === "models" ? ['in(run_type, ["llm", "embedding"])'] : []),
    ...toGroupConditions(counted),
    ...(isError ? ['eq(status, "error")'] : []),
    ...(filter === undefined ? [] : [filter]),
  ];
  const combinedFilter = conditions.length > 1 ? `and(${conditions.join(", ")})` : conditions[0];
  return {
    ...(scope === "traces" ? {} : { all: true }),
    ...toCountedTimes(fromMs, toMs),
    ...(combinedFilter === undefined ? {} : { filter: combinedFilter }),
  };
}

function toGroupConditions({
  scope,
  grouping,
  group,
  values = [],
}: CountedRuns): readonly string[] {
  if (grouping === undefined || group === undefined) {
    return [];
  }
  const { equals, exists } = conditionsByGrouping[grouping];
  const isTraceList = scope === "traces";
  const others = values.map((value) => negate(equals(value, isTraceList)));
  switch (group.kind) {
    case "value":
      return [equals(group.value, isTraceList)];
    case "none":
      return exists === undefined ? others : [negate(exists)];
    case "other":
      return [...(exists === undefined ? [] : [exists]), ...others];
  }
}

const negate = (condition: string): string => `not(${condition})`;
