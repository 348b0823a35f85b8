import { AsyncLocalStorageProviderSingleton } from "./context.ts";
import { isRunTree } from "./run-tree.ts";

/** Run trees with descendants that were recorded without a run tree of this package, such as model calls. */
const withOtherRuns = new WeakSet<object>();

/** Remembers that a run is about to be recorded below the current run without a run tree. */
export function rememberOtherRun(): void {
  let run: unknown = AsyncLocalStorageProviderSingleton.getInstance().getStore();
  // The loop ends at the root. A chain of parents can't be endless, because a parent exists before its children.
  while (isRunTree(run)) {
    withOtherRuns.add(run);
    run = run.parent_run;
  }
}

/** Whether a run without a run tree was recorded below this run tree; see {@link rememberOtherRun}. */
export const hasOtherRuns = (run: object): boolean => withOtherRuns.has(run);
