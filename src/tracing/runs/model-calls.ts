import { AsyncLocalStorage } from "node:async_hooks";
import { currentRun } from "./context.ts";
import type { RunTree } from "./run-tree.ts";

/** The key on `globalThis` of the marked runs, so that several copies of this package share them. */
const markedRunsKey = Symbol.for("millrace.modelCalls");

/**
 * Marks a run as the record of a model call. While it is the current run, `millrace/fetch` and wrapped clients such as
 * those of `millrace/openai` do not record the requests to the provider, because they are part of this call and it must
 * be recorded only once. Runs that start below the marked run are not affected. Never throws.
 */
export function markModelCall(run: RunTree): void {
  findMarkedRuns()?.add(run);
}

/** For each asynchronous execution, the run that {@link enterModelCall} marked. */
const enteredCalls = new AsyncLocalStorage<RunTree>();

/**
 * Does what {@link markModelCall} does, for the rest of the caller's asynchronous execution, until the run ends. Use it
 * for a library that reports a call before making it, but offers no way to wrap the call. The current run does not
 * change. Never throws.
 */
export function enterModelCall(run: RunTree): void {
  enteredCalls.enterWith(run);
}

/**
 * Whether a run is the record of the current model call, so that requests to its provider must not be recorded again.
 */
export function isInModelCall(): boolean {
  const run = currentRun();
  const enteredRun = enteredCalls.getStore();
  return (
    (run !== undefined && findMarkedRuns()?.has(run) === true) ||
    (enteredRun !== undefined && enteredRun.endedAt === undefined)
  );
}

/** Returns the shared set of marked runs; `undefined` if the key on `globalThis` holds another value. */
function findMarkedRuns(): WeakSet<object> | undefined {
  const existing: unknown = Reflect.get(globalThis, markedRunsKey);
  if (existing === undefined) {
    const created = new WeakSet<object>();
    return Reflect.set(globalThis, markedRunsKey, created) ? created : undefined;
  }
  return existing instanceof WeakSet ? existing : undefined;
}
