import { sql } from "kysely";
import type { FeedbackStats } from "../runs/run-feedback.ts";
import type { RunFilter } from "../runs/run-query.ts";
import { isInList, withoutIndex } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";
import { digestToken, openToken, readToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type {
  Feedback,
  FeedbackQuery,
  FeedbackReads,
  FeedbackToken,
  FilteredFeedback,
  PageRange,
} from "./feedback.ts";
import { feedbackQueries, feedbackSelection } from "./feedback-queries.ts";
import type { TokenRow } from "./feedback-queries.ts";
import { parseFeedbackRow, parseTokenRow } from "./feedback-row.ts";
import { foldStats } from "./feedback-stats.ts";

type StatsByGroup = ReadonlyMap<string, FeedbackStats>;

/** Queries feedback. Ids are bound as one JSON list, however many they are. */
export class FeedbackReader implements FeedbackReads {
  readonly #db: Database;
  readonly #tokens: TokenCipher;
  readonly #filtered: FilteredFeedback;

  constructor(db: Database, tokens: TokenCipher, filtered: FilteredFeedback) {
    this.#db = db;
    this.#tokens = tokens;
    this.#filtered = filtered;
  }

  async find(tenantId: string, id: string): Promise<Feedback | undefined> {
    const row = await this.#db.first(feedbackQueries.find, { tenantId, id });
    return row === undefined ? undefined : parseFeedbackRow(row);
  }

  async list(tenantId: string, query: FeedbackQuery): Promise<readonly Feedback[]> {
    const rows = await this.#db.all(
      buildList(tenantId, query)
        .orderBy("f.created_us", "desc")
        .orderBy("f.id", "desc")
        .limit(query.limit)
        .offset(query.offset),
    );
    return rows.map(parseFeedbackRow);
  }

  async statsOfRuns(
    tenantId: string,
    runIds: readonly string[],
    comparativeId?: string,
  ): Promise<StatsByGroup> {
    const { sumByRun, sumByComparedRun } = feedbackQueries;
    const list = { tenantId, ids: JSON.stringify(runIds) };
    return foldStats(
      comparativeId === undefined
        ? await this.#db.all(sumByRun, list)
        : await this.#db.all(sumByComparedRun, { ...list, comparativeId }),
    );
  }

  async statsOfFilter(tenantId: string, filter: RunFilter): Promise<FeedbackStats> {
    return this.#filtered.stats(tenantId, filter);
  }

  statsOfProjectRuns(tenantId: string, ids: readonly string[]): Promise<StatsByGroup> {
    return this.#sum(feedbackQueries.sumByProjectOfRun, tenantId, ids);
  }

  statsOfProjects(tenantId: string, ids: readonly string[]): Promise<StatsByGroup> {
    return this.#sum(feedbackQueries.sumByProject, tenantId, ids);
  }

  statsOfComparatives(tenantId: string, ids: readonly string[]): Promise<StatsByGroup> {
    return this.#sum(feedbackQueries.sumByComparative, tenantId, ids);
  }

  async findToken(token: string): Promise<FeedbackToken | undefined> {
    const row = await this.#db.first(feedbackQueries.findToken, { digest: digestToken(token) });
    return row === undefined ? undefined : parseTokenRow(token, row);
  }

  async listTokens(
    tenantId: string,
    runId: string,
    { limit, offset }: PageRange,
  ): Promise<readonly FeedbackToken[]> {
    const now = Date.now() * 1_000;
    const rows = await this.#db.all(feedbackQueries.listTokens, { tenantId, runId });
    // Expired tokens are listed only if they can be decrypted: without its key an expired token is useless.
    return rows
      .filter((row) => row.expires_us > now || typeof this.#open(row) === "string")
      .slice(offset, offset + limit)
      .map((row) => parseTokenRow(readToken(this.#open(row)), row));
  }

  async #sum(
    query: typeof feedbackQueries.sumByProject,
    tenantId: string,
    ids: readonly string[],
  ): Promise<StatsByGroup> {
    return foldStats(await this.#db.all(query, { tenantId, ids: JSON.stringify(ids) }));
  }

  #open({ id, sealed }: TokenRow) {
    return openToken(this.#tokens, sealed, tokenOwner.feedback(id));
  }
}

const isPresent = (flag: boolean) => (flag ? "is not" : "is");

const toJsonTexts = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text));

/** Selects the feedback of a tenant that meets all filters that are set. */
function buildList(tenantId: string, query: FeedbackQuery) {
  const { runIds, projectIds, keys, sourceTypes, comparativeId } = query;
  const { level, hasScore, hasComment, minCreatedMicros, maxCreatedMicros } = query;
  // If the query names runs or a comparison, their index selects fewer rows than the tenant's.
  const hasBetterIndex = runIds !== undefined || comparativeId !== undefined;
  let list = feedbackSelection.where((eb) =>
    eb(hasBetterIndex ? withoutIndex(eb.ref("f.tenant_id")) : eb.ref("f.tenant_id"), "=", tenantId),
  );
  if (runIds !== undefined) {
    list = list.where((eb) => isInList(eb.ref("f.run_id"), runIds));
  }
  if (projectIds !== undefined) {
    // The project of the run if the run was received, otherwise the project that the caller named.
    list = list.where(isInList(sql<string | null>`coalesce(p.id, f.project_id)`, projectIds));
  }
  if (keys !== undefined) {
    list = list.where((eb) => isInList(eb.ref("f.key_json"), toJsonTexts(keys)));
  }
  if (sourceTypes !== undefined) {
    list = list.where((eb) => isInList(eb.ref("f.source_type_json"), toJsonTexts(sourceTypes)));
  }
  if (level !== undefined) {
    list = list.where("f.run_id", isPresent(level === "run"), null);
  }
  if (hasScore !== undefined) {
    list = list.where("f.score_json", isPresent(hasScore), null);
  }
  if (hasComment !== undefined) {
    list = list.where("f.comment_json", isPresent(hasComment), null);
  }
  if (comparativeId !== undefined) {
    list = list.where("f.comparative_id", "=", comparativeId);
  }
  if (minCreatedMicros !== undefined) {
    list = list.where("f.created_us", ">=", minCreatedMicros);
  }
  if (maxCreatedMicros !== undefined) {
    list = list.where("f.created_us", "<=", maxCreatedMicros);
  }
  return list;
}
