import { toSearchText } from "../../api/parse.ts";

/** Search parameters in the URL of the page of prices. */
export interface PricesSearch {
  /** The text that public prices are searched for. */
  readonly q?: string;
  /** A model for which the form of a new price is open. */
  readonly add?: string;
}

/** Names of models and searches are shorter. */
const maxChars = 200;

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parsePricesSearch(search: Readonly<Record<string, unknown>>): PricesSearch {
  const q = toSearchText(search["q"])?.slice(0, maxChars);
  const add = toSearchText(search["add"])?.slice(0, maxChars);
  return { ...(q === undefined ? {} : { q }), ...(add === undefined ? {} : { add }) };
}
