import { idLength } from "./trace-columns.ts";
import type { TraceColumns } from "./trace-columns.ts";

export const statusCodes = { success: 0, error: 1, pending: 2 } as const;
export type TraceStatus = keyof typeof statusCodes;
const statusNames: readonly TraceStatus[] = ["success", "error", "pending"];

/**
 * The runs of one trace as columns. A run is identified by its index, the same in every column. Times are
 * microseconds since {@link TraceModel.baseMicros}. A model is immutable: {@link TraceBuilder} builds a new one.
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
  /** Number of tokens by run index. The costs and `firstTokens` are also keyed by run index. */
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
  /** The index of each run's parent; -1 if it has none, or if its parent is one of `farParents`. */
  readonly parentIndexes: number[];
  /** The ids of parents by run index, for runs whose parent is on another page. */
  readonly farParents: Map<number, string>;
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

/** The draft from which each model was built. {@link createTraceBuilder} extends a copy of it. */
const drafts = new WeakMap<TraceModel, TraceDraft>();

/** Adds the runs of arriving pages to a trace. */
export interface TraceBuilder {
  /** The number of runs of the existing trace plus the number of added runs. A changed run counts twice. */
  readonly runCount: number;
  add(page: TraceColumns): void;
  /**
   * Returns the trace with the added runs: new runs at the end, changed runs at their existing index. Returns the same
   * model if the pages contained no runs. The time that this takes is proportional to the number of all runs of the
   * trace.
   */
  build(): TraceModel;
}

