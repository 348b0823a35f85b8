import { idLength } from "./trace-columns.ts";
import type { TraceColumns } from "./trace-columns.ts";

export const statusCodes = { success: 0, error: 1, pending: 2 } as const;
export type TraceStatus = keyof typeof statusCodes;
const statusNames: readonly TraceStatus[] = ["success", "error", "pending"];

/**
 * The runs of one trace as columns; a run is its place in them. Times are microseconds from
 * {@link baseMicros}. Never changed once made: {@link grow} makes the next one.
 */
export interface TraceModel {
  readonly count: number;
  readonly baseMicros: number;
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly starts: Float64Array;
  /** NaN while the run is open. */
  readonly ends: Float64Array;
  readonly statuses: Uint8Array;
  readonly tokens: ReadonlyMap<number, number>;
  readonly costs: ReadonlyMap<number, number>;
  readonly firstTokens: ReadonlyMap<number, number>;
  /** -1: it stands at the top. */
  readonly parents: Int32Array;
  /** Places in the order of the tree: parents before children, siblings by their start. */
  readonly order: Int32Array;
  readonly depths: Int32Array;
  /** How many runs stand below a run, itself included. */
  readonly sizes: Int32Array;
  /** Where a run stands in {@link order}. */
  readonly ranks: Int32Array;
  readonly indexById: ReadonlyMap<string, number>;
}

interface Draft {
  baseMicros: number;
  readonly ids: string[];
  readonly parentIds: (string | undefined)[];
  readonly names: string[];
  readonly types: string[];
  readonly starts: number[];
  readonly ends: number[];
  readonly statuses: number[];
  readonly tokens: Map<number, number>;
  readonly costs: Map<number, number>;
  readonly firstTokens: Map<number, number>;
  readonly indexById: Map<string, number>;
}

/** What a model is made of, kept to grow it. */
const drafts = new WeakMap<TraceModel, Draft>();

/**
 * A trace with the runs of more pages: new ones at the end, known ones as they are now. O(n) in the
 * whole trace, and the same model where nothing came.
 */
export function growTrace(
  model: TraceModel | undefined,
  pages: readonly TraceColumns[],
): TraceModel {
  const known = model === undefined ? undefined : drafts.get(model);
  if (model !== undefined && pages.every(({ count }) => count === 0)) {
    return model;
  }
  const draft = known === undefined ? emptyDraft() : copyDraft(known);
  pages.filter(({ count }) => count > 0).forEach((page) => addPage(draft, page));
  const grown = layOut(draft);
  drafts.set(grown, draft);
  return grown;
}

export const statusOf = (model: TraceModel, run: number): TraceStatus =>
  statusNames[model.statuses[run] ?? 0] ?? "success";

/** Where a run's bar ends: an open one's at `now`; never before its start, whatever the clocks said. */
export function endOf({ starts, ends }: TraceModel, run: number, now: number): number {
  const start = starts[run] ?? 0;
  const end = ends[run] ?? Number.NaN;
  return Math.max(start, Number.isNaN(end) ? now : end);
}

/** Whether a run ended before it began. */
export const isBackwards = ({ starts, ends }: TraceModel, run: number): boolean =>
  (ends[run] ?? Number.NaN) < (starts[run] ?? 0);

/** Whether any run is open. */
export const isGrowing = ({ statuses }: TraceModel): boolean =>
  statuses.includes(statusCodes.pending);

const emptyDraft = (): Draft => ({
  baseMicros: Number.NaN,
  ids: [],
  parentIds: [],
  names: [],
  types: [],
  starts: [],
  ends: [],
  statuses: [],
  tokens: new Map(),
  costs: new Map(),
  firstTokens: new Map(),
  indexById: new Map(),
});

const copyDraft = (draft: Draft): Draft => ({
  baseMicros: draft.baseMicros,
  ids: draft.ids.slice(),
  parentIds: draft.parentIds.slice(),
  names: draft.names.slice(),
  types: draft.types.slice(),
  starts: draft.starts.slice(),
  ends: draft.ends.slice(),
  statuses: draft.statuses.slice(),
  tokens: new Map(draft.tokens),
  costs: new Map(draft.costs),
  firstTokens: new Map(draft.firstTokens),
  indexById: new Map(draft.indexById),
});

