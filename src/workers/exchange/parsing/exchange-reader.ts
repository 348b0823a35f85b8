import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";

/** Finds out what the request or the response of one format means. May throw: the caller then keeps the raw text. */
export type ExchangeReader = (exchange: RawExchange) => ExchangeFields;
