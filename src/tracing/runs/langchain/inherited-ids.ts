import { stampLength, uuidLength } from "../../../model/dotted-order.ts";
import type { KeyValues, RunExtra } from "../../../model/run.ts";
import { isObject, overrideMethods } from "../../tape/override-methods.ts";
import { isPlainObject } from "../../tape/payload.ts";
import { recorder } from "../../tape/recorder.ts";
import type { TracingClient } from "../../tape/recorder.ts";
import { inheritedKeys } from "../run-options.ts";
import type { RunTree } from "../run-tree.ts";

/** Length of one run in a dotted order, with the dot before the next one. */
const segmentLength = stampLength + uuidLength + 1;

/** The part of a run's wire format that is read here. */
interface WireFields {
  readonly dotted_order?: string | undefined;
  readonly extra?: RunExtra | undefined;
}

/** The runs whose `thread_id` and `user_id` are added to the runs that a client records below them. */
class InheritedIds {
  readonly client: TracingClient;
  readonly #idsByRun = new Map<string, KeyValues>();

  constructor(client: TracingClient) {
    this.client = client;
  }

  add(runId: string, ids: KeyValues): void {
    this.#idsByRun.set(runId, ids);
  }

  /** Returns the ids of the nearest run in a dotted order that has any. */
  find(dottedOrder: string): KeyValues | undefined {
    for (let end = dottedOrder.length; end > 0; end -= segmentLength) {
      const ids = this.#idsByRun.get(dottedOrder.slice(end - uuidLength, end));
      if (ids !== undefined) {
        return ids;
      }
    }
    return undefined;
  }

  /** Adds the ids that a run lacks to its metadata. A run that can't be read is returned unchanged. Never throws. */
  complete(run: unknown): unknown {
    try {
      const { dotted_order: order, extra } = run as WireFields;
      const ids = typeof order === "string" ? this.find(order) : undefined;
      if (ids === undefined) {
        return run;
      }
      const metadata = isPlainObject(extra?.metadata) ? extra.metadata : {};
      return { ...(run as WireFields), extra: { ...extra, metadata: { ...ids, ...metadata } } };
    } catch {
      // The client can't read this run either, and counts it as lost.
      return run;
    }
  }

  /** Does what {@link complete} does for an update that replaces metadata; any other update is returned unchanged. */
  completePatch(patch: unknown): unknown {
    return isObject(patch) && isObject(patch["extra"]) ? this.complete(patch) : patch;
  }
}

const idsByClient = new WeakMap<object, InheritedIds>();

/**
 * Returns the client that is wrapped by a client of {@link toInheritingClient}; any other client is returned unchanged.
 */
export const unwrapClient = (client: TracingClient): TracingClient =>
  idsByClient.get(client)?.client ?? client;

/**
 * Returns the ids that a client created by {@link toInheritingClient} adds to a run; `undefined` for any other client.
 */
export const findInheritedIds = (client: unknown, dottedOrder: string): KeyValues | undefined =>
  isObject(client) ? idsByClient.get(client)?.find(dottedOrder) : undefined;

/**
 * Returns the client with which another library records the runs below `run`. The client adds the `thread_id` and the
 * `user_id` of `run` to each of them that does not have its own, because the library does not pass these ids on.
 *
 * @param outer - the client of the surrounding run, which is returned if its runs have the same ids anyway
 */
export function toInheritingClient(run: RunTree, outer: unknown): TracingClient {
  const ids = readIds(run.metadata);
  if (ids === undefined) {
    return run.client;
  }
  const outerIds = isObject(outer) ? idsByClient.get(outer) : undefined;
  if (outerIds?.client === run.client && isSame(outerIds.find(run.dottedOrder), ids)) {
    return outer as TracingClient;
  }
  return wrapClient(run.client, run.id, ids);
}

/** A run in the shape that LangChain expects. Its client is the result of {@link toInheritingClient}. */
interface ParentRun {
  readonly id: string;
  readonly dotted_order: string;
  readonly client: unknown;
}

/**
 * Returns the client that LangChain's tracer must use once it also records runs below `parent`: the tracer's own client
 * (or that of `parent` if it has none), which then adds the inherited ids of `parent` to these runs.
 */
export function nestClient(tracerClient: unknown, parent: ParentRun): unknown {
  const ids = findInheritedIds(parent.client, parent.dotted_order);
  if (ids === undefined || !isTracingClient(tracerClient)) {
    return tracerClient ?? parent.client;
  }
  const inheritedIds = idsByClient.get(tracerClient);
  if (inheritedIds === undefined) {
    return wrapClient(tracerClient, parent.id, ids);
  }
  if (!isSame(inheritedIds.find(parent.dotted_order), ids)) {
    inheritedIds.add(parent.id, ids);
  }
  return tracerClient;
}

export const isTracingClient = (client: unknown): client is TracingClient =>
  isObject(client) && isObject(client[recorder]);

function wrapClient(client: TracingClient, runId: string, ids: KeyValues): TracingClient {
  const inherited = new InheritedIds(client);
  inherited.add(runId, ids);
  const wrapped = overrideMethods(
    client,
    new Map([
      ["createRun", (run) => client.createRun(inherited.complete(run) as never)],
      [
        "updateRun",
        (id, patch) => client.updateRun(id as string, inherited.completePatch(patch) as never),
      ],
    ]),
  );
  idsByClient.set(wrapped, inherited);
  return wrapped;
}

function readIds(metadata: KeyValues | undefined): KeyValues | undefined {
  const keys =
    metadata === undefined ? [] : inheritedKeys.filter((key) => typeof metadata[key] === "string");
  return keys.length === 0
    ? undefined
    : Object.fromEntries(keys.map((key) => [key, metadata?.[key]]));
}

const isSame = (first: KeyValues | undefined, second: KeyValues): boolean =>
  inheritedKeys.every((key) => first?.[key] === second[key]);
