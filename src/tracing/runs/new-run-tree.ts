import { uncountedLosses } from "../queue/ledger.ts";
import { startRun } from "./context.ts";
import type { StartOptions } from "./context.ts";
import { chooseClient } from "./default-client.ts";
import type { ClientChoice } from "./default-client.ts";
import type { HeadersLike } from "./propagation.ts";
import { noopRun, RunTree as RecordedRunTree } from "./run-tree.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** Options of `new RunTree()`. */
export interface NewRunOptions extends StartOptions {
  /**
   * The client that records the run, or a function that returns it.
   *
   * @defaultValue the current run's client, else the client set by `setDefaultClient`, else the program's first
   * open client, else a client that the environment configures. Without any of these, nothing is recorded.
   */
  readonly client?: ClientChoice | undefined;
}

/** Options of `RunTree.fromHeaders`. */
export type FromHeadersOptions = Pick<NewRunOptions, "client">;

/** The type of the constructor `RunTree`. */
export interface RunTreeConstructor {
  /** Starts a run as a child of `parent`, or of the current run by default, and records it at once. Never throws. */
  new (options?: NewRunOptions): RunTree;
  readonly prototype: RunTree;
  /**
   * Reads the parent run that another process sent in request headers. Returns `undefined` if the headers contain no
   * run or a malformed one. A malformed one is counted as a warning. `headers` is a `Headers`, a `Map`, Node's incoming
   * headers or a plain object. Children of the returned run belong to its trace and inherit its tags, metadata and
   * project.
   */
  fromHeaders(headers: HeadersLike, options?: FromHeadersOptions): RunTree | undefined;
}

/** A run and its position in the tree of its trace. */
export type RunTree = RecordedRunTree;

/**
 * A run and its position in the tree of its trace. `new RunTree()`, `client.startRun`, `run.startChild`, `traceable`
 * and `RunTree.fromHeaders` create one.
 */
export const RunTree: RunTreeConstructor = new Proxy(
  RecordedRunTree as unknown as RunTreeConstructor,
  {
    construct: (_, [options]: readonly unknown[]) => createRun(options),
    get: (target, key): unknown => (key === "fromHeaders" ? fromHeaders : Reflect.get(target, key)),
  },
);

function createRun(options: unknown): RecordedRunTree {
  try {
    // A JavaScript caller may pass anything.
    const runOptions = (
      typeof options === "object" && options !== null ? options : {}
    ) as NewRunOptions;
    const { client, ...startOptions } = runOptions;
    return startRun(chooseClient(client), startOptions);
  } catch {
    // The options can't be read, or the program called this when its stack was exhausted.
    localUncountedLosses.records += 1;
    return noopRun;
  }
}

function fromHeaders(
  headers: HeadersLike,
  { client }: FromHeadersOptions = {},
): RecordedRunTree | undefined {
  return RecordedRunTree.fromHeaders(headers, { client: chooseClient(client) });
}
