import { pluralize } from "../../../components/text/quantity.ts";
import { toSearchBody } from "../queries.ts";
import type { RunListQuery } from "../queries.ts";

/** The runs to which an action applies: the selected runs, or all runs that match the filter. */
export interface RunTarget {
  /** The conditions that select the runs, in the format that the server's jobs expect. */
  readonly runs: object;
  readonly count: number;
  /** Whether `count` is exact. If counting all runs would have taken too long, `count` is a lower bound. */
  readonly isExact: boolean;
  /** Whether the conditions are a filter, so that the count may change until the action begins. */
  readonly isAll: boolean;
}

export const toSelectedTarget = (projectId: string, ids: ReadonlySet<string>): RunTarget => ({
  runs: { session: [projectId], id: [...ids] },
  count: ids.size,
  isExact: true,
  isAll: false,
});

/** All runs that match a list's conditions, whatever its order. */
export function toAllTarget(
  query: RunListQuery,
  { count, isExact }: Pick<RunTarget, "count" | "isExact">,
): RunTarget {
  const { sort: _sort, order: _order, ...runs } = toSearchBody(query);
  return { runs, count, isExact, isAll: true };
}

/** Formats the number of runs: `1,200 runs`, `more than 1,200 runs`. */
export const describeTarget = ({ count, isExact }: RunTarget): string =>
  isExact ? pluralize(count, "run") : `more than ${pluralize(count, "run")}`;
