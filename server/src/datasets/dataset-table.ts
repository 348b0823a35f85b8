import { RequestError } from "../model/errors.ts";
import type { DatasetDraft, DatasetFields } from "./dataset.ts";
import { parseBody, toBody } from "./dataset-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import type { TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";

/** Statements that delete the contents of a dataset, in an order that keeps references valid. */
const deleteContents = [
  ...["dataset_versions", "dataset_tags", "example_blobs", "examples"].map(
    (table) => `DELETE FROM ${table} WHERE dataset_id = ?`,
  ),
  // Rows of another tenant may refer to the same id. They must stay.
  `DELETE FROM comparative_experiments WHERE (tenant_id, comparative_id) IN (
     SELECT c.tenant_id, c.id FROM comparatives c JOIN datasets d ON d.id = c.dataset_id AND d.tenant_id = c.tenant_id
     WHERE d.id = ?)`,
  `DELETE FROM comparatives WHERE dataset_id = ?1
     AND tenant_id = (SELECT tenant_id FROM datasets WHERE id = ?1)`,
  `UPDATE annotation_queues SET default_dataset_id = NULL WHERE default_dataset_id = ?1
     AND tenant_id = (SELECT tenant_id FROM datasets WHERE id = ?1)`,
];

/** Writes the rows of datasets. */
export class DatasetTable {
  readonly #statements;
  readonly #keys: TenantKeyWriter;

  constructor({ db, keys }: Pick<DatasetWriteDependencies, "db" | "keys">) {
    this.#keys = keys;
    this.#statements = {
      findName: db
        .prepare("SELECT id FROM datasets WHERE tenant_id = ? AND name_json = ? AND id <> ?")
        .raw(),
      findTenant: db.prepare("SELECT tenant_id FROM datasets WHERE id = ?").raw(),
      insert: db.prepare(
        `INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, example_count, is_ready, body)
         VALUES (?, ?, ?, ?, ?, 0, ?, ?)`,
      ),
      update: db.prepare(
        "UPDATE datasets SET name_json = ?, body = ?, modified_us = max(?, modified_us + 1) WHERE id = ?",
      ),
      setReady: db.prepare("UPDATE datasets SET is_ready = 1 WHERE id = ?"),
      unready: db.prepare("SELECT id FROM datasets WHERE is_ready <> 1").raw(),
      retire: db.prepare(
        "UPDATE datasets SET is_ready = 2, name_json = ?, share_digest = NULL, share_sealed = NULL WHERE id = ?",
      ),
      retired: db.prepare("SELECT id FROM datasets WHERE is_ready = 2 LIMIT 1").raw(),
      findUnready: db
        .prepare(
          "SELECT created_us, body FROM datasets WHERE id = ? AND tenant_id = ? AND is_ready = 0",
        )
        .raw(),
      delete: [...deleteContents, "DELETE FROM datasets WHERE id = ?"].map((sql) =>
        db.prepare(sql),
      ),
    };
  }

  /**
   * Inserts a dataset and returns its key.
   *
   * @throws RequestError 409: the name or id is taken.
   */
  insert(tenantId: string, draft: DatasetDraft, state: "ready" | "unready"): string {
    const { createdMicros } = draft;
    const key = this.#keys.keyOf("dataset", tenantId, draft.id);
    this.assertNameUnused(tenantId, key, draft.name);
    const [owner] = parseRows(this.#statements.findTenant.all([key]));
    if (owner?.[0] === tenantId) {
      throw new RequestError(409, "Dataset with this id already exists.");
    }
    const id = owner === undefined ? key : this.#keys.lengthen("dataset", tenantId, draft.id);
    this.#statements.insert.run([
      id,
      tenantId,
      JSON.stringify(draft.name),
      createdMicros,
      createdMicros,
      state === "ready" ? 1 : 0,
      toBody(fieldsOf(draft)),
    ]);
    return id;
  }

  update(id: string, fields: DatasetFields): void {
    const { update } = this.#statements;
    update.run([JSON.stringify(fields.name), toBody(fieldsOf(fields)), Date.now() * 1_000, id]);
  }

  /**
   * Checks that the name is unused.
   *
   * @throws RequestError 409: another dataset has the name.
   */
  assertNameUnused(tenantId: string, id: string, name: string): void {
    if (this.#statements.findName.all([tenantId, JSON.stringify(name), id]).length > 0) {
      throw new RequestError(409, "Dataset with this name already exists.");
    }
  }

  setReady(id: string): void {
    this.#statements.setReady.run([id]);
  }

  /** Hides the dataset and frees its name at once; its contents are deleted in slices later. */
  retire(id: string): void {
    this.#statements.retire.run([JSON.stringify(`deleted ${id}`), id]);
  }

  /** Finds a retired dataset whose contents are not deleted yet. */
  findRetired(): string | undefined {
    const [values] = parseRows(this.#statements.retired.all());
    return values === undefined ? undefined : String(values[0]);
  }

  /** Lists the datasets whose upload or deletion was under way when the process ended. */
  listUnready(): string[] {
    return parseRows(this.#statements.unready.all()).map(([id]) => String(id));
  }

  findUnready(tenantId: string, id: string): Omit<DatasetDraft, "name"> | undefined {
    const [values] = parseRows(this.#statements.findUnready.all([id, tenantId]));
    return values === undefined
      ? undefined
      : { ...parseBody(String(values[1])), id, createdMicros: Number(values[0]) };
  }

  delete(id: string): void {
    this.#statements.delete.forEach((statement) => statement.run([id]));
  }
}

/** Picks the stored fields from an object that may have more. */
const fieldsOf = ({
  name,
  description,
  dataType,
  inputsSchema,
  outputsSchema,
  extra,
  transformations,
  externallyManaged,
  baselineExperimentId,
}: DatasetFields): DatasetFields => ({
  name,
  description,
  dataType,
  inputsSchema,
  outputsSchema,
  extra,
  transformations,
  externallyManaged,
  baselineExperimentId,
});
