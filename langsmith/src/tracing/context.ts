import { AsyncLocalStorage } from "node:async_hooks";

/** The key on `globalThis` under which LangChain, langsmith and Millrace share their `AsyncLocalStorage`. */
const sharedStorageKey = Symbol.for("ls:tracing_async_local_storage");

/** The key of the variables that LangChain keeps in the context. */
export const contextVariablesKey: unique symbol = Symbol.for("lc:context_variables") as never;

/** What the context holds if there is no current run. */
export interface ContextPlaceholder {
  [contextVariablesKey]?: Record<string, unknown>;
  tracingEnabled?: boolean;
}

/** The shared context. It holds a run, a {@link ContextPlaceholder} or nothing. */
interface ContextStorage {
  getStore(): unknown;
  run<Result>(store: unknown, fn: () => Result): Result;
}

/** Gives access to the shared context. LangChain calls its methods. */
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

/** The access to the shared context. LangChain imports it by this name. */
export const AsyncLocalStorageProviderSingleton = new StorageProvider();
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

/** If this is the first argument of a traced function, its run starts a new trace. */
export const ROOT: unique symbol = Symbol.for("langsmith:traceable:root") as never;

/** The property that marks a traced function. LangChain reads it. */
export const traceableMark = "langsmith:traceable";
