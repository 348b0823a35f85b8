import type { Any, AnyFunction } from "../any.ts";
import { AsyncLocalStorageProviderSingleton, traceableMark } from "./context.ts";
import type { RunTree } from "./run-tree.ts";
import type { TraceableFunction } from "./traceable-types.ts";

/**
 * Returns the current run inside a traced function.
 *
 * @throws Error if there is none and `permitAbsentRunTree` is not true.
 */
export function getCurrentRunTree(): RunTree;
export function getCurrentRunTree(permitAbsentRunTree: false): RunTree;
export function getCurrentRunTree(permitAbsentRunTree: boolean): RunTree | undefined;
export function getCurrentRunTree(permitAbsentRunTree = false): RunTree | undefined {
  const runTree = AsyncLocalStorageProviderSingleton.getInstance().getStore();
  if (!permitAbsentRunTree && runTree === undefined) {
    throw new Error(
      "There is no current run. Call getCurrentRunTree inside a function that traceable wraps, with LANGSMITH_TRACING=true, or pass true to get undefined instead.",
    );
  }
  return runTree as RunTree | undefined;
}

/** Calls a function with a run as the current run. The promise resolves to the result of the function. */
export async function withRunTree<Fn extends AnyFunction>(
  runTree: RunTree,
  fn: Fn,
): Promise<Awaited<ReturnType<Fn>>> {
  const storage = AsyncLocalStorageProviderSingleton.getInstance();
  const returned: unknown = await storage.run(runTree, () => fn() as unknown);
  return returned as Awaited<ReturnType<Fn>>;
}

/** Whether a value is a function that `traceable` returned. */
export const isTraceableFunction = (x: unknown): x is TraceableFunction<Any> =>
  typeof x === "function" && traceableMark in x;
