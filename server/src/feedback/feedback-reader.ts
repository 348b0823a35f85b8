import type {
  Feedback,
  FeedbackQuery,
  FeedbackReads,
  FeedbackToken,
  PageRange,
} from "./feedback.ts";
import type { FeedbackStats } from "../runs/run-feedback.ts";
import type { RunFilter } from "../runs/run-query.ts";
import { readToken } from "../storage/share-token.ts";
import {
  feedbackSelection,
  parseFeedbackRow,
  parseTokenRow,
  tokenColumns,
} from "./feedback-row.ts";
import { foldStats, statsColumns } from "./feedback-stats.ts";
import { withinDeadline } from "../storage/sqlite/query-clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import { toConditions } from "../runs/sqlite/run-conditions.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { hasTextIndex } from "../runs/sqlite/text-index/text-index.ts";
import {
  digestToken,
  openedToken,
  tokenOwners,
  toShareToken,
} from "../storage/sqlite/token-keys.ts";

/**
 * Joins feedback to its runs in this order, since there is less feedback; CROSS JOIN keeps SQLite from reordering
 * them.
 */
const feedbackWithRuns = "feedback f CROSS JOIN runs r ON r.id = f.run_id";

/** Queries feedback. Ids are bound as one JSON list, however many they are. */
export class FeedbackReader implements FeedbackReads {
  readonly #db: Connection;
  readonly #hasTextIndex: boolean;
  readonly #statements;

