import { startRun } from "./context.ts";
import type { StartOptions } from "./context.ts";
import { defaultClient } from "./default-client.ts";
import type { HeadersLike } from "./propagation.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { RunTree as RecordedRunTree } from "./run-tree.ts";
import { nobody, noopRun } from "./noop-run.ts";

/** What a run is made with by `new RunTree()`. */
export interface NewRunOptions extends StartOptions {
  /**
   * @defaultValue the current run's client, else that of `setDefaultClient`, else the program's first that is
   * open, else one that the environment configures; without any, nothing is recorded
   */
  readonly client?: TracingClient | undefined;
}

/** What a remote run is read with. */
export type FromHeadersOptions = Pick<NewRunOptions, "client">;

/** What `RunTree` is as a value. */
export interface RunTreeConstructor {
  /** Starts a run below its `parent`, else below the current run, and records it at once. Never throws. */
  new (options?: NewRunOptions): RunTree;
  readonly prototype: RunTree;
  /**
   * The run that another process sent along; `undefined` where the headers name none, or a malformed one, which is
   * counted as a warning. Takes a `Headers`, a `Map`, Node's incoming headers or any plain object. Runs started
   * below it belong to its trace and inherit its tags, metadata and project.
   */
  fromHeaders(headers: HeadersLike, options?: FromHeadersOptions): RunTree | undefined;
}

/** A run and its place in the tree. */
export type RunTree = RecordedRunTree;

/**
 * A run and its place in the tree: made by `new RunTree()`, `client.startRun`, `run.startChild`, `traceable`
 * and `RunTree.fromHeaders`.
 */
export const RunTree: RunTreeConstructor = new Proxy(
  RecordedRunTree as unknown as RunTreeConstructor,
  {
    construct: (_, [options]: readonly unknown[]) => newRun(options),
    get: (target, key): unknown => (key === "fromHeaders" ? fromHeaders : Reflect.get(target, key)),
  },
);

function newRun(options: unknown): RecordedRunTree {
  try {
    // A caller without types may pass anything.
    const given = (typeof options === "object" && options !== null ? options : {}) as NewRunOptions;
    const { client = defaultClient() ?? nobody, ...rest } = given;
    return startRun(client, rest);
  } catch {
    // Options that can't be looked at, or no stack: nothing is recorded of it, or below it.
    return noopRun;
  }
}

function fromHeaders(
  headers: HeadersLike,
  { client = defaultClient() ?? nobody }: FromHeadersOptions = {},
): RecordedRunTree | undefined {
  return RecordedRunTree.fromHeaders(headers, { client });
}
