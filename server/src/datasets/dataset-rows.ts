import { RequestError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import type { RowKeys } from "../storage/row-keys.ts";
import type { DatasetDraft } from "./dataset.ts";
import { datasetQueries, datasetStates } from "./dataset-queries.ts";
import { toDatasetColumns } from "./dataset-row.ts";

/** Writes the rows of datasets, including datasets whose upload is not complete yet. */
export class DatasetRows {
  readonly #db: Database;
  readonly #keys: RowKeys;

  constructor(db: Database, keys: RowKeys) {
    this.#db = db;
    this.#keys = keys;
  }

  /**
   * Inserts a dataset and returns the key of its row.
   *
   * @throws RequestError 409: another dataset of the tenant has the name or the id.
   */
  async insert(
    tenantId: string,
    draft: DatasetDraft,
    state: keyof typeof datasetStates,
  ): Promise<string> {
    const key = await this.#keys.keyOf("dataset", tenantId, draft.id);
    await this.assertNameUnused(tenantId, key, draft.name);
    const owner = await this.#db.first(datasetQueries.findTenant, { id: key });
    if (owner?.tenant_id === tenantId) {
      throw new RequestError(409, "Dataset with this id already exists.");
    }
    const id =
      owner === undefined
        ? key
        : await this.#keys.assignQualifiedKey("dataset", tenantId, draft.id);
    await this.#db.run(datasetQueries.insert, {
      ...toDatasetColumns(draft),
      id,
      tenant_id: tenantId,
      created_us: draft.createdMicros,
      is_ready: datasetStates[state],
    });
    return id;
  }

  /**
   * Checks that no other dataset of the tenant has the name.
   *
   * @throws RequestError 409: another dataset has the name.
   */
  async assertNameUnused(tenantId: string, id: string, name: string): Promise<void> {
    const nameJson = JSON.stringify(name);
    const other = await this.#db.first(datasetQueries.findByName, { tenantId, nameJson });
    if (other !== undefined && other.id !== id) {
      throw new RequestError(409, "Dataset with this name already exists.");
    }
  }

  /** Hides a dataset and frees its name at once. Its examples and versions are erased later, in slices. */
  async retire(id: string): Promise<void> {
    await this.#db.run(datasetQueries.retire, { id, name_json: JSON.stringify(`deleted ${id}`) });
  }
}
