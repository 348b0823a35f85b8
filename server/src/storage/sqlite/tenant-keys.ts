import { idLength, longKey } from "../row-keys.ts";
import type { KeyKind, RowKeys } from "../row-keys.ts";
import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** Like `idOf`, as an SQL expression. */
export const idIn = (key: string): string => `substr(${key}, 1, ${idLength})`;

/** Like `longKey`, as an SQL expression. */
export const longKeyIn = (id: string, tenantId: string): string => `(${id} || '/' || ${tenantId})`;

/**
 * Finds the keys of a tenant's ids. Ids are unique within a tenant, keys within the database. A key is the id
 * itself, or, if a row of another tenant had that key first, the id followed by a slash and the tenant id. The
 * table `tenant_keys` lists the ids of a tenant that have such a longer key. A key that is passed as an id is
 * returned unchanged.
 */
export class TenantKeys {
  readonly #findAny;
  readonly #listLong;

  constructor(db: Connection) {
    this.#findAny = db.prepare("SELECT 1 FROM tenant_keys WHERE tenant_id = ? LIMIT 1").raw();
    this.#listLong = db
      .prepare(
        `SELECT id FROM tenant_keys WHERE tenant_id = ? AND kind = ?
         AND id IN (SELECT value FROM json_each(?))`,
      )
      .raw();
  }

  /** Whether any of a tenant's ids has a longer key. */
  hasLong(tenantId: string): boolean {
    return this.#findAny.all([tenantId]).length > 0;
  }

  keyOf(kind: KeyKind, tenantId: string, id: string): string {
    // Test the common case first: the tenant has no longer keys.
    const isLong = this.hasLong(tenantId) && this.findLong(kind, tenantId, [id]).has(id);
    return isLong ? longKey(id, tenantId) : id;
  }

  keysOf(kind: KeyKind, tenantId: string, ids: readonly string[]): readonly string[] {
    const long = this.findLong(kind, tenantId, ids);
    return ids.map((id) => (long.has(id) ? longKey(id, tenantId) : id));
  }

  /** Returns those of the ids that have a longer key. */
  findLong(kind: KeyKind, tenantId: string, ids: readonly string[]): ReadonlySet<string> {
    if (ids.length === 0 || !this.hasLong(tenantId)) {
      return none;
    }
    const rows = this.#listLong.all([tenantId, kind, JSON.stringify(ids)]);
    return new Set(parseRows(rows).map(([id]) => String(id)));
  }
}

const none: ReadonlySet<string> = new Set();

/**
 * Statements that update references to an id, which a tenant may store before it has a row with that id. `?1` is
 * the longer key, `?2` the id, `?3` the tenant id.
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

/** Like {@link TenantKeys}, for the writer, which also assigns longer keys. */
export class TenantKeyWriter extends TenantKeys implements RowKeys {
  readonly #insert;
  readonly #referenceUpdates;
  /** Cached results of `hasLong`. They stay valid because only this thread writes the table. */
  readonly #hasLongCache = new Map<string, boolean>();

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

  override hasLong(tenantId: string): boolean {
    const cached = this.#hasLongCache.get(tenantId);
    if (cached !== undefined) {
      return cached;
    }
    const hasLong = super.hasLong(tenantId);
    this.#hasLongCache.set(tenantId, hasLong);
    return hasLong;
  }

  /**
   * Assigns the longer key to an id whose key is another tenant's. References that the tenant has stored to the id
   * are updated.
   */
  lengthen(kind: KeyKind, tenantId: string, id: string): string {
    const key = longKey(id, tenantId);
    this.#insert.run([tenantId, kind, id]);
    this.#hasLongCache.set(tenantId, true);
    this.#referenceUpdates[kind].forEach((statement) => statement.run([key, id, tenantId]));
    return key;
  }

  /** Must be called after a rollback, which may have reverted the assignment of a key. */
  forget(): void {
    this.#hasLongCache.clear();
  }
}
