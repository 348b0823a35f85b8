import { AsyncLocalStorage } from "node:async_hooks";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { LangsmithBridge } from "./langsmith-bridge.ts";
import { fromForeignRun, runOf } from "./foreign-run.ts";
import { existingClient } from "./open-clients.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { runOptionNames } from "./run-options.ts";
import type { RunOptions } from "./run-options.ts";
import { RunTree } from "./run-tree.ts";
import { assertStackRoom, uncounted } from "../queue/stack-room.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/** A binding of this module's own: in a bundle an import may be a getter, for which there is no stack. */
const counted = uncounted;

/** What a run is started with by a client, which also says where in the tree it goes. */
export interface StartOptions extends RunOptions {
  /**
   * The run below which this one goes; `null` for a new trace.
   *
   * @defaultValue the current run, if there is one
   */
  readonly parent?: RunTree | null | undefined;
}

/** The symbol under which LangChain and its tracing library share their context. */
const sharedKey = Symbol.for("ls:tracing_async_local_storage");

/** The run in which the caller is, also one that LangChain started; `undefined` outside of all. */
export function currentRun(): RunTree | undefined {
  return runIn(sharedStorage().getStore(), undefined);
}

/**
 * Calls `fn` with `run` as the current run, for all that it calls and awaits, and answers what it
 * answers. It does not end the run.
 */
export function withRun<Result>(run: RunTree, fn: () => Result): Result {
  let isEntered = false;
  const inside = (): Result => {
    isEntered = true;
    return fn();
  };
  try {
    const storage = sharedStorage();
    if (!isWarm) {
      // The first use of a storage turns hooks on, in several steps.
      assertStackRoom();
      isWarm = true;
    }
    return storage.run(enter(run, storage.getStore()), inside);
  } catch (error) {
    if (isEntered) {
      throw error;
    }
    counted.details += 1;
  }
  // No stack is left for a context: what it calls goes on in the one around it.
  return fn();
}

let isWarm = false;

/** Remembers the context of the caller, for a callback that is called in another. */
export function keepContext(): <Result>(fn: () => Result) => Result {
  const storage = sharedStorage();
  const store = storage.getStore();
  return (fn) => storage.run(store, fn);
}

/**
 * Starts a run below the parent that its options name, else below the current run, and records it. Warns of
 * unknown options.
 */
export function startRun(client: TracingClient, options: StartOptions = {}): RunTree {
  warnOfUnknown(options, startOptionNames, client[recorder]);
  return startChecked(client, options);
}

const startOptionNames: KeyTable<StartOptions> = { ...runOptionNames, parent: 1 };

/** As {@link startRun}, with options that are known to be known. */
export function startChecked(client: TracingClient, options: StartOptions): RunTree {
  // A caller without types may pass null; recording does not throw for it.
  const given: unknown = options;
  const known = typeof given === "object" && given !== null ? options : {};
  return RunTree.start({ client, parent: chooseParent(client, known), recorded: true }, known);
}

function chooseParent(client: TracingClient, options: StartOptions): RunTree | undefined {
  let parent: unknown;
  try {
    ({ parent } = options);
    if (parent instanceof RunTree) {
      return parent;
    }
  } catch {
    // A getter that throws, or a proxy that refuses to be looked at, names no parent.
  }
  return parent === null ? undefined : runIn(sharedStorage().getStore(), client);
}

/** The run that a store stands for. A foreign one is recorded by its own library, not by us. */
function runIn(store: unknown, client: TracingClient | undefined): RunTree | undefined {
  if (store === undefined) {
    return undefined;
  }
  try {
    return runOf(store) ?? fromForeignRun(store, client ?? existingClient());
  } catch {
    // A store that can't be read is no parent; the run becomes the root of a trace of its own.
    return undefined;
  }
}

function enter(run: RunTree, outer: unknown): unknown {
  if (!(run instanceof RunTree)) {
    return outer;
  }
  try {
    return new LangsmithBridge(run, { outer });
  } catch {
    // What LangChain put around the run can't be read, and so it does not go on inside.
    return new LangsmithBridge(run, {});
  }
}

/** The storage that is there, whoever made it, else one that later comers will find. */
function sharedStorage(): AsyncLocalStorage<unknown> {
  const shared: unknown = Reflect.get(globalThis, sharedKey);
  if (isStorage(shared)) {
    return shared;
  }
  if (shared === undefined) {
    Reflect.set(globalThis, sharedKey, ownStorage);
  }
  return ownStorage;
}

const ownStorage = new AsyncLocalStorage<unknown>();

const isStorage = (value: unknown): value is AsyncLocalStorage<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "getStore" in value &&
  typeof value.getStore === "function" &&
  "run" in value &&
  typeof value.run === "function";
