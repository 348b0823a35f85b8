import { RequestError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import { listLibraryPrices } from "./library-list.ts";
import { loadLibraryPrices } from "./library-prices.ts";
import { readModelCalls } from "./model-calls.ts";
import type { RecomputeProgress } from "../runs/usage/run-cost.ts";
import type {
  CallPrice,
  LibraryPricePage,
  LibraryPriceSearch,
  ModelCalls,
  ModelCallSearch,
  PriceChange,
  PricedCall,
  PriceReads,
  PriceWrites,
  RecomputeMode,
  StoredRunCosts,
} from "./price.ts";
import { parsePriceRow, priceQueries, toTableRow } from "./price-queries.ts";
import type { PriceKey, PriceRow } from "./price-table.ts";
import { RunPricer } from "./run-pricer.ts";

/** Reads the price tables of tenants. */
export class PriceReader implements PriceReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(tenantId: string): Promise<readonly PriceRow[]> {
    return (await this.#db.all(priceQueries.list, { tenantId })).map(parsePriceRow);
  }

  async listLibrary(_tenantId: string, search: LibraryPriceSearch): Promise<LibraryPricePage> {
    await loadLibraryPrices();
    return listLibraryPrices(search);
  }

  async readModelCalls(tenantId: string, search: ModelCallSearch): Promise<ModelCalls> {
    return readModelCalls(this.#db, tenantId, search);
  }

  async priceCall(tenantId: string, call: PricedCall): Promise<CallPrice> {
    await loadLibraryPrices();
    const rows = await this.list(tenantId);
    return new RunPricer(() => rows).priceCall(tenantId, call);
  }
}

/** Maximum number of rows in the price table of a tenant. */
export const maxPriceRows = 1_000;

const noProgress: RecomputeProgress = {
  position: 0,
  last: 0,
  isDone: false,
  examined: 0,
  changed: 0,
  unreadable: 0,
  unknownModels: {},
};

interface WriterDependencies {
  readonly runs: StoredRunCosts;
  /** Called after a table has changed. */
  readonly onChange: () => void;
}

/** Changes the price tables of tenants, and recomputes the costs of stored runs. */
export class PriceWriter implements PriceWrites {
  readonly #db: Database;
  readonly #reader: PriceReader;
  readonly #runs: StoredRunCosts;
  readonly #onChange: () => void;

  constructor(db: Database, { runs, onChange }: WriterDependencies) {
    this.#db = db;
    this.#reader = new PriceReader(db);
    this.#runs = runs;
    this.#onChange = onChange;
  }

  async set(tenantId: string, { rows, replacesTable }: PriceChange): Promise<void> {
    if (replacesTable) {
      await this.#db.run(priceQueries.removeAll, { tenantId });
    }
    for (const row of rows) {
      await this.#db.run(priceQueries.set, toTableRow(tenantId, row));
    }
    const rowCount = (await this.#reader.list(tenantId)).length;
    if (rowCount > maxPriceRows) {
      throw new RequestError(
        422,
        `the price table would have ${rowCount} rows, but at most ${maxPriceRows} are allowed: remove rows, or use one row with * for several models`,
      );
    }
    await this.#finishChange(tenantId);
  }

  async remove(tenantId: string, key: PriceKey): Promise<void> {
    const { prices_json: _, ...row } = toTableRow(tenantId, { ...key, prices: {} });
    if ((await this.#db.run(priceQueries.remove, row)) === 0) {
      throw new RequestError(
        404,
        "Price not found: provider, model, tier and date must be those of a row of the price table",
      );
    }
    await this.#finishChange(tenantId);
  }

  async recompute(tenantId: string, mode: RecomputeMode): Promise<RecomputeProgress> {
    await loadLibraryPrices();
    const key = toProgressKey(tenantId);
    const stored = await this.#db.first(priceQueries.findProgress, { key });
    const previous =
      stored === undefined ? noProgress : (JSON.parse(stored.value) as RecomputeProgress);
    if (mode === "continue" && previous.isDone) {
      return previous;
    }
    const startProgress = mode === "restart" || previous.isDone ? noProgress : previous;
    const progress = await this.#runs.recomputeSome(tenantId, startProgress);
    await this.#db.run(priceQueries.setProgress, { key, value: JSON.stringify(progress) });
    return progress;
  }

  /**
   * Discards the progress of a recomputation: other prices apply from now on, so it must begin again with the first
   * run.
   */
  async #finishChange(tenantId: string): Promise<void> {
    await this.#db.run(priceQueries.clearProgress, { key: toProgressKey(tenantId) });
    this.#onChange();
  }
}

const toProgressKey = (tenantId: string): string => `recompute/${tenantId}`;
