import { idLength } from "./trace-columns.ts";
import type { TraceColumns } from "./trace-columns.ts";

export const statusCodes = { success: 0, error: 1, pending: 2 } as const;
export type TraceStatus = keyof typeof statusCodes;
const statusNames: readonly TraceStatus[] = ["success", "error", "pending"];

/**
 * The runs of one trace as columns. A run is identified by its index, the same in every column. Times are
 * microseconds since {@link TraceModel.baseMicros}. A model is immutable: {@link startGrowth} returns a new one.
 */
export interface TraceModel {
  readonly count: number;
  /** Microseconds since the Unix epoch. */
  readonly baseMicros: number;
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly starts: Float64Array;
  /** NaN while the run has not ended. */
  readonly ends: Float64Array;
  readonly statuses: Uint8Array;
  /** The models that runs called, by run index. */
  readonly models: ReadonlyMap<number, string>;
  /** Tokens by run index; the costs and `firstTokens` have the same keys. */
  readonly tokens: ReadonlyMap<number, number>;
  readonly costs: ReadonlyMap<number, number>;
  readonly promptCosts: ReadonlyMap<number, number>;
  readonly completionCosts: ReadonlyMap<number, number>;
  readonly firstTokens: ReadonlyMap<number, number>;
  /** The index of each run's parent; -1 for a run at the top of the tree. */
  readonly parents: Int32Array;
  /** Run indexes in tree order: parents before children, siblings by start. */
  readonly order: Int32Array;
  readonly depths: Int32Array;
  /** The number of runs in each run's subtree, including the run itself. */
  readonly subtreeSizes: Int32Array;
  /** The position of each run in {@link TraceModel.order}. */
  readonly ranks: Int32Array;
  readonly indexById: ReadonlyMap<string, number>;
}

/** The columns of a trace as growable arrays. */
interface TraceDraft {
  baseMicros: number;
  readonly ids: string[];
  readonly parentIds: (string | undefined)[];
  readonly names: string[];
  readonly types: string[];
  readonly starts: number[];
  readonly ends: number[];
  readonly statuses: number[];
  readonly models: Map<number, string>;
  readonly tokens: Map<number, number>;
  readonly costs: Map<number, number>;
  readonly promptCosts: Map<number, number>;
  readonly completionCosts: Map<number, number>;
  readonly firstTokens: Map<number, number>;
  readonly indexById: Map<string, number>;
}

/** The draft from which each model was built. {@link startGrowth} extends a copy of it. */
const drafts = new WeakMap<TraceModel, TraceDraft>();

/** Collects the runs of further pages of a trace, each when it arrives. */
export interface TraceGrowth {
  /** The number of runs that the trace has with the added ones, some of which may be the same. */
  readonly runCount: number;
  add(page: TraceColumns): void;
  /**
   * Returns the trace with the added runs: new runs at the end, changed runs at their existing index. Returns the same
   * model if the pages contained no runs. The time it takes is proportional to the number of all runs of the trace.
   */
  build(): TraceModel;
}

/** Begins to grow a trace; `model` is absent for a new one. */
export function startGrowth(model?: TraceModel): TraceGrowth {
  let draft: TraceDraft | undefined;
  let runCount = model?.count ?? 0;
  return {
    get runCount() {
      return runCount;
    },
    add: (page) => {
      if (page.count > 0) {
        draft ??= copyDraft(model);
        addPage(draft, page);
        runCount += page.count;
      }
    },
    build: () => {
      if (draft === undefined && model !== undefined) {
        return model;
      }
      const builtDraft = draft ?? createDraft();
      const grownModel = buildModel(builtDraft);
      drafts.set(grownModel, builtDraft);
      return grownModel;
    },
  };
}

/** Adds the runs of further pages to a trace. */
export function growTrace(
  model: TraceModel | undefined,
  pages: readonly TraceColumns[],
): TraceModel {
  const growth = startGrowth(model);
  pages.forEach((page) => growth.add(page));
  return growth.build();
}

export const readStatus = (model: TraceModel, run: number): TraceStatus =>
  statusNames[model.statuses[run] ?? 0] ?? "success";

/**
 * Returns the end of a run's bar: `now` for a run that has not ended. If clock skew puts the end before the start, the
 * bar ends at the start.
 */
export function computeEnd({ starts, ends }: TraceModel, run: number, now: number): number {
  const start = starts[run] ?? 0;
  const end = ends[run] ?? Number.NaN;
  return Math.max(start, Number.isNaN(end) ? now : end);
}

/** Whether a run's end precedes its start, which clock skew can cause. */
export const isBackwards = ({ starts, ends }: TraceModel, run: number): boolean =>
  (ends[run] ?? Number.NaN) < (starts[run] ?? 0);

/** Whether any run is still running, so that the trace can change. */
export const isGrowing = ({ statuses }: TraceModel): boolean =>
  statuses.includes(statusCodes.pending);

const createDraft = (): TraceDraft => ({
  baseMicros: Number.NaN,
  ids: [],
  parentIds: [],
  names: [],
  types: [],
  starts: [],
  ends: [],
  statuses: [],
  models: new Map(),
  tokens: new Map(),
  costs: new Map(),
  promptCosts: new Map(),
  completionCosts: new Map(),
  firstTokens: new Map(),
  indexById: new Map(),
});

/** Returns a copy of the draft from which a model was built; a new draft without one. */
function copyDraft(model: TraceModel | undefined): TraceDraft {
  const draft = model === undefined ? undefined : drafts.get(model);
  return draft === undefined ? createDraft() : cloneDraft(draft);
}

