import { OptionError } from "../../model/errors.ts";
import type { FlushResult } from "../../model/stats.ts";
import { sumOfResults } from "../queue/flush-counts.ts";
import type { TracingClient } from "../tape/recorder.ts";

/** Sends what a client recorded, within the limit; without one, within the client's own. */
export type Flush = (timeoutMs: number | undefined) => Promise<FlushResult>;

/** Every open client. */
const openClients = new Map<TracingClient, Flush>();
/** Those that the program made, in the order they were made. */
const ownClients = new Set<TracingClient>();
let chosen: TracingClient | undefined;
/** The one that was made where the program had made none. */
let implicit: TracingClient | undefined;
let factory: (() => TracingClient | undefined) | undefined;
let isMakingImplicit = false;

/**
 * Says that a client is open. The answer takes it off the list; calling that again does nothing. The
 * program's first own client takes over from the implicit one, which sends at once what it has, and stays
 * open for the ends of the runs that it began.
 */
export function registerClient(client: TracingClient, flush: Flush): () => void {
  openClients.set(client, flush);
  if (isMakingImplicit) {
    implicit = client;
  } else {
    ownClients.add(client);
    if (implicit !== undefined && ownClients.size === 1) {
      void openClients.get(implicit)?.(undefined);
    }
  }
  return () => {
    openClients.delete(client);
    ownClients.delete(client);
    chosen = chosen === client ? undefined : chosen;
    implicit = implicit === client ? undefined : implicit;
  };
}

/**
 * Sets how the implicit client is created; called once, by the wiring. The factory returns `undefined` where the
 * environment configures no client, and is not called again: the environment is read once.
 */
export function setClientFactory(create: () => TracingClient | undefined): void {
  factory = create;
}

/**
 * Has runs that name no client, and begin outside of all runs, recorded by this one; with `undefined`
 * by the open client that the program made first, as without a call.
 *
 * @throws {@link OptionError} it is no open client.
 */
export function setDefaultClient(client: TracingClient | undefined): void {
  if (client !== undefined && !openClients.has(client)) {
    throw new OptionError("setDefaultClient takes a Client that is open, or undefined");
  }
  chosen = client;
}

/** The client chosen by {@link setDefaultClient}, else the program's first, else the implicit one that is there. */
export const existingClient = (): TracingClient | undefined =>
  chosen ?? ownClients.values().next().value ?? implicit;

/** As {@link existingClient}, else an implicit one; `undefined` where the environment configures none. */
export const openClient = (): TracingClient | undefined => existingClient() ?? makeImplicit();

function makeImplicit(): TracingClient | undefined {
  if (factory === undefined || isMakingImplicit) {
    return undefined;
  }
  isMakingImplicit = true;
  try {
    const made = factory();
    if (made === undefined) {
      factory = undefined;
    }
    return made;
  } finally {
    isMakingImplicit = false;
  }
}

/** Flushes every open client, and adds up what became of their records. */
export async function flushAll(timeoutMs: number | undefined): Promise<FlushResult> {
  const results = await Promise.all([...openClients.values()].map((flush) => flush(timeoutMs)));
  return sumOfResults(results);
}
