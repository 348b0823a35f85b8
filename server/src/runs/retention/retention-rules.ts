import type { RetentionRule } from "./retention.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/row-keys.ts";

/** Rules are stored as settings with the keys `retention/{tenant id}` and `retention/{tenant id}/{project id}`. */
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

  /** Lists the rules of a tenant. The rule for all of its projects comes first, if there is one. */
  list(tenantId: string): readonly RetentionRule[] {
    // '0' follows '/' in ASCII, so the range contains exactly the keys that begin with the prefix.
    return parseRows(this.#list.all([ruleKey(tenantId, null)])).map(([key, value]) => ({
      projectId: String(key).split("/")[2] ?? null,
      days: value === "" ? null : Number(value),
    }));
  }
}
