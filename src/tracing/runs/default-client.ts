import { currentRun } from "./context.ts";
import { findOrCreateClient } from "./open-clients.ts";
import type { TracingClient } from "../tape/recorder.ts";

export { flushAll, registerClient, setClientFactory, setDefaultClient } from "./open-clients.ts";

/**
 * Returns the client that records runs for which the caller names no client: the current run's client, else the one set
 * by `setDefaultClient`, else the program's first open client, else one that is created from the environment's
 * settings. `undefined` if there is no client and the environment configures none.
 */
export const findDefaultClient = (): TracingClient | undefined =>
  currentRun()?.client ?? findOrCreateClient();
