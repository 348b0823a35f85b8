import type { AsyncLocalStorage } from "node:async_hooks";
import { currentRun, RunTree, withRun } from "../../main/index.ts";

/**
 * The key on `globalThis` of the `AsyncLocalStorage` that LangChain, langsmith and Millrace share. It holds run trees.
 */
const sharedStorageKey = Symbol.for("ls:tracing_async_local_storage");
/** The key under which a run tree that represents a Millrace run holds that run. */
const runKey = Symbol.for("millrace.run");

/**
 * A run as langsmith represents it. LangChain expects this interface of the object in the shared storage, and of the
 * runs that a tracer returns.
 */
export interface LangsmithRunTree {
  readonly id: string;
  readonly extra: Readonly<Record<PropertyKey, unknown>>;
  inputs: unknown;
  createChild(config: object): LangsmithRunTree;
  addEvent(event: object): void;
  end(outputs?: unknown, error?: unknown): Promise<void>;
  /**
   * Records the start of a run that langsmith created, or the whole run if it has ended. Does nothing for a run that
   * Millrace created, because Millrace records it anyway.
   */
  postRun(): Promise<void>;
  /** Records the end of a run that langsmith created. Does nothing for a run that Millrace created. */
  patchRun(): Promise<void>;
}

/**
 * Returns the run tree that represents `run` in the shared storage.
 *
 * @throws TypeError if `run` is not a run.
 */
export function toRunTree(run: RunTree): LangsmithRunTree {
  // This call creates the shared storage if it does not exist.
  currentRun();
  const storage = Reflect.get(globalThis, sharedStorageKey) as AsyncLocalStorage<unknown>;
  // The tree is created outside of any run, because it would otherwise inherit the values that LangChain added to the
  // current run tree.
  const tree = storage.run(undefined, () => withRun(run, () => storage.getStore()));
  if (tree === undefined) {
    throw new TypeError(
      "toRunnableConfig needs a run, such as the one that client.startRun returns; it got another value.",
    );
  }
  return tree as LangsmithRunTree;
}

/** Returns the Millrace run that a run tree represents; `undefined` for a run tree of another library. */
export function toRun(tree: unknown): RunTree | undefined {
  if (typeof tree !== "object" || tree === null) {
    return undefined;
  }
  const run: unknown = Reflect.get(tree, runKey);
  // A copy of a run tree refers to the original's run, but may have another id and represent a different run.
  return run instanceof RunTree && Reflect.get(tree, "id") === run.id ? run : undefined;
}
