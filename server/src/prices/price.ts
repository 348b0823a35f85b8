import type { RecomputeProgress } from "../runs/usage/run-cost.ts";
import type { NoCost } from "./compute-cost.ts";
import type { PriceKey, PriceRow } from "./price-table.ts";

/** A model call whose cost is to be computed. */
export interface PricedCall {
  readonly model: string;
  /** `null` if the model's name decides. */
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

export interface PriceReads {
  /** Lists the price table of a tenant, by model, provider, tier and time. */
  list(tenantId: string): Promise<readonly PriceRow[]>;
  /** Computes the cost of a model call, as it is computed for a run. */
  priceCall(tenantId: string, call: PricedCall): Promise<CallPrice>;
}

export interface PriceChange {
  readonly rows: readonly PriceRow[];
  /** Whether the rows replace the whole table. Otherwise each replaces the row with the same key. */
  readonly replacesTable: boolean;
}

/**
 * How to continue: `restart` begins with the first run; `resume` continues where an earlier recomputation was
 * interrupted, and begins again if none was; `continue` does the next step of a recomputation that was begun.
 */
export type RecomputeMode = "restart" | "resume" | "continue";

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
  /** Computes the costs of some stored runs again, for a limited time. The progress is stored. */
  recompute(tenantId: string, mode: RecomputeMode): Promise<RecomputeProgress>;
}

/** Computes the costs of stored runs again. */
export interface StoredRunCosts {
  /** Continues after a position, for a limited time. */
  recomputeSome(
    tenantId: string,
    progress: RecomputeProgress,
  ): RecomputeProgress | Promise<RecomputeProgress>;
}
