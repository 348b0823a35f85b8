export { AsyncLocalStorageProviderSingleton, ROOT } from "../tracing/context.ts";
export type { ContextPlaceholder } from "../tracing/context.ts";
export { getCurrentRunTree, isTraceableFunction, withRunTree } from "../tracing/current-run.ts";
export type { TraceableFunction } from "../tracing/traceable-types.ts";
