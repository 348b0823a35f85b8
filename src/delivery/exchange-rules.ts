import type { ReadExchanges } from "../model/records/exchange.ts";
import type { ExchangeRules } from "../tracing/tape/exchange-record.ts";

/** Whether a client's options require that the main thread reads exchanges, and what to do if that fails. */
interface ExchangeRulesInit {
  /**
   * A function of the caller must see the payloads, or what is recorded is written to disk by this thread and must be
   * masked before.
   */
  readonly mustRead: boolean;
  /** Options hide inputs or outputs as a whole, which this thread must find in a call that is recorded as a whole. */
  readonly hidesPayloads: boolean;
  /** Called if the code that reads exchanges can't be loaded. */
  readonly onFailure: () => void;
}

/**
 * Creates the rules by which a client records exchanges. The code that reads them is loaded only if this thread needs it.
 * Until it is loaded, markers take the place of payloads.
 */
export function createExchangeRules({
  mustRead,
  hidesPayloads,
  onFailure,
}: ExchangeRulesInit): ExchangeRules {
  let reader: ReadExchanges | undefined;
  if (mustRead || hidesPayloads) {
    void (async () => {
      try {
        ({ readExchanges: reader } = await import("../workers/exchange/read-exchanges.ts"));
      } catch {
        onFailure();
      }
    })();
  }
  return { mustRead, getReader: () => reader };
}
