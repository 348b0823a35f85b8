export { getCurrentRunTree, isTraceableFunction, ROOT, withRunTree } from "../tracing/context.ts";
export type { RunTreeLike, TraceableFunction } from "../tracing/traceable-types.ts";
export { traceable } from "../tracing/traceable.ts";
export type { ProcessInputs, ProcessOutputs, TraceableConfig } from "../tracing/traceable.ts";
