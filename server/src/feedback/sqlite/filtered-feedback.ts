import type { FeedbackStats } from "../../runs/run-feedback.ts";
import type { RunFilter } from "../../runs/run-query.ts";
import { toConditions } from "../../runs/sqlite/run-conditions.ts";
import { hasTextIndex } from "../../runs/sqlite/text-index/text-index.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import type { FilteredFeedback } from "../feedback.ts";
import { categoryColumn } from "../feedback-queries.ts";
import { aggregateStats } from "../feedback-stats.ts";

/**
 * Reads statistics of the feedback on the runs that a filter matches. It is specific to SQLite, because filters over
 * runs are compiled to SQLite's dialect of SQL.
 */
export class SqliteFilteredFeedback implements FilteredFeedback {
  readonly #db: Connection;
  readonly #hasTextIndex: boolean;

  constructor(db: Connection) {
    this.#db = db;
    this.#hasTextIndex = hasTextIndex(db);
  }

  readStats(tenantId: string, filter: RunFilter): FeedbackStats {
    const { sql, values } = toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex });
    // With ids, an index finds the feedback of these runs. The condition on the runs alone would read all feedback.
    const [idCondition, idValues] =
      filter.ids === undefined
        ? ["", []]
        : ["f.run_id IN (SELECT value FROM json_each(?)) AND", [JSON.stringify(filter.ids)]];
    const rows = this.#db
      .prepareRaw(
        // CROSS JOIN prevents SQLite from reordering the tables: there is less feedback than there are runs.
        `SELECT f.key_json, ${categoryColumn}, count(*), count(f.score), sum(f.score)
         FROM feedback f CROSS JOIN runs r ON r.id = f.run_id
         WHERE ${idCondition} f.tenant_id = ? AND ${sql} GROUP BY 1, 2`,
      )
      .all([...idValues, tenantId, ...values]) as readonly [
      string,
      string | null,
      number,
      number,
      number | null,
    ][];
    const sums = rows.map(([key_json, category, n, scored, sum]) => ({
      group_id: "",
      key_json,
      category,
      n,
      scored,
      sum,
    }));
    return aggregateStats(sums).get("") ?? {};
  }
}
