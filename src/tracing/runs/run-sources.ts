import { RunTree } from "./run-tree.ts";

/** Returns the run that is current in another library's context, if it is known there. Must be synchronous. */
export type RunSource = () => RunTree | undefined;

const sources = new Set<RunSource>();

/**
 * Adds a place where the current run is found, for an integration with a library that has a context of its own: inside
 * work of that library, `currentRun()` is the run that the source returns, and new runs become its children. A run that was
 * made current by `withRun` inside that work takes precedence again. A source that throws counts as one without a run.
 *
 * @returns a function that removes the source; a second call of it has no effect
 */
export function addRunSource(source: RunSource): () => void {
  // A new function, so that a source that is added twice can be removed once.
  const added: RunSource = () => source();
  sources.add(added);
  return () => {
    sources.delete(added);
  };
}

/** For each store that `withRun` created inside a source's run: that run. */
const surroundingRuns = new WeakMap<object, RunTree>();

/** Remembers the source's run around a store, so that the store's run takes precedence over it. */
export function rememberSurroundingRun(store: unknown): void {
  if (sources.size > 0 && typeof store === "object" && store !== null) {
    const run = readSources();
    if (run !== undefined) {
      surroundingRuns.set(store, run);
    }
  }
}

/** Returns a source's run, if it was entered inside `run`, the run of `store`. Otherwise returns `run`. */
export function findInnermostRun(run: RunTree | undefined, store: unknown): RunTree | undefined {
  if (sources.size === 0) {
    return run;
  }
  const found = readSources();
  if (found === undefined || run === undefined) {
    return found ?? run;
  }
  const surrounding =
    typeof store === "object" && store !== null ? surroundingRuns.get(store) : undefined;
  return found !== surrounding && isBelow(found, run) ? found : run;
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
