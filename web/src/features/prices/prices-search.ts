import { omitUndefined, toSearchText } from "../../api/parse.ts";

/** Search parameters in the URL of the Prices page. */
export interface PricesSearch {
  /** Text that is searched for in the public prices. */
  readonly q?: string;
  /** If it is set, the form of a new price is open, with this model. */
  readonly add?: string;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export const parsePricesSearch = (search: Readonly<Record<string, unknown>>): PricesSearch =>
  omitUndefined({ q: toSearchText(search["q"]), add: toSearchText(search["add"]) });
