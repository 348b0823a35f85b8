import { idLength, createQualifiedKey } from "../row-keys.ts";
import type { KeyKind, RowKeys } from "../row-keys.ts";
import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** An SQL expression for the id of a row: the beginning of the row's key. `key` is an SQL expression, too. */
export const idSql = (key: string): string => `substr(${key}, 1, ${idLength})`;

/** An SQL expression for a qualified key: the id, a slash and the tenant id. Both ids are SQL expressions, too. */
export const qualifiedKeySql = (id: string, tenantId: string): string =>
  `(${id} || '/' || ${tenantId})`;

/**
 * Finds the keys of a tenant's ids. Ids are unique within a tenant, keys within the database. The key of a row is its
 * id, or, if a row of another tenant already had that key, a qualified key: the id, a slash and the tenant id. The
 * table `tenant_keys` lists the ids of a tenant that have a qualified key. A key that is passed as an id is returned
 * unchanged.
 */
export class TenantKeys {
  readonly #findAny;
  readonly #listQualified;

  constructor(db: Connection) {
    this.#findAny = db.prepare("SELECT 1 FROM tenant_keys WHERE tenant_id = ? LIMIT 1").raw();
    this.#listQualified = db
      .prepare(
        `SELECT id FROM tenant_keys WHERE tenant_id = ? AND kind = ?
         AND id IN (SELECT value FROM json_each(?))`,
      )
      .raw();
  }

  /** Whether any of a tenant's ids has a qualified key. */
  hasQualifiedKeys(tenantId: string): boolean {
    return this.#findAny.all([tenantId]).length > 0;
  }

  keyOf(kind: KeyKind, tenantId: string, id: string): string {
    // Test the common case first: the tenant has no qualified keys.
    const isQualified =
      this.hasQualifiedKeys(tenantId) && this.findQualifiedIds(kind, tenantId, [id]).has(id);
    return isQualified ? createQualifiedKey(id, tenantId) : id;
  }

  keysOf(kind: KeyKind, tenantId: string, ids: readonly string[]): readonly string[] {
    const qualifiedIds = this.findQualifiedIds(kind, tenantId, ids);
    return ids.map((id) => (qualifiedIds.has(id) ? createQualifiedKey(id, tenantId) : id));
  }

  /** Returns the ids in the list that have a qualified key. */
  findQualifiedIds(kind: KeyKind, tenantId: string, ids: readonly string[]): ReadonlySet<string> {
    if (ids.length === 0 || !this.hasQualifiedKeys(tenantId)) {
      return noIds;
    }
    const rows = this.#listQualified.all([tenantId, kind, JSON.stringify(ids)]);
    return new Set(parseRows(rows).map(([id]) => String(id)));
  }
}

const noIds: ReadonlySet<string> = new Set();

/**
 * Statements that update references to an id. A tenant may store references before it has a row with that id. `?1` is
 * the qualified key, `?2` the id, `?3` the tenant id.
 */
const referenceUpdates: { readonly [Kind in KeyKind]: readonly string[] } = {
  run: ["feedback", "feedback_tokens", "annotation_queue_runs"].map(
    (table) => `UPDATE ${table} SET run_id = ?1 WHERE run_id = ?2 AND +tenant_id = ?3`,
  ),
  project: ["UPDATE feedback SET project_id = ?1 WHERE project_id = ?2 AND +tenant_id = ?3"],
  dataset: [
    "UPDATE projects SET reference_dataset_id = ?1 WHERE reference_dataset_id = ?2 AND tenant_id = ?3",
    "UPDATE comparatives SET dataset_id = ?1 WHERE dataset_id = ?2 AND +tenant_id = ?3",
  ],
};

/** Like {@link TenantKeys}, for the writer thread, which also assigns qualified keys. */
export class TenantKeyWriter extends TenantKeys implements RowKeys {
  readonly #insert;
  readonly #referenceUpdates;
  /** Cached results of `hasQualifiedKeys`. They stay valid because only this thread writes the table. */
  readonly #hasQualifiedKeysCache = new Map<string, boolean>();

  constructor(db: Connection) {
    super(db);
    this.#insert = db.prepare(
      "INSERT OR IGNORE INTO tenant_keys (tenant_id, kind, id) VALUES (?, ?, ?)",
    );
    this.#referenceUpdates = {
      run: referenceUpdates.run.map((sql) => db.prepare(sql)),
      project: referenceUpdates.project.map((sql) => db.prepare(sql)),
      dataset: referenceUpdates.dataset.map((sql) => db.prepare(sql)),
    };
  }

  override hasQualifiedKeys(tenantId: string): boolean {
    const cached = this.#hasQualifiedKeysCache.get(tenantId);
    if (cached !== undefined) {
      return cached;
    }
    const hasAny = super.hasQualifiedKeys(tenantId);
    this.#hasQualifiedKeysCache.set(tenantId, hasAny);
    return hasAny;
  }

  /**
   * Assigns the qualified key to an id whose plain key belongs to another tenant. The references to this id that the
   * tenant has already stored are updated.
   */
  assignQualifiedKey(kind: KeyKind, tenantId: string, id: string): string {
    const key = createQualifiedKey(id, tenantId);
    this.#insert.run([tenantId, kind, id]);
    this.#hasQualifiedKeysCache.set(tenantId, true);
    this.#referenceUpdates[kind].forEach((statement) => statement.run([key, id, tenantId]));
    return key;
  }

  /** Must be called after a rollback, which may have reverted the assignment of a key. */
  clearCache(): void {
    this.#hasQualifiedKeysCache.clear();
  }
}