/** Creates a builder that adds runs to `model`, or to a new trace if `model` is `undefined`. */
export function createTraceBuilder(model?: TraceModel): TraceBuilder {
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

/** Returns a trace to which the runs of more pages are added. */
export function growTrace(
  model: TraceModel | undefined,
  pages: readonly TraceColumns[],
): TraceModel {
  const builder = createTraceBuilder(model);
  pages.forEach((page) => builder.add(page));
  return builder.build();
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
  parentIndexes: [],
  farParents: new Map(),
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

/** Returns a copy of the draft from which a model was built; an empty draft if there is none. */
function copyDraft(model: TraceModel | undefined): TraceDraft {
  const draft = model === undefined ? undefined : drafts.get(model);
  return draft === undefined ? createDraft() : cloneDraft(draft);
}

const cloneDraft = (draft: TraceDraft): TraceDraft => ({
  baseMicros: draft.baseMicros,
  ids: draft.ids.slice(),
  parentIndexes: draft.parentIndexes.slice(),
  farParents: new Map(draft.farParents),
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
  const runIndexes = addRuns(draft, page, shiftMicros);
  setParents(draft, page, runIndexes);
  for (const index of page.errors) {
    setAt(draft.statuses, runIndexes[index], statusCodes.error);
  }
  const models = convertSparse(page.model, (index) => page.models[index]);
  setSparse(draft.models, runIndexes, models);
  setSparse(draft.tokens, runIndexes, page.tokens);
  setSparse(draft.costs, runIndexes, page.cost);
  setSparse(draft.promptCosts, runIndexes, page.promptCost);
  setSparse(draft.completionCosts, runIndexes, page.completionCost);
  const firstTokens = convertSparse(page.firstToken, (time) => time + shiftMicros);
  setSparse(draft.firstTokens, runIndexes, firstTokens);
}

/** Adds the columns that every run has. Returns the index in the draft of each run of the page. */
function addRuns(draft: TraceDraft, page: TraceColumns, shiftMicros: number): Int32Array {
  const runIndexes = new Int32Array(page.count);
  const knownCount = draft.ids.length;
  for (let index = 0; index < page.count; index += 1) {
    const id = page.ids.slice(index * idLength, (index + 1) * idLength);
    const knownIndex = draft.indexById.get(id);
    const runIndex = knownIndex ?? draft.ids.length;
    runIndexes[index] = runIndex;
    if (knownIndex === undefined) {
      draft.indexById.set(id, runIndex);
      draft.ids.push(id);
    } else if (knownIndex < knownCount) {
      clearSparse(draft, knownIndex);
    }
    const end = page.end[index] ?? null;
    draft.names[runIndex] = page.names[page.name[index] ?? -1] ?? "";
    draft.types[runIndex] = page.types[page.type[index] ?? -1] ?? "";
    draft.starts[runIndex] = (page.start[index] ?? 0) + shiftMicros;
    draft.ends[runIndex] = end === null ? Number.NaN : end + shiftMicros;
    draft.statuses[runIndex] = end === null ? statusCodes.pending : statusCodes.success;
  }
  return runIndexes;
}

/**
 * Sets the parents of a page's runs. Most parents are on the same page, where the index identifies them without a
 * lookup by id.
 */
function setParents(draft: TraceDraft, page: TraceColumns, runIndexes: Int32Array): void {
  for (let index = 0; index < page.count; index += 1) {
    const runIndex = runIndexes[index] ?? 0;
    const parent = page.parents[index] ?? -1;
    const farIndex = parent - page.count;
    draft.parentIndexes[runIndex] = parent >= 0 && farIndex < 0 ? (runIndexes[parent] ?? -1) : -1;
    if (farIndex >= 0) {
      draft.farParents.set(
        runIndex,
        page.far.slice(farIndex * idLength, (farIndex + 1) * idLength),
      );
    }
  }
}

/**
 * Removes the values of a changed run from the columns in which few runs have a value. The page contains the current
 * values.
 */
function clearSparse(draft: TraceDraft, runIndex: number): void {
  draft.farParents.delete(runIndex);
  for (const column of [
    draft.models,
    draft.tokens,
    draft.costs,
    draft.promptCosts,
    draft.completionCosts,
    draft.firstTokens,
  ]) {
    column.delete(runIndex);
  }
}

/**
 * Copies the values of a page to a column. The time that this takes is proportional to the number of these values, not
 * to the number of all runs.
 */
function setSparse<Value>(
  column: Map<number, Value>,
  runIndexes: Int32Array,
  values: Readonly<Record<number, Value | undefined>>,
): void {
  for (const [index, value] of Object.entries(values)) {
    const runIndex = runIndexes[Number(index)];
    if (runIndex !== undefined && value !== undefined) {
      column.set(runIndex, value);
    }
  }
}

/** Converts each value of a column. */
const convertSparse = <Value>(
  values: Readonly<Record<number, number>>,
  convert: (value: number) => Value,
): Readonly<Record<number, Value>> =>
  Object.fromEntries(Object.entries(values).map(([index, value]) => [index, convert(value)]));

function setAt(column: number[], index: number | undefined, value: number): void {
  if (index !== undefined) {
    column[index] = value;
  }
}

function buildModel(draft: TraceDraft): TraceModel {
  const count = draft.ids.length;
  const parents = Int32Array.from(draft.parentIndexes);
  draft.farParents.forEach((parentId, runIndex) => {
    parents[runIndex] = draft.indexById.get(parentId) ?? -1;
  });
  parents.forEach((parent, runIndex) => {
    if (parent === runIndex) {
      parents[runIndex] = -1;
    }
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

/** Returns the run indexes sorted by start. The runs usually arrive in this order, so that no sorting is needed. */
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
  // The children of each run form a linked list that begins with the latest child, because each child is inserted at
  // its head. The stack below reverses this order.
  const latestChild = new Int32Array(count).fill(-1);
  const earlierSibling = new Int32Array(count).fill(-1);
  const topRuns: number[] = [];
  for (const runIndex of sortedRuns) {
    const parent = parents[runIndex] ?? -1;
    if (parent < 0) {
      topRuns.push(runIndex);
    } else {
      earlierSibling[runIndex] = latestChild[parent] ?? -1;
      latestChild[parent] = runIndex;
    }
  }
  const tree: Tree = {
    order: new Int32Array(count),
    depths: new Int32Array(count),
    subtreeSizes: new Int32Array(count).fill(1),
    ranks: new Int32Array(count).fill(-1),
  };
  let rank = 0;
  // Use a loop instead of recursion, because a chain of runs may be deeper than the call stack.
  const placeSubtree = (top: number): void => {
    const stack = [top];
    parents[top] = -1;
    for (let runIndex = stack.pop(); runIndex !== undefined; runIndex = stack.pop()) {
      tree.order[rank] = runIndex;
      tree.ranks[runIndex] = rank;
      rank += 1;
      const parent = parents[runIndex] ?? -1;
      tree.depths[runIndex] = parent < 0 ? 0 : (tree.depths[parent] ?? 0) + 1;
      for (
        let child = latestChild[runIndex] ?? -1;
        child >= 0;
        child = earlierSibling[child] ?? -1
      ) {
        if (tree.ranks[child] === -1) {
          stack.push(child);
        }
      }
    }
  };
  topRuns.forEach(placeSubtree);
  // Runs whose parents form a cycle are not below any top run. In each cycle, make the run that started first a top
  // run.
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
