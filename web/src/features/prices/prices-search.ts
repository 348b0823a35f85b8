import { omitUndefined, toSearchText } from "../../api/parse.ts";

/** Search parameters in the URL of the page of prices. */
export interface PricesSearch {
  /** The text for which the public prices are searched. */
  readonly q?: string;
  /** A model for which the form of a new price is open. */
  readonly add?: string;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export const parsePricesSearch = (search: Readonly<Record<string, unknown>>): PricesSearch =>
  omitUndefined({ q: toSearchText(search["q"]), add: toSearchText(search["add"]) });