function addPage(draft: Draft, page: TraceColumns): void {
  if (Number.isNaN(draft.baseMicros)) {
    draft.baseMicros = page.baseMicros;
  }
  const shift = page.baseMicros - draft.baseMicros;
  const errors = new Set(page.errors);
  const known = page.ids + page.far;
  const idAt = (index: number): string => known.slice(index * idLength, (index + 1) * idLength);
  for (let index = 0; index < page.count; index += 1) {
    const id = idAt(index);
    const runIndex = draft.indexById.get(id) ?? draft.ids.length;
    const end = page.end[index] ?? null;
    const parent = page.parents[index] ?? -1;
    draft.indexById.set(id, runIndex);
    draft.ids[runIndex] = id;
    draft.parentIds[runIndex] = parent >= 0 ? idAt(parent) : undefined;
    draft.names[runIndex] = page.names[page.name[index] ?? -1] ?? "";
    draft.types[runIndex] = page.types[page.type[index] ?? -1] ?? "";
    draft.starts[runIndex] = (page.start[index] ?? 0) + shift;
    draft.ends[runIndex] = end === null ? Number.NaN : end + shift;
    const open = end === null ? statusCodes.pending : statusCodes.success;
    draft.statuses[runIndex] = errors.has(index) ? statusCodes.error : open;
    setOrDelete(draft.tokens, runIndex, page.tokens[index]);
    setOrDelete(draft.costs, runIndex, page.cost[index]);
    const firstToken = page.firstToken[index];
    setOrDelete(
      draft.firstTokens,
      runIndex,
      firstToken === undefined ? undefined : firstToken + shift,
    );
  }
}

function setOrDelete(map: Map<number, number>, runIndex: number, value: number | undefined): void {
  if (value === undefined) {
    map.delete(runIndex);
  } else {
    map.set(runIndex, value);
  }
}

function layOut(draft: Draft): TraceModel {
  const count = draft.ids.length;
  const parents = new Int32Array(count).fill(-1);
  draft.parentIds.forEach((parentId, runIndex) => {
    const parent = parentId === undefined ? undefined : draft.indexById.get(parentId);
    parents[runIndex] = parent === undefined || parent === runIndex ? -1 : parent;
  });
  return {
    ...draft,
    count,
    starts: Float64Array.from(draft.starts),
    ends: Float64Array.from(draft.ends),
    statuses: Uint8Array.from(draft.statuses),
    parents,
    ...toTreeOrder(parents, draft.starts),
  };
}

/** Places in the order of their starts; a trace mostly comes in it, and then this is O(n). */
function byStart(starts: readonly number[]): number[] {
  const runIndexes = starts.map((_, runIndex) => runIndex);
  const isSorted = starts.every(
    (start, runIndex) => runIndex === 0 || (starts[runIndex - 1] ?? 0) <= start,
  );
  return isSorted
    ? runIndexes
    : runIndexes.toSorted((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0) || a - b);
}

type Tree = Pick<TraceModel, "order" | "depths" | "sizes" | "ranks">;

function toTreeOrder(parents: Int32Array, starts: readonly number[]): Tree {
  const count = parents.length;
  const sorted = byStart(starts);
  // Children as linked lists: built backwards, so that the first to start comes first.
  const firstChild = new Int32Array(count).fill(-1);
  const nextSibling = new Int32Array(count).fill(-1);
  const tops: number[] = [];
  for (let index = count - 1; index >= 0; index -= 1) {
    const runIndex = sorted[index] ?? 0;
    const parent = parents[runIndex] ?? -1;
    if (parent < 0) {
      tops.push(runIndex);
    } else {
      nextSibling[runIndex] = firstChild[parent] ?? -1;
      firstChild[parent] = runIndex;
    }
  }
  const tree: Tree = {
    order: new Int32Array(count),
    depths: new Int32Array(count),
    sizes: new Int32Array(count).fill(1),
    ranks: new Int32Array(count).fill(-1),
  };
  let rank = 0;
  // A stack of its own: a chain of runs may be deeper than the call stack.
  const visit = (top: number): void => {
    const stack = [top];
    parents[top] = -1;
    for (let runIndex = stack.pop(); runIndex !== undefined; runIndex = stack.pop()) {
      tree.order[rank] = runIndex;
      tree.ranks[runIndex] = rank;
      rank += 1;
      const parent = parents[runIndex] ?? -1;
      tree.depths[runIndex] = parent < 0 ? 0 : (tree.depths[parent] ?? 0) + 1;
      const children: number[] = [];
      for (let child = firstChild[runIndex] ?? -1; child >= 0; child = nextSibling[child] ?? -1) {
        if (tree.ranks[child] === -1) {
          children.push(child);
        }
      }
      for (let index = children.length - 1; index >= 0; index -= 1) {
        stack.push(children[index] ?? 0);
      }
    }
  };
  for (let index = tops.length - 1; index >= 0; index -= 1) {
    visit(tops[index] ?? 0);
  }
  // Runs that are one another's parents are below no top: the first of them to start becomes one.
  sorted.forEach((runIndex) => (tree.ranks[runIndex] === -1 ? visit(runIndex) : undefined));
  for (let index = count - 1; index >= 0; index -= 1) {
    const runIndex = tree.order[index] ?? 0;
    const parent = parents[runIndex] ?? -1;
    if (parent >= 0) {
      tree.sizes[parent] = (tree.sizes[parent] ?? 1) + (tree.sizes[runIndex] ?? 1);
    }
  }
  return tree;
}
