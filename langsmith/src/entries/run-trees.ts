export { convertToDottedOrderFormat, isRunTree, RunTree } from "../tracing/run-tree.ts";
export type { RunEvent, RunTreeConfig, WriteReplica } from "../tracing/run-tree.ts";
export { isRunnableConfigLike } from "../tracing/runnable-config.ts";
export type { RunnableConfigLike } from "../tracing/runnable-config.ts";
