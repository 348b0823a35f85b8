import {
  listParameter,
  parameter,
  toCondition,
  toNumbered,
} from "../../runs/postgres/run-conditions.ts";
import type { FeedbackStats } from "../../runs/run-feedback.ts";
import type { RunFilter } from "../../runs/run-query.ts";
import { sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { FilteredFeedback } from "../feedback.ts";
import { categoryColumn } from "../feedback-queries.ts";
import { aggregateStats } from "../feedback-stats.ts";

/** Reads statistics of the feedback on the runs that a filter matches. */
export class PostgresFilteredFeedback implements FilteredFeedback {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async readStats(tenantId: string, filter: RunFilter): Promise<FeedbackStats> {
    // With ids, an index finds the feedback of these runs. Otherwise all feedback is read, which is less than there are
    // runs, and `run_keys` finds its runs.
    const idCondition =
      filter.ids === undefined ? sql`` : sql`f.run_id IN ${listParameter(filter.ids)} AND`;
    const { text, values } = toNumbered(
      sql`SELECT f.key_json, ${categoryColumn} AS category, count(*) AS n, count(f.score) AS scored, sum(f.score) AS sum
        FROM feedback f JOIN run_keys k ON k.tenant_id = f.tenant_id AND k.id = f.run_id
        JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
        WHERE ${idCondition} f.tenant_id = ${parameter(tenantId)} AND ${toCondition(tenantId, filter)} GROUP BY 1, 2`,
    );
    const { rows } = await this.#db.execute<{
      readonly key_json: string;
      readonly category: string | null;
      readonly n: number;
      readonly scored: number;
      readonly sum: number | null;
    }>(text, values);
    return aggregateStats(rows.map((row) => ({ group_id: "", ...row }))).get("") ?? {};
  }
}
