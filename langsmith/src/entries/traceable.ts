export { ROOT } from "../tracing/context.ts";
export { getCurrentRunTree, isTraceableFunction, withRunTree } from "../tracing/current-run.ts";
export type { RunTreeLike, TraceableFunction } from "../tracing/traceable-types.ts";
export { traceable } from "../tracing/traceable.ts";
export type { ProcessInputs, ProcessOutputs, TraceableConfig } from "../tracing/traceable.ts";