const cloneDraft = (draft: TraceDraft): TraceDraft => ({
  baseMicros: draft.baseMicros,
  ids: draft.ids.slice(),
  parentIds: draft.parentIds.slice(),
  names: draft.names.slice(),
  types: draft.types.slice(),
  starts: draft.starts.slice(),
  ends: draft.ends.slice(),
  statuses: draft.statuses.slice(),
  models: new Map(draft.models),
  tokens: new Map(draft.tokens),
  costs: new Map(draft.costs),
  promptCosts: new Map(draft.promptCosts),
  completionCosts: new Map(draft.completionCosts),
  firstTokens: new Map(draft.firstTokens),
  indexById: new Map(draft.indexById),
});

function addPage(draft: TraceDraft, page: TraceColumns): void {
  if (Number.isNaN(draft.baseMicros)) {
    draft.baseMicros = page.baseMicros;
  }
  const shiftMicros = page.baseMicros - draft.baseMicros;
  const failedIndexes = new Set(page.errors);
  const allIds = page.ids + page.far;
  const readId = (index: number): string => allIds.slice(index * idLength, (index + 1) * idLength);
  for (let index = 0; index < page.count; index += 1) {
    const id = readId(index);
    const runIndex = draft.indexById.get(id) ?? draft.ids.length;
    const end = page.end[index] ?? null;
    const parent = page.parents[index] ?? -1;
    draft.indexById.set(id, runIndex);
    draft.ids[runIndex] = id;
    draft.parentIds[runIndex] = parent >= 0 ? readId(parent) : undefined;
    draft.names[runIndex] = page.names[page.name[index] ?? -1] ?? "";
    draft.types[runIndex] = page.types[page.type[index] ?? -1] ?? "";
    draft.starts[runIndex] = (page.start[index] ?? 0) + shiftMicros;
    draft.ends[runIndex] = end === null ? Number.NaN : end + shiftMicros;
    const statusWithoutError = end === null ? statusCodes.pending : statusCodes.success;
    draft.statuses[runIndex] = failedIndexes.has(index) ? statusCodes.error : statusWithoutError;
    setOrDelete(draft.models, runIndex, page.models[page.model[index] ?? -1]);
    setOrDelete(draft.tokens, runIndex, page.tokens[index]);
    setOrDelete(draft.costs, runIndex, page.cost[index]);
    setOrDelete(draft.promptCosts, runIndex, page.promptCost[index]);
    setOrDelete(draft.completionCosts, runIndex, page.completionCost[index]);
    const firstToken = page.firstToken[index];
    setOrDelete(
      draft.firstTokens,
      runIndex,
      firstToken === undefined ? undefined : firstToken + shiftMicros,
    );
  }
}

function setOrDelete<Value>(
  map: Map<number, Value>,
  runIndex: number,
  value: Value | undefined,
): void {
  if (value === undefined) {
    map.delete(runIndex);
  } else {
    map.set(runIndex, value);
  }
}

function buildModel(draft: TraceDraft): TraceModel {
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

/** Returns the run indexes sorted by start. The runs usually arrive in this order, and then need no sorting. */
function sortByStart(starts: readonly number[]): number[] {
  const runIndexes = starts.map((_, runIndex) => runIndex);
  const isSorted = starts.every(
    (start, runIndex) => runIndex === 0 || (starts[runIndex - 1] ?? 0) <= start,
  );
  return isSorted
    ? runIndexes
    : runIndexes.toSorted((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0) || a - b);
}

type Tree = Pick<TraceModel, "order" | "depths" | "subtreeSizes" | "ranks">;

function toTreeOrder(parents: Int32Array, starts: readonly number[]): Tree {
  const count = parents.length;
  const sortedRuns = sortByStart(starts);
  // The children of each run form a linked list in order of start. Each child is inserted at the head of the list,
  // so the runs are visited from the latest start to the earliest.
  const firstChild = new Int32Array(count).fill(-1);
  const nextSibling = new Int32Array(count).fill(-1);
  const topRuns: number[] = [];
  for (let index = count - 1; index >= 0; index -= 1) {
    const runIndex = sortedRuns[index] ?? 0;
    const parent = parents[runIndex] ?? -1;
    if (parent < 0) {
      topRuns.push(runIndex);
    } else {
      nextSibling[runIndex] = firstChild[parent] ?? -1;
      firstChild[parent] = runIndex;
    }
  }
  const tree: Tree = {
    order: new Int32Array(count),
    depths: new Int32Array(count),
    subtreeSizes: new Int32Array(count).fill(1),
    ranks: new Int32Array(count).fill(-1),
  };
  let rank = 0;
  // Not recursive: a chain of runs may be deeper than the call stack.
  const placeSubtree = (top: number): void => {
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
  for (let index = topRuns.length - 1; index >= 0; index -= 1) {
    placeSubtree(topRuns[index] ?? 0);
  }
  // Runs whose parents form a cycle are below no top run. The one that started first becomes a top run.
  sortedRuns.forEach((runIndex) =>
    tree.ranks[runIndex] === -1 ? placeSubtree(runIndex) : undefined,
  );
  for (let index = count - 1; index >= 0; index -= 1) {
    const runIndex = tree.order[index] ?? 0;
    const parent = parents[runIndex] ?? -1;
    if (parent >= 0) {
      tree.subtreeSizes[parent] =
        (tree.subtreeSizes[parent] ?? 1) + (tree.subtreeSizes[runIndex] ?? 1);
    }
  }
  return tree;
}
