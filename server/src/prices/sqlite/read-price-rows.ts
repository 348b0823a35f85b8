import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { parsePriceRow } from "../price-queries.ts";
import type { PriceRow } from "../price-table.ts";

/** Returns a function that reads the price table of a tenant synchronously, as runs are stored. */
export function readPriceRows(db: Connection): (tenantId: string) => readonly PriceRow[] {
  const list = db
    .prepare(
      "SELECT model, provider, tier, from_us, prices_json FROM model_prices WHERE tenant_id = ?",
    )
    .raw();
  return (tenantId) =>
    parseRows(list.all([tenantId])).map(([model, provider, tier, fromMicros, pricesJson]) =>
      parsePriceRow({
        model: String(model),
        provider: String(provider),
        tier: String(tier),
        from_us: Number(fromMicros),
        prices_json: String(pricesJson),
      }),
    );
}
