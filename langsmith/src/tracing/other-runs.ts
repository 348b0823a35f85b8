import { AsyncLocalStorageProviderSingleton } from "./context.ts";
import { isRunTree } from "./run-tree.ts";

/** Run trees below which runs were recorded that are not run trees of this package, such as those of model calls. */
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

/** Whether {@link rememberOtherRun} was called below a run tree. */
export const hasOtherRuns = (run: object): boolean => withOtherRuns.has(run);