  constructor(db: Connection) {
    this.#db = db;
    this.#hasTextIndex = hasTextIndex(db);
    const statsBy = (column: string, source: string) =>
      db
        .prepare(
          `SELECT ${column}, ${statsColumns} FROM ${source}
           WHERE ${column} IN (SELECT value FROM json_each(?2)) AND +f.tenant_id = ?1 GROUP BY 1, 2, 3`,
        )
        .raw();
    this.#statements = {
      find: db.prepare(`${feedbackSelection} WHERE f.tenant_id = ? AND f.id = ?`).raw(),
      ofRuns: statsBy("f.run_id", "feedback f"),
      ofComparedRuns: db
        .prepare(
          `SELECT f.run_id, ${statsColumns} FROM feedback f
           WHERE f.run_id IN (SELECT value FROM json_each(?2)) AND +f.tenant_id = ?1
             AND +f.comparative_id = ?3 GROUP BY 1, 2, 3`,
        )
        .raw(),
      ofProjectRuns: db
        .prepare(
          `SELECT r.project_id, ${statsColumns} FROM ${feedbackWithRuns} JOIN projects p ON p.id = r.project_id
           WHERE f.tenant_id = ?1 AND ${withinDeadline("f.created_us")} AND p.tenant_id = ?1 AND p.id IN (SELECT value FROM json_each(?2))
           GROUP BY 1, 2, 3`,
        )
        .raw(),
      ofProjects: statsBy("f.project_id", "(SELECT * FROM feedback WHERE run_id IS NULL) f"),
      ofComparatives: statsBy("f.comparative_id", "feedback f"),
      findToken: db.prepare(`SELECT ${tokenColumns} FROM feedback_tokens WHERE digest = ?`).raw(),
      listTokens: db
        .prepare(
          // Expired tokens are listed only if they can be decrypted: without its key an expired token is useless.
          `SELECT ${openedFeedbackToken}, ${tokenColumns} FROM feedback_tokens
           WHERE tenant_id = ?1 AND run_id = ?2 AND (expires_us > ?3 OR ${openedFeedbackToken} <> '')
           ORDER BY created_us, id LIMIT ?4 OFFSET ?5`,
        )
        .raw(),
    };
  }

  find(tenantId: string, id: string): Feedback | undefined {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    return values === undefined ? undefined : parseFeedbackRow(values);
  }

  list(tenantId: string, query: FeedbackQuery): readonly Feedback[] {
    const { sql, values } = conditionsOf(tenantId, query);
    const rows = this.#db
      .prepareRaw(
        `${feedbackSelection} WHERE ${sql} ORDER BY f.created_us DESC, f.id DESC LIMIT ? OFFSET ?`,
      )
      .all([...values, query.limit, query.offset]);
    return parseRows(rows).map(parseFeedbackRow);
  }

  statsOfRuns(
    tenantId: string,
    runIds: readonly string[],
    comparativeId?: string,
  ): ReadonlyMap<string, FeedbackStats> {
    const { ofRuns, ofComparedRuns } = this.#statements;
    const ids = JSON.stringify(runIds);
    return foldStats(
      comparativeId === undefined
        ? ofRuns.all([tenantId, ids])
        : ofComparedRuns.all([tenantId, ids, comparativeId]),
    );
  }

  statsOfFilter(tenantId: string, filter: RunFilter): FeedbackStats {
    const { sql, values } = toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex });
    const rows = this.#db
      .prepareRaw(
        `SELECT '', ${statsColumns} FROM ${feedbackWithRuns} WHERE f.tenant_id = ? AND ${sql} GROUP BY 1, 2, 3`,
      )
      .all([tenantId, ...values]);
    return foldStats(rows).get("") ?? {};
  }

  statsOfProjectRuns(tenantId: string, ids: readonly string[]): ReadonlyMap<string, FeedbackStats> {
    return foldStats(this.#statements.ofProjectRuns.all([tenantId, JSON.stringify(ids)]));
  }

  statsOfProjects(tenantId: string, ids: readonly string[]): ReadonlyMap<string, FeedbackStats> {
    return foldStats(this.#statements.ofProjects.all([tenantId, JSON.stringify(ids)]));
  }

  statsOfComparatives(
    tenantId: string,
    ids: readonly string[],
  ): ReadonlyMap<string, FeedbackStats> {
    return foldStats(this.#statements.ofComparatives.all([tenantId, JSON.stringify(ids)]));
  }

  findToken(token: string): FeedbackToken | undefined {
    const [values] = parseRows(this.#statements.findToken.all([digestToken(token)]));
    return values === undefined ? undefined : parseTokenRow(token, values);
  }

  listTokens(
    tenantId: string,
    runId: string,
    { limit, offset }: PageRange,
  ): readonly FeedbackToken[] {
    const now = Date.now() * 1_000;
    const rows = this.#statements.listTokens.all([tenantId, runId, now, limit, offset]);
    return parseRows(rows).map(([token, ...values]) =>
      parseTokenRow(readToken(toShareToken(token)) ?? "", values),
    );
  }
}

const openedFeedbackToken = openedToken("sealed", tokenOwners.feedback("id"));

type Value = string | number;

/** The conditions of a query, within a tenant. Values are bound. */
function conditionsOf(
  tenantId: string,
  query: FeedbackQuery,
): { readonly sql: string; readonly values: readonly Value[] } {
  const parts: { readonly sql: string; readonly values: readonly Value[] }[] = [];
  const add = (sql: string, ...values: Value[]): unknown => parts.push({ sql, values });
  const addList = (column: string, list: readonly string[] | undefined): unknown =>
    list !== undefined &&
    add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(list));
  const addPresence = (column: string, isPresent: boolean | undefined): unknown =>
    isPresent !== undefined && add(`${column} IS ${isPresent ? "NOT " : ""}NULL`);

  // If the query names runs or a comparison, their index selects fewer rows than the tenant's; the unary plus
  // disables the latter.
  const hasBetterIndex = query.runIds !== undefined || query.comparativeId !== undefined;
  add(`${hasBetterIndex ? "+" : ""}f.tenant_id = ?`, tenantId);
  addList("f.run_id", query.runIds);
  // The project of the run if the run was received, otherwise the project that the caller named.
  addList("coalesce(p.id, f.project_id)", query.projectIds);
  addList(
    "f.key_json",
    query.keys?.map((key) => JSON.stringify(key)),
  );
  addList(
    "f.source_type_json",
    query.sourceTypes?.map((type) => JSON.stringify(type)),
  );
  addPresence("f.run_id", query.level === undefined ? undefined : query.level === "run");
  addPresence("f.score_json", query.hasScore);
  addPresence("f.comment_json", query.hasComment);
  if (query.comparativeId !== undefined) {
    add("f.comparative_id = ?", query.comparativeId);
  }
  if (query.minCreatedMicros !== undefined) {
    add("f.created_us >= ?", query.minCreatedMicros);
  }
  if (query.maxCreatedMicros !== undefined) {
    add("f.created_us <= ?", query.maxCreatedMicros);
  }
  return {
    sql: parts.map(({ sql }) => sql).join(" AND "),
    values: parts.flatMap(({ values }) => values),
  };
}
