import { currentRun } from "millrace";
import type { TracingClient } from "millrace";
import type { Client } from "../client/client.ts";
import { findSharedClient } from "../client/shared-client.ts";
import { AsyncLocalStorageProviderSingleton } from "../tracing/context.ts";
import { rememberOtherRun } from "../tracing/other-runs.ts";

/** What decides which client records a call. */
interface Choice {
  /** The client to use outside of runs. */
  readonly client?: Client | undefined;
  /** Whether a call is also recorded inside a function with `tracingEnabled: false`. */
  readonly tracingEnabled?: boolean | undefined;
}

/**
 * Returns the function that chooses the client for a call. As in langsmith, a call inside a run is recorded by the
 * client of that run, which hides what the program wants to hide. Only a call outside of runs is recorded by the given
 * client, or else by the shared one.
 */
export const chooseClient =
  ({ client, tracingEnabled }: Choice): (() => TracingClient | undefined) =>
  () => {
    const run = currentRun();
    if (run !== undefined) {
      rememberOtherRun();
      return run.client;
    }
    return tracingEnabled !== true && isTracingOff()
      ? undefined
      : (client ?? findSharedClient()).millrace;
  };

/** Whether the call is inside a function that is not traced because of its option `tracingEnabled`. */
function isTracingOff(): boolean {
  const store = AsyncLocalStorageProviderSingleton.getInstance().getStore();
  return (
    typeof store === "object" && store !== null && Reflect.get(store, "tracingEnabled") === false
  );
}
