import { parsePriceRow, priceQueries } from "../../prices/price-queries.ts";
import type { PriceRow } from "../../prices/price-table.ts";
import { RunPricer } from "../../prices/run-pricer.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { RunPrices } from "../run-writer-dependencies.ts";

/** The prices of one tenant at a time. They are read for each transaction, because any server may change them. */
export class TenantPrices implements Pick<RunPrices, "price"> {
  readonly #db: PostgresDatabase;
  #rows: readonly PriceRow[] = [];
  readonly #pricer = new RunPricer(() => this.#rows);

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Must be called before {@link TenantPrices.price}. */
  async read(tenantId: string): Promise<void> {
    this.#rows = (await this.#db.all(priceQueries.list, { tenantId })).map(parsePriceRow);
    this.#pricer.clearCache();
  }

  price(...parameters: Parameters<RunPrices["price"]>): ReturnType<RunPrices["price"]> {
    return this.#pricer.price(...parameters);
  }
}
