import type { RetentionReads, RetentionRule } from "./retention.ts";
import { retentionQueries } from "./retention-queries.ts";
import type { Database } from "../../storage/query.ts";
import { idOf } from "../../storage/row-keys.ts";

/** Returns the key of the setting that stores a rule. */
export const createRuleKey = (tenantId: string, projectId: string | null): string =>
  projectId === null ? `retention/${tenantId}` : `retention/${tenantId}/${idOf(projectId)}`;

/** Reads rules from `settings`. */
export class RetentionRules implements RetentionReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(tenantId: string): Promise<readonly RetentionRule[]> {
    const from = createRuleKey(tenantId, null);
    // '0' follows '/' in ASCII, so the range contains the key `from` and all keys that begin with `from` and a slash.
    const rows = await this.#db.all(retentionQueries.list, { from, to: `${from}0` });
    return rows.map(({ key, value }) => ({
      projectId: key.split("/")[2] ?? null,
      days: value === "" ? null : Number(value),
    }));
  }
}
