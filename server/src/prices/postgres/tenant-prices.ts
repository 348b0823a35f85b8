import { parsePriceRow, priceQueries } from "../price-queries.ts";
import type { PriceRow } from "../price-table.ts";
import { RunPricer } from "../run-pricer.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { RunPrices, RunPricesOfTenant } from "../../runs/run-writer-dependencies.ts";

/** The prices of one tenant at a time. They are read for each transaction, because any server may change them. */
export class TenantPrices implements RunPricesOfTenant {
  readonly #db: PostgresDatabase;
  #rows: readonly PriceRow[] = [];
  readonly #pricer = new RunPricer(() => this.#rows);

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async read(tenantId: string): Promise<void> {
    this.#rows = (await this.#db.all(priceQueries.list, { tenantId })).map(parsePriceRow);
    this.#pricer.clearCache();
  }

  price(...parameters: Parameters<RunPrices["price"]>): ReturnType<RunPrices["price"]> {
    return this.#pricer.price(...parameters);
  }
}
