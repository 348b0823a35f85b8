import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import type { ModelPrices } from "./model-prices.ts";
import type { PriceRow } from "./price-table.ts";

interface PriceTableRow {
  readonly tenant_id: string;
  readonly model: string;
  readonly provider: string;
  readonly tier: string;
  readonly from_us: number;
  readonly prices_json: string;
}

interface PriceTables {
  readonly model_prices: PriceTableRow;
  /** The progress of a recomputation is a setting with the key `recompute/{tenant id}`. */
  readonly settings: { readonly key: string; readonly value: string };
}

const builder = createQueryBuilder<PriceTables>();

/** The queries of the price tables of tenants. */
export const priceQueries = {
  list: new Query(({ tenantId }: Parameters<{ tenantId: string }>) =>
    builder
      .selectFrom("model_prices")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .orderBy("model")
      .orderBy("provider")
      .orderBy("tier")
      .orderBy("from_us"),
  ),
  set: new Query((row: Parameters<PriceTableRow>) =>
    builder
      .insertInto("model_prices")
      .values({
        tenant_id: row.tenant_id,
        model: row.model,
        provider: row.provider,
        tier: row.tier,
        from_us: row.from_us,
        prices_json: row.prices_json,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["tenant_id", "model", "provider", "tier", "from_us"])
          .doUpdateSet({ prices_json: row.prices_json }),
      ),
  ),
  remove: new Query((row: Parameters<Omit<PriceTableRow, "prices_json">>) =>
    builder
      .deleteFrom("model_prices")
      .where("tenant_id", "=", row.tenant_id)
      .where("model", "=", row.model)
      .where("provider", "=", row.provider)
      .where("tier", "=", row.tier)
      .where("from_us", "=", row.from_us),
  ),
  removeAll: new Query(({ tenantId }: Parameters<{ tenantId: string }>) =>
    builder.deleteFrom("model_prices").where("tenant_id", "=", tenantId),
  ),
  findProgress: new Query(({ key }: Parameters<{ key: string }>) =>
    builder.selectFrom("settings").select("value").where("key", "=", key),
  ),
  setProgress: new Query((row: Parameters<PriceTables["settings"]>) =>
    builder
      .insertInto("settings")
      .values({ key: row.key, value: row.value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: row.value })),
  ),
  clearProgress: new Query(({ key }: Parameters<{ key: string }>) =>
    builder.deleteFrom("settings").where("key", "=", key),
  ),
};

/** Converts a row of a price table to columns. The columns of the key contain empty texts instead of `null`. */
export const toTableRow = (tenantId: string, row: PriceRow): PriceTableRow => ({
  tenant_id: tenantId,
  model: row.model,
  provider: row.provider ?? "",
  tier: row.tier ?? "",
  from_us: row.fromMicros,
  prices_json: JSON.stringify(row.prices),
});

/** Converts columns to a row of a price table. */
export const parsePriceRow = (row: Omit<PriceTableRow, "tenant_id">): PriceRow => ({
  model: row.model,
  provider: row.provider === "" ? null : row.provider,
  tier: row.tier === "" ? null : row.tier,
  fromMicros: row.from_us,
  prices: JSON.parse(row.prices_json) as ModelPrices,
});
