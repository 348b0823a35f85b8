import { RunTree } from "./run-tree.ts";

/** Returns the run that is current in another library's context, if it is known there. Must be synchronous. */
export type RunSource = () => RunTree | undefined;

const sources = new Set<RunSource>();

/**
 * Adds a function that finds the current run, for an integration with a library that has a context of its own. Inside
 * work of that library, `currentRun()` is the run that the source returns, and new runs become its children. A run that
 * was made current by `withRun` inside that work takes precedence again. A source that throws counts as one without a
 * run.
 *
 * @returns a function that removes the source; a second call of it has no effect
 */
export function addRunSource(source: RunSource): () => void {
  // A new function, so that a source that is added twice can be removed once.
  const registeredSource: RunSource = () => source();
  sources.add(registeredSource);
  return () => {
    sources.delete(registeredSource);
  };
}

/**
 * Keys are context stores (values in the `AsyncLocalStorage`) that `withRun` created inside a run of a source. The
 * value is the run of the source.
 */
const surroundingRuns = new WeakMap<object, RunTree>();

/**
 * Remembers which run the sources report when a context store is created. The run that the store represents is nested
 * in the remembered run, so {@link findInnermostRun} prefers the store's run.
 */
export function rememberSurroundingRun(store: unknown): void {
  if (sources.size > 0 && typeof store === "object" && store !== null) {
    const run = readSources();
    if (run !== undefined) {
      surroundingRuns.set(store, run);
    }
  }
}

/**
 * Returns the current run. `run` is the run that the context store `store` represents. The run of a source takes
 * precedence if there is no `run`, or if the source's run was entered inside `run`.
 */
export function findInnermostRun(run: RunTree | undefined, store: unknown): RunTree | undefined {
  if (sources.size === 0) {
    return run;
  }
  const sourceRun = readSources();
  if (sourceRun === undefined || run === undefined) {
    return sourceRun ?? run;
  }
  const surrounding =
    typeof store === "object" && store !== null ? surroundingRuns.get(store) : undefined;
  return sourceRun !== surrounding && isBelow(sourceRun, run) ? sourceRun : run;
}

const isBelow = (run: RunTree, ancestor: RunTree): boolean =>
  run.traceId === ancestor.traceId && run.dottedOrder.startsWith(`${ancestor.dottedOrder}.`);

/** Returns the run of the first source that has one. */
function readSources(): RunTree | undefined {
  for (const source of sources) {
    try {
      const run: unknown = source();
      if (run instanceof RunTree) {
        return run;
      }
    } catch {
      // The current run is then that of the other sources or of `withRun`.
    }
  }
  return undefined;
}
