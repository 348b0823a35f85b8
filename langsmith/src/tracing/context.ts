import { AsyncLocalStorage } from "node:async_hooks";
import type { Any, AnyFunction } from "../any.ts";
import type { RunTree } from "./run-tree.ts";
import type { TraceableFunction } from "./traceable-types.ts";

/** The key on `globalThis` under which LangChain, langsmith and Millrace share their `AsyncLocalStorage`. */
const sharedStorageKey = Symbol.for("ls:tracing_async_local_storage");

/** The key of the variables that LangChain keeps in the context. */
export const contextVariablesKey: unique symbol = Symbol.for("lc:context_variables") as never;

/** What is in the context where no run is current. */
export interface ContextPlaceholder {
  [contextVariablesKey]?: Record<string, unknown>;
  tracingEnabled?: boolean;
}

/** What the context can hold. */
export type ContextStore = RunTree | ContextPlaceholder | undefined;

interface ContextStorage {
  getStore(): ContextStore;
  run<Result>(store: ContextStore, fn: () => Result): Result;
}

/** Gives access to the shared context. LangChain calls it. */
class StorageProvider {
  getInstance(): ContextStorage {
    return Reflect.get(globalThis, sharedStorageKey) as ContextStorage;
  }

  initializeGlobalInstance(storage: unknown): void {
    if (Reflect.get(globalThis, sharedStorageKey) === undefined) {
      Reflect.set(globalThis, sharedStorageKey, storage);
    }
  }
}

export const AsyncLocalStorageProviderSingleton = new StorageProvider();
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

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

/** Calls a function with a run as the current run. Resolves to what the function returns. */
export async function withRunTree<Fn extends AnyFunction>(
  runTree: RunTree,
  fn: Fn,
): Promise<Awaited<ReturnType<Fn>>> {
  const storage = AsyncLocalStorageProviderSingleton.getInstance();
  return (await storage.run(runTree, fn)) as Awaited<ReturnType<Fn>>;
}

/** As the first argument of a traced function: its run starts a trace of its own. */
export const ROOT: unique symbol = Symbol.for("langsmith:traceable:root") as never;

/** The property that marks a traced function. LangChain looks for it. */
export const traceableMark = "langsmith:traceable";

export const isTraceableFunction = (x: unknown): x is TraceableFunction<Any> =>
  typeof x === "function" && traceableMark in x;
