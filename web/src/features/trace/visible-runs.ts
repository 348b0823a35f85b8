import { statusCodes } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

/** What the page leaves out of a trace. */
export interface TraceFolds {
  /** Ids of runs that are closed: what is below them does not show. */
  readonly closed: ReadonlySet<string>;
  /** Types whose runs are closed. */
  readonly closedTypes: ReadonlySet<string>;
  /** Types whose runs do not show; what is below them moves up. */
  readonly hiddenTypes: ReadonlySet<string>;
  /** Runs that failed and those above them alone. */
  readonly errorsOnly: boolean;
}

/** The rows of a trace. */
export interface VisibleRuns {
  /** Places in the model, in the order of the rows. */
  readonly runs: Int32Array;
  /** How far each is indented, by row. */
  readonly depths: Int32Array;
}

/** The runs that show, in O(n). */
export function toVisibleRuns(model: TraceModel, folds: TraceFolds): VisibleRuns {
  const { count, order, ids, types, sizes, parents, depths } = model;
  const { closed, closedTypes, hiddenTypes, errorsOnly } = folds;
  const failed = errorsOnly ? markFailed(model) : undefined;
  const runs = new Int32Array(count);
  const rowDepths = new Int32Array(count);
  /** By place: how many of the runs above it are hidden, itself included. */
  const hiddenAbove = hiddenTypes.size === 0 ? undefined : new Int32Array(count);
  let rows = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const run = order[rank] ?? 0;
    if (failed !== undefined && failed[run] === 0) {
      rank += (sizes[run] ?? 1) - 1;
      continue;
    }
    const type = types[run] ?? "";
    const isHidden = hiddenTypes.has(type);
    const parent = parents[run] ?? -1;
    const above = parent < 0 ? 0 : (hiddenAbove?.[parent] ?? 0);
    if (hiddenAbove !== undefined) {
      hiddenAbove[run] = above + (isHidden ? 1 : 0);
    }
    if (!isHidden) {
      runs[rows] = run;
      rowDepths[rows] = (depths[run] ?? 0) - above;
      rows += 1;
    }
    if (closed.has(ids[run] ?? "") || (closedTypes.has(type) && !isHidden)) {
      rank += (sizes[run] ?? 1) - 1;
    }
  }
  return { runs: runs.slice(0, rows), depths: rowDepths.slice(0, rows) };
}

/** 1: the run failed, or one below it did. */
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

/** The ids of the closed runs above a run, which must open for it to show. */
export function closedAbove(
  { parents, ids }: TraceModel,
  run: number,
  closed: ReadonlySet<string>,
): readonly string[] {
  const found: string[] = [];
  for (let above = parents[run] ?? -1; above >= 0; above = parents[above] ?? -1) {
    const id = ids[above] ?? "";
    if (closed.has(id)) {
      found.push(id);
    }
  }
  return found;
}

/** The next run of a list of places that stands behind a run in the tree; round again at the end. */
export function stepIn(
  { ranks }: TraceModel,
  places: readonly number[],
  { from, by }: { readonly from: number; readonly by: 1 | -1 },
): number | undefined {
  const sorted = places.toSorted((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0));
  const rank = ranks[from] ?? -1;
  const behind = sorted.filter((place) => Math.sign((ranks[place] ?? 0) - rank) === by);
  return by === 1 ? (behind[0] ?? sorted[0]) : (behind.at(-1) ?? sorted.at(-1));
}
