import type { RecomputeProgress } from "../runs/usage/run-cost.ts";
import type { NoCost } from "./compute-cost.ts";
import type { ListedPrice } from "./library-prices.ts";
import type { PriceKey, PriceRow } from "./price-table.ts";

/** A model call whose cost is to be computed. */
export interface PricedCall {
  readonly model: string;
  /** `null` if the model's name determines the provider. */
  readonly provider: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  /** Milliseconds since the epoch: the prices of this time apply. */
  readonly timeMs: number;
}

/** The cost of a model call in US dollars, or a sentence that says why it is unknown. */
export type CallPrice =
  | { readonly total: number; readonly prompt: number; readonly completion: number }
  | NoCost;

/** Which model calls are counted, and for how long. */
export interface ModelCallSearch {
  readonly sinceMicros: number;
  readonly withinMs: number;
}

/** Model calls with the same price, or with the same reason why they have none. */
export interface ModelCallGroup {
  /**
   * Where the price comes from: the public prices, the table of the tenant, or the run itself. `none` if no price is
   * known, and `no_tokens` if the run reports no tokens.
   */
  readonly price: "library" | "table" | "reported" | "none" | "no_tokens";
  /** The model whose price applied; without a price, the name that the runs give it. */
  readonly model: string | null;
  readonly provider: string | null;
  /** Why the cost is unknown, as a sentence. */
  readonly reason: string | null;
  readonly calls: number;
  readonly cost: number;
  readonly latestMicros: number;
}

/** The model calls of a tenant, grouped by the price that applied to them. */
export interface ModelCalls {
  /** The groups with the most calls first. */
  readonly groups: readonly ModelCallGroup[];
  /** Calls of groups that are not listed, because there are too many. */
  readonly otherCalls: number;
  /** Whether all calls were counted in time. */
  readonly isComplete: boolean;
}

/** Selects public prices. */
export interface LibraryPriceSearch {
  /** A part of the name of a model or of a provider; empty for all. */
  readonly text: string;
  readonly limit: number;
  readonly offset: number;
  /** Milliseconds since the epoch: the prices of this time are listed. */
  readonly timeMs: number;
}

/** A page of the built-in public prices. */
export interface LibraryPricePage {
  readonly prices: readonly ListedPrice[];
  /** Number of prices that match. */
  readonly total: number;
}

export interface PriceReads {
  /** Lists the built-in public prices. */
  listLibrary(tenantId: string, search: LibraryPriceSearch): Promise<LibraryPricePage>;
  /** Counts the model calls of a tenant by the price that applied to them, for a limited time. */
  readModelCalls(tenantId: string, search: ModelCallSearch): Promise<ModelCalls>;
  /** Lists the price table of a tenant, by model, provider, tier and time. */
  list(tenantId: string): Promise<readonly PriceRow[]>;
  /** Computes the cost of a model call, as it is computed for a run. */
  priceCall(tenantId: string, call: PricedCall): Promise<CallPrice>;
}

/** A change of the price table of a tenant. */
export interface PriceChange {
  readonly rows: readonly PriceRow[];
  /** Whether the rows replace the whole table. Otherwise each replaces the row with the same key. */
  readonly replacesTable: boolean;
}

/**
 * Where a recomputation starts: `restart` starts with the first run. `resume` continues an interrupted recomputation,
 * or starts with the first run if there is none. `continue` performs the next step of a recomputation that has begun.
 */
export type RecomputeMode = "restart" | "resume" | "continue";

/** Changes the price tables of tenants, and recomputes the costs of stored runs. */
export interface PriceWrites {
  /**
   * Adds rows to the price table, or replaces it.
   *
   * @throws RequestError 422: the table would have too many rows.
   */
  set(tenantId: string, change: PriceChange): Promise<void>;
  /**
   * Removes a row.
   *
   * @throws RequestError 404: there is no such row.
   */
  remove(tenantId: string, key: PriceKey): Promise<void>;
  /** Recomputes the costs of some stored runs, for a limited time. The progress is stored. */
  recompute(tenantId: string, mode: RecomputeMode): Promise<RecomputeProgress>;
}

/** Recomputes the costs of stored runs. */
export interface StoredRunCosts {
  /** Continues after the position of `progress`, for a limited time. */
  recomputeSome(
    tenantId: string,
    progress: RecomputeProgress,
  ): RecomputeProgress | Promise<RecomputeProgress>;
}
