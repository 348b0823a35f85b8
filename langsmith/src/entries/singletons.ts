export {
  AsyncLocalStorageProviderSingleton,
  getCurrentRunTree,
  isTraceableFunction,
  ROOT,
  withRunTree,
} from "../tracing/context.ts";
export type { ContextPlaceholder } from "../tracing/context.ts";
export type { TraceableFunction } from "../tracing/traceable-types.ts";
