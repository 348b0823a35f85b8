import { BoundedMap } from "./bounded-map.ts";
import type { ModelPrices } from "./model-prices.ts";

/** Identifies a row of a tenant's price table. */
export interface PriceKey {
  /** The provider that runs must name, in lower case; `null` for any. */
  readonly provider: string | null;
  /** The model's name, in lower case. `*` stands for any text. */
  readonly model: string;
  /** The service tier, such as `batch`; `null` for the standard tier. */
  readonly tier: string | null;
  /** The time from which the prices apply, in microseconds since the Unix epoch; 0 for prices without a beginning. */
  readonly fromMicros: number;
}

/** A row of a tenant's price table. */
export interface PriceRow extends PriceKey {
  readonly prices: ModelPrices;
}

/** A model call whose row in the table is looked up. */
interface PricedCall {
  readonly model: string;
  /** The names of its provider, in lower case. */
  readonly providers: readonly string[];
  readonly tier: string | null;
}

/** Maximum number of models whose rows are cached. */
const maxCachedModels = 2_000;

/** The price table of a tenant, for lookups. */
export class PriceTable {
  readonly #rows: readonly PriceRow[];
  readonly #cache = new BoundedMap<readonly PriceRow[]>(maxCachedModels);

  constructor(rows: readonly PriceRow[]) {
    this.#rows = rows.toSorted(compareRows);
  }

  /** Finds the row for a model: the most specific of those that apply at this time. */
  find(call: PricedCall, timeMicros: number): PriceRow | undefined {
    if (this.#rows.length === 0) {
      return undefined;
    }
    const key = `${call.tier ?? ""}\n${call.providers.join()}\n${call.model}`;
    const cached = this.#cache.get(key);
    const rows = cached ?? this.#rows.filter((row) => matchesCall(row, call));
    if (cached === undefined) {
      this.#cache.set(key, rows);
    }
    return rows.find(({ fromMicros }) => fromMicros <= timeMicros);
  }
}

const matchesCall = (row: PriceRow, { model, providers, tier }: PricedCall): boolean =>
  row.tier === tier &&
  (row.provider === null || providers.includes(row.provider)) &&
  matchesPattern(row.model, model.toLowerCase());

/**
 * Sorts rows by precedence: names without `*` first, then patterns with more characters other than `*`, then rows with
 * a provider, then the latest.
 */
const compareRows = (a: PriceRow, b: PriceRow): number =>
  Number(a.model.includes("*")) - Number(b.model.includes("*")) ||
  countLiterals(b) - countLiterals(a) ||
  Number(a.provider === null) - Number(b.provider === null) ||
  b.fromMicros - a.fromMicros;

const countLiterals = ({ model }: PriceRow): number => model.replaceAll("*", "").length;

/** Whether a text matches a pattern in which `*` stands for any text. Takes time in proportion to the text's length. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  if (others.length === 0) {
    return text === pattern;
  }
  const lastPart = others.pop() ?? "";
  if (!text.startsWith(first) || text.length < first.length + lastPart.length) {
    return false;
  }
  let position = first.length;
  const end = text.length - lastPart.length;
  for (const part of others) {
    const matchPosition = text.indexOf(part, position);
    if (matchPosition === -1 || matchPosition + part.length > end) {
      return false;
    }
    position = matchPosition + part.length;
  }
  return text.endsWith(lastPart) && position <= end;
}
