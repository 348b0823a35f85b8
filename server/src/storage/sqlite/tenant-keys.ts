import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** What has a key of its own in the database: the rows of all tenants stand in one table. */
export type KeyKind = "run" | "project" | "dataset";

const idLength = 36;

/** The id that a tenant knows something by, given its key. */
export const idOf = (key: string): string => key.slice(0, idLength);

/** The same as an expression of SQL. */
export const idIn = (key: string): string => `substr(${key}, 1, ${idLength})`;

/** The key of what has its id in common with another tenant's. */
const longKey = (id: string, tenantId: string): string => `${id}/${tenantId}`;

/** The same as an expression of SQL. */
export const longKeyIn = (id: string, tenantId: string): string => `(${id} || '/' || ${tenantId})`;

/**
 * Finds the keys of a tenant's ids. Ids are unique within a tenant, keys within the database. A key is the id itself,
 * or, where another tenant's row had that key first, the id followed by a slash and the tenant. Which ids of a tenant
 * have such a longer key is in the table `tenant_keys`. A key has itself as its key.
 */
export class TenantKeys {
  readonly #any;
  readonly #long;

  constructor(db: Connection) {
    this.#any = db.prepare("SELECT 1 FROM tenant_keys WHERE tenant_id = ? LIMIT 1").raw();
    this.#long = db
      .prepare(
        `SELECT id FROM tenant_keys WHERE tenant_id = ? AND kind = ?
         AND id IN (SELECT value FROM json_each(?))`,
      )
      .raw();
  }

  /** Whether any of a tenant's ids has a longer key. */
  hasLong(tenantId: string): boolean {
    return this.#any.all([tenantId]).length > 0;
  }

  keyOf(kind: KeyKind, tenantId: string, id: string): string {
    // First what most of them come to.
    const isLong = this.hasLong(tenantId) && this.findLong(kind, tenantId, [id]).has(id);
    return isLong ? longKey(id, tenantId) : id;
  }

  keysOf(kind: KeyKind, tenantId: string, ids: readonly string[]): readonly string[] {
    const long = this.findLong(kind, tenantId, ids);
    return ids.map((id) => (long.has(id) ? longKey(id, tenantId) : id));
  }

  /** Those of the ids that have a longer key. */
  findLong(kind: KeyKind, tenantId: string, ids: readonly string[]): ReadonlySet<string> {
    if (ids.length === 0 || !this.hasLong(tenantId)) {
      return none;
    }
    const rows = this.#long.all([tenantId, kind, JSON.stringify(ids)]);
    return new Set(parseRows(rows).map(([id]) => String(id)));
  }
}

const none: ReadonlySet<string> = new Set();

/** What a tenant may say of an id before it has a row of it: `?1` is the longer key, `?2` the id, `?3` the tenant. */
const mentions: { readonly [Kind in KeyKind]: readonly string[] } = {
  run: ["feedback", "feedback_tokens", "annotation_queue_runs"].map(
    (table) => `UPDATE ${table} SET run_id = ?1 WHERE run_id = ?2 AND +tenant_id = ?3`,
  ),
  project: ["UPDATE feedback SET project_id = ?1 WHERE project_id = ?2 AND +tenant_id = ?3"],
  dataset: [
    "UPDATE projects SET reference_dataset_id = ?1 WHERE reference_dataset_id = ?2 AND tenant_id = ?3",
    "UPDATE comparatives SET dataset_id = ?1 WHERE dataset_id = ?2 AND +tenant_id = ?3",
  ],
};

/** The same for the one who writes, and gives longer keys. */
export class TenantKeyWriter extends TenantKeys {
  readonly #insert;
  readonly #mentions;
  /** For each tenant that was looked up, whether it has any. Only this thread writes the table. */
  readonly #known = new Map<string, boolean>();

  constructor(db: Connection) {
    super(db);
    this.#insert = db.prepare(
      "INSERT OR IGNORE INTO tenant_keys (tenant_id, kind, id) VALUES (?, ?, ?)",
    );
    this.#mentions = {
      run: mentions.run.map((sql) => db.prepare(sql)),
      project: mentions.project.map((sql) => db.prepare(sql)),
      dataset: mentions.dataset.map((sql) => db.prepare(sql)),
    };
  }

  override hasLong(tenantId: string): boolean {
    const known = this.#known.get(tenantId);
    if (known !== undefined) {
      return known;
    }
    const hasLong = super.hasLong(tenantId);
    this.#known.set(tenantId, hasLong);
    return hasLong;
  }

  /** Gives an id, whose key is another tenant's, its longer key: what was said of it before goes with it. */
  lengthen(kind: KeyKind, tenantId: string, id: string): string {
    const key = longKey(id, tenantId);
    this.#insert.run([tenantId, kind, id]);
    this.#known.set(tenantId, true);
    this.#mentions[kind].forEach((statement) => statement.run([key, id, tenantId]));
    return key;
  }

  /** After a rollback: a key may not have been given after all. */
  forget(): void {
    this.#known.clear();
  }
}

/**
 * A copy with ids in place of the tenant's longer keys, wherever they stand. Such a key is long enough, and names the
 * tenant: no other text is taken for one.
 */
export function toIds<Value>(tenantId: string, value: Value): Value {
  const end = `/${tenantId}`;
  const one = (text: string): string =>
    text.endsWith(end) && text.length === idOf(text).length + end.length ? idOf(text) : text;
  const all = (part: unknown): unknown => {
    if (typeof part === "string") {
      return one(part);
    }
    if (Array.isArray(part)) {
      return part.map(all);
    }
    if (part instanceof Map) {
      return new Map([...part].map(([key, member]) => [all(key), all(member)]));
    }
    if (isPlain(part)) {
      return Object.fromEntries(
        Object.entries(part).map(([name, member]) => [one(name), all(member)]),
      );
    }
    return part;
  };
  return all(value) as Value;
}

/** Bytes, sets and what is not finished stay as they are: none of them holds keys. */
const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
