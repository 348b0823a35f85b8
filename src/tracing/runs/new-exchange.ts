import { uncountedLosses } from "../queue/ledger.ts";
import { chooseClient } from "./default-client.ts";
import { noopExchange, recordExchange as recordWithClient } from "./exchange-run.ts";
import type { ExchangeOptions, ExchangeRun } from "./exchange-run.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { NewRunOptions } from "./new-run-tree.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** Options of `recordExchange`. */
export interface NewExchangeOptions extends ExchangeOptions, Pick<NewRunOptions, "client"> {}

/**
 * Records a call of a remote API as a run of the given `client`, or else of the client that `new RunTree()` would use.
 * Behaves like {@link (Client:class).recordExchange}.
 */
export function recordExchange({ client, ...options }: NewExchangeOptions): ExchangeRun {
  let chosenClient: TracingClient;
  try {
    chosenClient = chooseClient(client);
  } catch {
    // The function that chooses the client threw.
    localUncountedLosses.records += 1;
    return noopExchange;
  }
  // A client of another copy of this package records with its own code.
  return canRecord(chosenClient)
    ? chosenClient.recordExchange(options)
    : recordWithClient(chosenClient, options);
}

/** A client with the method `recordExchange`. */
interface ExchangeClient extends TracingClient {
  recordExchange(options: ExchangeOptions): ExchangeRun;
}

const canRecord = (client: TracingClient): client is ExchangeClient =>
  "recordExchange" in client && typeof client.recordExchange === "function";
