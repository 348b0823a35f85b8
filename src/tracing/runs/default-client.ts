import { currentRun } from "./context.ts";
import { openClient } from "./open-clients.ts";
import type { TracingClient } from "../tape/recorder.ts";

export { flushAll, registerClient, setClientFactory, setDefaultClient } from "./open-clients.ts";

/**
 * The client that records where none is named: that of the current run, else the one that was chosen, else
 * the program's first that is still open, else an implicit one. `undefined` where the environment
 * configures none.
 */
export const defaultClient = (): TracingClient | undefined => currentRun()?.client ?? openClient();
