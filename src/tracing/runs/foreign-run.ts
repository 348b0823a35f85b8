import { parsePosition } from "./propagation.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { RunTree } from "./run-tree.ts";

/**
 * Where a store of the shared context keeps the run that it stands for. Enumerable wherever it is
 * set: LangChain copies run trees by spreading them, and the copy stands for the same run.
 */
export const ownRun = Symbol.for("millrace.run");

/** Generations looked through for a run of ours; a chain of foreign runs is rarely as long. */
const kinLimit = 64;

/** Foreign runs that were met, so that one of them is always the same to us. */
const converted = new WeakMap<object, RunTree>();

/** The run of ours that a store stands for. */
export function runOf(store: unknown): RunTree | undefined {
  const run = isObject(store) ? Reflect.get(store, ownRun) : undefined;
  // A store that was derived from a copy may stand for another run by now.
  return run instanceof RunTree && Reflect.get(Object(store), "id") === run.id ? run : undefined;
}

/**
 * Takes a run tree of LangChain or its tracing library for a parent: children hang below it, and
 * its own library records it. A placeholder, or one without a proper place, is no parent.
 */
export function fromForeignRun(
  store: unknown,
  fallback: TracingClient | undefined,
): RunTree | undefined {
  if (!isObject(store) || !isRunTreeLike(store)) {
    return undefined;
  }
  const known = converted.get(store);
  if (known !== undefined) {
    return known;
  }
  const dottedOrder = store["dotted_order"];
  const place = typeof dottedOrder === "string" ? parsePosition(dottedOrder) : undefined;
  const client = isTracingClient(store["client"]) ? store["client"] : fallback;
  if (store["tracingEnabled"] === false || place?.id !== store["id"] || client === undefined) {
    return undefined;
  }
  const run = new RunTree(
    { client, kin: kinOf(store), remote: place, recorded: false },
    {
      name: text(store["name"]),
      projectName: text(store["project_name"]),
    },
  );
  converted.set(store, run);
  return run;
}

function kinOf(store: Fields): RunTree | undefined {
  let ancestor: unknown = store["parent_run"];
  for (let generation = 0; generation < kinLimit && isObject(ancestor); generation += 1) {
    const run = runOf(ancestor);
    if (run !== undefined) {
      return run;
    }
    ancestor = ancestor["parent_run"];
  }
  return undefined;
}

type Fields = Readonly<Record<string | symbol, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** How LangChain's tracing library itself recognizes a run tree. */
const isRunTreeLike = (store: Fields): boolean =>
  typeof store["createChild"] === "function" && typeof store["postRun"] === "function";

const isTracingClient = (client: unknown): client is TracingClient =>
  isObject(client) && isObject(client[recorder]);

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
