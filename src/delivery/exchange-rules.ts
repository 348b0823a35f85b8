import type { ReadExchanges } from "../model/records/exchange.ts";
import type { ExchangeRules } from "../tracing/tape/exchange-record.ts";

/**
 * Whether a client's options require that the main thread reads exchanges (the recorded bytes of model calls), and what
 * to do if that fails.
 */
interface ExchangeRulesInit {
  /**
   * Whether this thread needs the payloads of exchanges: a function of the caller filters them, or this thread writes
   * them to disk and must mask them first.
   */
  readonly mustRead: boolean;
  /** Whether an option hides all inputs or all outputs. This thread must then find them in the bytes of the call. */
  readonly hidesPayloads: boolean;
  /** Called if the code that reads exchanges can't be loaded. */
  readonly onFailure: () => void;
}

/**
 * Creates the rules by which a client records exchanges. The code that reads exchanges is loaded only if this thread
 * needs it. Until it is loaded, markers are recorded in place of payloads.
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
