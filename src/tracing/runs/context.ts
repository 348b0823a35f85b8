import { AsyncLocalStorage } from "node:async_hooks";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { LangsmithBridge } from "./langsmith-bridge.ts";
import { toParentRun, runOf } from "./foreign-run.ts";
import { findClient } from "./open-clients.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { runOptionNames } from "./run-options.ts";
import type { RunOptions } from "./run-options.ts";
import { findInnermostRun, rememberSurroundingRun } from "./run-sources.ts";
import { RunTree } from "./run-tree.ts";
import { uncountedLosses } from "../queue/ledger.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** Options of `client.startRun`: those of the run, and its parent. */
export interface StartOptions extends RunOptions {
  /**
   * The parent run; `null` starts a new trace.
   *
   * @defaultValue the current run, or a new trace if there is no current run
   */
  readonly parent?: RunTree | null | undefined;
}

/** The key on `globalThis` under which LangChain and its tracing library share their `AsyncLocalStorage`. */
const sharedStorageKey = Symbol.for("ls:tracing_async_local_storage");

/** Returns the current run, which may be a run that LangChain started; `undefined` outside of any run. */
export function currentRun(): RunTree | undefined {
  return findCurrentRun(undefined);
}

/**
 * Returns the same run as {@link currentRun}. If another library started it without a Millrace client, the returned run
 * belongs to `client`.
 */
function findCurrentRun(client: TracingClient | undefined): RunTree | undefined {
  const store = findSharedStorage().getStore();
  return findInnermostRun(findRun(store, client), store);
}

/**
 * Calls `fn` with `run` as the current run, also for everything that `fn` calls and awaits, and returns the result of
 * `fn`. It does not end the run.
 */
export function withRun<Result>(run: RunTree, fn: () => Result): Result {
  let isEntered = false;
  const callInContext = (): Result => {
    isEntered = true;
    isStorageEnabled = true;
    return fn();
  };
  try {
    if (mayBeHalfEnabled) {
      // Disable the storage first. Otherwise Node regards it as enabled and does not complete the interrupted steps.
      defaultStorage.disable();
      mayBeHalfEnabled = false;
    }
    const storage = findSharedStorage();
    return storage.run(createStore(run, storage.getStore()), callInContext);
  } catch (error) {
    if (isEntered) {
      throw error;
    }
    // The program's stack was exhausted, so `run` did not become the current run. `fn` is still called below.
    localUncountedLosses.details += 1;
    mayBeHalfEnabled = !isStorageEnabled;
  }
  return fn();
}

/** Whether a run was made current before. The first time, Node enables the `AsyncLocalStorage`, in several steps. */
let isStorageEnabled = false;
/** Whether an exhausted stack may have interrupted Node while it enabled the `AsyncLocalStorage`. */
let mayBeHalfEnabled = false;

/** Captures the caller's context. The returned function calls a callback in that context, wherever it is called. */
export function captureContext(): <Result>(fn: () => Result) => Result {
  const storage = findSharedStorage();
  const store = storage.getStore();
  return (fn) => storage.run(store, fn);
}

/**
 * Starts a run and records it. Its parent is the option `parent` or, without that option, the current run. Warns about
 * unknown options.
 */
export function startRun(client: TracingClient, options: StartOptions = {}): RunTree {
  warnOfUnknown(options, startOptionNames, client[recorder]);
  return startWithCheckedOptions(client, options);
}

const startOptionNames: KeyTable<StartOptions> = { ...runOptionNames, parent: 1 };

/**
 * Starts a run as {@link startRun} does, with options that were already checked for unknown names.
 *
 * @param isRecorded whether the start is recorded here; otherwise the caller records it
 */
export function startWithCheckedOptions(
  client: TracingClient,
  options: StartOptions,
  isRecorded = true,
): RunTree {
  // A JavaScript caller may pass null. Recording must not throw for it.
  const untypedOptions: unknown = options;
  const safeOptions = typeof untypedOptions === "object" && untypedOptions !== null ? options : {};
  const parent = chooseParent(client, safeOptions);
  return RunTree.start({ client, parent, recorded: isRecorded }, safeOptions);
}

function chooseParent(client: TracingClient, options: StartOptions): RunTree | undefined {
  let parent: unknown;
  try {
    ({ parent } = options);
    if (parent instanceof RunTree) {
      return parent;
    }
  } catch {
    // A getter or a proxy threw. The options are treated as if they had no `parent`.
  }
  return parent === null ? undefined : findCurrentRun(client);
}

/**
 * Returns the run that a store (the value in an `AsyncLocalStorage`) represents. If another library started the run,
 * only that library records it.
 */
function findRun(store: unknown, client: TracingClient | undefined): RunTree | undefined {
  if (store === undefined) {
    return undefined;
  }
  try {
    return runOf(store) ?? toParentRun(store, client ?? findClient());
  } catch {
    // A store that can't be read is ignored. The new run becomes the root of a new trace.
    return undefined;
  }
}

/** Creates the context store for a run. It keeps the entries that LangChain added to the surrounding store. */
function createStore(run: RunTree, outerStore: unknown): unknown {
  if (!(run instanceof RunTree)) {
    return outerStore;
  }
  let store: LangsmithBridge;
  try {
    store = new LangsmithBridge(run, { outer: outerStore });
  } catch {
    // LangChain's entries in the surrounding store can't be read, so the new store does not contain them.
    store = new LangsmithBridge(run, {});
  }
  rememberSurroundingRun(store);
  return store;
}

/**
 * Returns the storage that all tracing libraries of the process share, no matter which of them created it. If there is
 * none, `defaultStorage` becomes the shared one. The shared storage is never replaced, so it is looked up only once.
 */
function findSharedStorage(): AsyncLocalStorage<unknown> {
  sharedStorage ??= lookUpSharedStorage();
  return sharedStorage ?? defaultStorage;
}

let sharedStorage: AsyncLocalStorage<unknown> | undefined;

/**
 * Returns the storage that is shared under `sharedStorageKey`, and shares `defaultStorage` there if there is none.
 * Returns `undefined` if the key holds a value that is not an `AsyncLocalStorage`.
 */
function lookUpSharedStorage(): AsyncLocalStorage<unknown> | undefined {
  const storage: unknown = Reflect.get(globalThis, sharedStorageKey);
  if (storage === undefined) {
    Reflect.set(globalThis, sharedStorageKey, defaultStorage);
    return defaultStorage;
  }
  return isStorage(storage) ? storage : undefined;
}

const defaultStorage = new AsyncLocalStorage<unknown>();

const isStorage = (value: unknown): value is AsyncLocalStorage<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "getStore" in value &&
  typeof value.getStore === "function" &&
  "run" in value &&
  typeof value.run === "function";
