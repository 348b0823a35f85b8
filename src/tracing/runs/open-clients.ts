import { OptionError } from "../../model/errors.ts";
import type { FlushResult } from "../../model/stats.ts";
import { sumResults } from "../queue/flush-counts.ts";
import type { TracingClient } from "../tape/recorder.ts";

/** Flushes a client within a time limit; `undefined` means the client's own limit. */
export type FlushFunction = (timeoutMs: number | undefined) => Promise<FlushResult>;

/** All open clients, each with the function that flushes it. */
const openClients = new Map<TracingClient, FlushFunction>();
/** Open clients that the program created itself, in order of creation. */
const programClients = new Set<TracingClient>();
/** The client set by {@link setDefaultClient}. */
let defaultClient: TracingClient | undefined;
/** The client that was created automatically because the program had not created one. */
let implicitClient: TracingClient | undefined;
let clientFactory: (() => TracingClient | undefined) | undefined;
let isCreatingImplicit = false;

/**
 * Registers an open client. Call the returned function to unregister it; a second call has no effect. When the program
 * creates its first client, that client replaces the implicit one, which was created automatically. The implicit client
 * is flushed at once and stays open, because it must still record the ends of runs that it started.
 */
export function registerClient(client: TracingClient, flush: FlushFunction): () => void {
  openClients.set(client, flush);
  if (isCreatingImplicit) {
    implicitClient = client;
  } else {
    programClients.add(client);
    if (implicitClient !== undefined && programClients.size === 1) {
      void openClients.get(implicitClient)?.(undefined);
    }
  }
  return () => {
    openClients.delete(client);
    programClients.delete(client);
    defaultClient = defaultClient === client ? undefined : defaultClient;
    implicitClient = implicitClient === client ? undefined : implicitClient;
  };
}

/**
 * Sets the function that creates a client automatically when the program has created none. Only `main/client.ts` calls
 * this, once. If the factory returns `undefined`, because the environment configures no client, it is not called again:
 * the environment is read once.
 */
export function setClientFactory(create: () => TracingClient | undefined): void {
  clientFactory = create;
}

/**
 * Sets the client that records runs which start outside of any run and name no client. `undefined` restores the
 * default: the first open client that the program created.
 *
 * @throws {@link OptionError} `client` is not an open client.
 */
export function setDefaultClient(client: TracingClient | undefined): void {
  if (client !== undefined && !openClients.has(client)) {
    throw new OptionError(
      "setDefaultClient takes a Client that is open, or undefined; this client is closed or not a Client",
    );
  }
  defaultClient = client;
}

/**
 * The client set by {@link setDefaultClient}, else the program's first open client, else the one that was created
 * automatically, if it exists.
 */
export const findClient = (): TracingClient | undefined =>
  defaultClient ?? programClients.values().next().value ?? implicitClient;

/**
 * Like {@link findClient}, but creates a client from the environment's settings if there is none. `undefined` if the
 * environment configures none.
 */
export const findOrCreateClient = (): TracingClient | undefined =>
  findClient() ?? createImplicitClient();

function createImplicitClient(): TracingClient | undefined {
  if (clientFactory === undefined || isCreatingImplicit) {
    return undefined;
  }
  isCreatingImplicit = true;
  try {
    const created = clientFactory();
    if (created === undefined) {
      clientFactory = undefined;
    }
    return created;
  } finally {
    isCreatingImplicit = false;
  }
}

/** Flushes every open client and sums the results. */
export async function flushAll(timeoutMs: number | undefined): Promise<FlushResult> {
  const results = await Promise.all([...openClients.values()].map((flush) => flush(timeoutMs)));
  return sumResults(results);
}
