import type { RetentionRule } from "./retention.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/sqlite/tenant-keys.ts";

/** Rules are settings: `retention/{tenant}` and `retention/{tenant}/{project}`, the project by its id. */
export const ruleKey = (tenantId: string, projectId: string | null): string =>
  projectId === null ? `retention/${tenantId}` : `retention/${tenantId}/${idOf(projectId)}`;

/** Reads rules from `settings`. */
export class RetentionRules {
  readonly #list;

  constructor(db: Connection) {
    this.#list = db
      .prepare("SELECT key, value FROM settings WHERE key >= ?1 AND key < ?1 || '0' ORDER BY key")
      .raw();
  }

  /** The tenant's own first, if there is one. */
  list(tenantId: string): readonly RetentionRule[] {
    // '0' comes after '/': all that begins with the key, and nothing else.
    return parseRows(this.#list.all([ruleKey(tenantId, null)])).map(([key, value]) => ({
      projectId: String(key).split("/")[2] ?? null,
      days: value === "" ? null : Number(value),
    }));
  }
}
