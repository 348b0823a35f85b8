import type { Database } from "../storage/query.ts";
import { feedbackQueries } from "./feedback-queries.ts";
import { parseCategory } from "./feedback-stats.ts";
import type { FeedbackPoint, FeedbackTrendReads, TrendQuery } from "./trend-query.ts";

/** Reads feedback for charts. */
export class FeedbackTrend implements FeedbackTrendReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async read(tenantId: string, query: TrendQuery) {
    const rows = await this.#db.all(feedbackQueries.trend, { tenantId, ...query });
    const points = rows
      .filter((row) => row.is_of_project === 1)
      .map((row): FeedbackPoint => ({
        key: String(JSON.parse(row.key_json)),
        atMicros: row.created_us,
        score: row.score,
        value: parseCategory(row.category) ?? null,
      }));
    return { points, isComplete: rows.length < query.limit };
  }
}
