import { findDefaultClient } from "./default-client.ts";
import { recordExchange as recordWithClient } from "./exchange-run.ts";
import type { ExchangeOptions, ExchangeRun } from "./exchange-run.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { NewRunOptions } from "./new-run-tree.ts";
import { noopClient } from "./run-tree.ts";

/** Options of `recordExchange`. */
export interface NewExchangeOptions extends ExchangeOptions, Pick<NewRunOptions, "client"> {}

/**
 * Records a call of a remote API as a run of the given `client`, or else of the client that `new RunTree()` would use.
 * Behaves like {@link (Client:class).recordExchange}.
 */
export function recordExchange({ client, ...options }: NewExchangeOptions): ExchangeRun {
  const chosenClient = client ?? findDefaultClient() ?? noopClient;
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
