import { currentRun } from "./context.ts";
import { openClient } from "./open-clients.ts";
import type { TracingClient } from "./recorder.ts";

export { registerClient, setClientFactory } from "./open-clients.ts";

/**
 * The client that records where none is named: that of the current run, else the one made first
 * in this process that is still open, else a new one. `undefined` where none can be made.
 */
export const defaultClient = (): TracingClient | undefined => currentRun()?.client ?? openClient();
