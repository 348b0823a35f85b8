import { currentRun } from "./context.ts";
import { findOrCreateClient } from "./open-clients.ts";
import type { TracingClient } from "../tape/recorder.ts";
import { noopClient } from "./run-tree.ts";

/**
 * A client, or a function that is called whenever a run starts and returns the client for it; `undefined` if the run
 * must not be recorded.
 */
export type ClientChoice = TracingClient | (() => TracingClient | undefined);

export { flushAll, registerClient, setClientFactory, setDefaultClient } from "./open-clients.ts";

/**
 * Returns the client that records runs for which the caller names no client: the current run's client, else the one set
 * by `setDefaultClient`, else the program's first open client, else one that is created from the environment's
 * settings. `undefined` if there is no client and the environment configures none.
 */
export const findDefaultClient = (): TracingClient | undefined =>
  currentRun()?.client ?? findOrCreateClient();

/**
 * Returns the client that the caller has chosen, or else the one of {@link findDefaultClient}. Without any client, the
 * returned one records nothing.
 */
export const chooseClient = (choice: ClientChoice | undefined): TracingClient =>
  typeof choice === "function"
    ? (choice() ?? noopClient)
    : (choice ?? findDefaultClient() ?? noopClient);
