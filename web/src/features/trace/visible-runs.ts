import { statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** Which runs of a trace are collapsed or hidden. */
export interface TraceFilters {
  /** Ids of collapsed runs: their descendants are not shown. */
  readonly collapsedIds: ReadonlySet<string>;
  /** Run types whose runs are collapsed. */
  readonly collapsedTypes: ReadonlySet<string>;
  /** Run types whose runs are not shown. Their children are shown below the nearest visible ancestor. */
  readonly hiddenTypes: ReadonlySet<string>;
  /** Whether only failed runs and their ancestors are shown. */
  readonly areOnlyErrorsShown: boolean;
}

/** The rows of a trace. */
export interface VisibleRuns {
  /** The run index of each row. */
  readonly runs: Int32Array;
  /** The indentation level of each row. */
  readonly depths: Int32Array;
}

/** Selects the runs that are shown as rows. */
export function toVisibleRuns(model: TraceModel, filters: TraceFilters): VisibleRuns {
  const { count, order, ids, types, subtreeSizes, parents, depths } = model;
  const { collapsedIds, collapsedTypes, hiddenTypes, areOnlyErrorsShown } = filters;
  const failedMarks = areOnlyErrorsShown ? markFailed(model) : undefined;
  const runs = new Int32Array(count);
  const rowDepths = new Int32Array(count);
  /** By run index, the number of hidden runs among the run and its ancestors. */
  const hiddenAbove = hiddenTypes.size === 0 ? undefined : new Int32Array(count);
  // Skip looking up each id if no run is collapsed, as in most traces: the lookups would take most of the time.
  const hasCollapsedIds = collapsedIds.size > 0;
  let rowCount = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const run = order[rank] ?? 0;
    if (failedMarks !== undefined && failedMarks[run] === 0) {
      rank += (subtreeSizes[run] ?? 1) - 1;
      continue;
    }
    const type = types[run] ?? "";
    const isHidden = hiddenTypes.has(type);
    const parent = parents[run] ?? -1;
    const hiddenCount = parent < 0 ? 0 : (hiddenAbove?.[parent] ?? 0);
    if (hiddenAbove !== undefined) {
      hiddenAbove[run] = hiddenCount + (isHidden ? 1 : 0);
    }
    if (!isHidden) {
      runs[rowCount] = run;
      rowDepths[rowCount] = (depths[run] ?? 0) - hiddenCount;
      rowCount += 1;
    }
    if (
      (hasCollapsedIds && collapsedIds.has(ids[run] ?? "")) ||
      (collapsedTypes.has(type) && !isHidden)
    ) {
      rank += (subtreeSizes[run] ?? 1) - 1;
    }
  }
  return { runs: runs.slice(0, rowCount), depths: rowDepths.slice(0, rowCount) };
}

/** Returns an array by run index: 1 if the run or one of its descendants failed, else 0. */
function markFailed({ count, order, parents, statuses }: TraceModel): Uint8Array {
  const marks = new Uint8Array(count);
  for (let rank = count - 1; rank >= 0; rank -= 1) {
    const run = order[rank] ?? 0;
    const parent = parents[run] ?? -1;
    if (statuses[run] === statusCodes.error) {
      marks[run] = 1;
    }
    if (marks[run] === 1 && parent >= 0) {
      marks[parent] = 1;
    }
  }
  return marks;
}

/** Returns the ids of a run's collapsed ancestors, which must be expanded to show the run. */
export function findCollapsedAncestors(
  { parents, ids }: TraceModel,
  run: number,
  collapsedIds: ReadonlySet<string>,
): readonly string[] {
  const ancestorIds: string[] = [];
  for (
    let ancestorRun = parents[run] ?? -1;
    ancestorRun >= 0;
    ancestorRun = parents[ancestorRun] ?? -1
  ) {
    const id = ids[ancestorRun] ?? "";
    if (collapsedIds.has(id)) {
      ancestorIds.push(id);
    }
  }
  return ancestorIds;
}

/**
 * Returns the run in `runs` that follows the run `from` in tree order if `by` is 1, or precedes it if `by` is -1. At
 * the end of the list, continues at the other end. Runs are identified by their index.
 */
export function findNextRun(
  { ranks }: TraceModel,
  runs: readonly number[],
  { from, by }: { readonly from: number; readonly by: 1 | -1 },
): number | undefined {
  const sortedRuns = runs.toSorted((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0));
  const rank = ranks[from] ?? -1;
  const runsAhead = sortedRuns.filter((run) => Math.sign((ranks[run] ?? 0) - rank) === by);
  return by === 1 ? (runsAhead[0] ?? sortedRuns[0]) : (runsAhead.at(-1) ?? sortedRuns.at(-1));
}
