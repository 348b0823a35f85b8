import type { FeedbackPoint, FeedbackTrendReads, TrendQuery } from "./trend-query.ts";
import { withinDeadline } from "../storage/sqlite/query-clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** Maximum length of a value's JSON text to be counted as a category; longer ones are prose. */
const maxValueChars = 256;

/** Reads feedback for charts. */
export class FeedbackTrend implements FeedbackTrendReads {
  readonly #points;

  constructor(db: Connection) {
    // Limits the tenant's newest feedback first, which bounds the work, and then picks the feedback of the project.
    this.#points = db
      .prepare(
        `SELECT f.key_json, f.created_us, f.score,
           CASE WHEN length(f.value_json) <= ${maxValueChars} THEN f.value_json END,
           coalesce(p.id, f.project_id) = ?2
         FROM (SELECT * FROM feedback WHERE tenant_id = ?1 AND ${withinDeadline("created_us")} AND created_us >= ?3 AND created_us < ?4
               ORDER BY created_us DESC LIMIT ?5) f
           LEFT JOIN runs r ON r.id = f.run_id
           LEFT JOIN projects p ON p.id = r.project_id AND p.tenant_id = ?1`,
      )
      .raw();
  }

  read(tenantId: string, { projectId, fromMicros, toMicros, limit }: TrendQuery) {
    const rows = parseRows(this.#points.all([tenantId, projectId, fromMicros, toMicros, limit]));
    const points = rows
      .filter((row) => row[4] === 1)
      .map(([key, created, score, value]): FeedbackPoint => ({
        key: String(JSON.parse(String(key))),
        atMicros: Number(created),
        score: score === null ? null : Number(score),
        value: toCategory(value),
      }));
    return { points, isComplete: rows.length < limit };
  }
}

/** A string as it is, a number or boolean as JSON; `null` for lists and objects, which are not counted. */
function toCategory(json: unknown): string | null {
  if (typeof json !== "string" || json.startsWith("{") || json.startsWith("[")) {
    return null;
  }
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}
