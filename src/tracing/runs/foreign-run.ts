import type { KeyValues } from "../../model/run.ts";
import { inheritedKeys } from "./run-options.ts";
import { findInheritedIds, isTracingClient, unwrapClient } from "./langchain/inherited-ids.ts";
import { parsePosition } from "./propagation.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { RunTree } from "./run-tree.ts";

/**
 * The property in which a store (a value in the `AsyncLocalStorage` shared with LangChain) holds the Millrace run that
 * the store represents. The property must be enumerable: LangChain copies run trees by spreading them, and the copy
 * must represent the same run.
 */
export const runSymbol = Symbol.for("millrace.run");

/** How many ancestors are searched for a Millrace run. Chains of runs of another library are rarely this long. */
const ancestorLimit = 64;

/**
 * For each run object that another library keeps in its `AsyncLocalStorage`: the Millrace run that was created for it,
 * so that the same object is always converted to the same run.
 */
const runsByStore = new WeakMap<object, RunTree>();

/** Returns the Millrace run that a store represents. */
export function runOf(store: unknown): RunTree | undefined {
  const run = isObject(store) ? Reflect.get(store, runSymbol) : undefined;
  // A store that was copied from another one and then changed may represent a different run. Then the store's `id`
  // differs from that run's id.
  return run instanceof RunTree && Reflect.get(Object(store), "id") === run.id ? run : undefined;
}

/**
 * Converts a run tree of LangChain or its tracing library into a run that can be a parent. The run itself is recorded
 * by its own library. Returns `undefined` for a run tree with tracing disabled or with an invalid dotted order.
 */
export function toParentRun(
  store: unknown,
  fallback: TracingClient | undefined,
): RunTree | undefined {
  if (!isObject(store) || !isRunTreeLike(store)) {
    return undefined;
  }
  const existing = runsByStore.get(store);
  if (existing !== undefined) {
    return existing;
  }
  const dottedOrder = store["dotted_order"];
  const position = typeof dottedOrder === "string" ? parsePosition(dottedOrder) : undefined;
  const client = isTracingClient(store["client"]) ? unwrapClient(store["client"]) : fallback;
  if (store["tracingEnabled"] === false || position === undefined || client === undefined) {
    return undefined;
  }
  if (position.id !== store["id"]) {
    return undefined;
  }
  const run = new RunTree(
    { client, nearestRun: findOwnAncestor(store), remote: position, recorded: false },
    {
      name: toOptionalString(store["name"]),
      projectName: toOptionalString(store["project_name"]),
      // LangChain keeps at most one ancestor of a run, so the `thread_id` and `user_id` of earlier ancestors may be
      // stored only in the client.
      metadata: {
        ...findInheritedIds(store["client"], position.dottedOrder),
        ...readInheritedMetadata(store["extra"]),
      },
    },
  );
  runsByStore.set(store, run);
  return run;
}

/**
 * Returns the nearest ancestor that is a Millrace run. The converted run shares the sampling decision and the order of
 * start times with the trace of that ancestor.
 */
function findOwnAncestor(store: Fields): RunTree | undefined {
  let ancestor: unknown = store["parent_run"];
  for (let generation = 0; generation < ancestorLimit && isObject(ancestor); generation += 1) {
    const run = runOf(ancestor);
    if (run !== undefined) {
      return run;
    }
    ancestor = ancestor["parent_run"];
  }
  return undefined;
}

/**
 * Returns the inherited part of the metadata of another library's run: the ids of the conversation (`thread_id`) and of
 * the user. Runs below that run get these ids, but not its other metadata.
 */
function readInheritedMetadata(extra: unknown): KeyValues | undefined {
  const metadata = isObject(extra) ? extra["metadata"] : undefined;
  if (!isObject(metadata)) {
    return undefined;
  }
  const entries = inheritedKeys
    .map((key) => [key, metadata[key]] as const)
    .filter(([, value]) => typeof value === "string");
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** An object whose fields are not known. */
type Fields = Readonly<Record<string | symbol, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** Whether an object is a run tree. LangChain's tracing library uses the same check. */
const isRunTreeLike = (store: Fields): boolean =>
  typeof store["createChild"] === "function" && typeof store["postRun"] === "function";

const toOptionalString = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
