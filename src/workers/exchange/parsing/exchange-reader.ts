import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";

/**
 * Reads the fields of a run from a request or a response of one format. May throw: the caller then keeps the raw text.
 */
export type ExchangeReader = (exchange: RawExchange) => ExchangeFields;
