import type { FeedbackStats } from "../runs/run-feedback.ts";
import type { RunFilter } from "../runs/run-query.ts";
import type { Database } from "../storage/query.ts";
import { digestToken, decryptToken, readToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type {
  Feedback,
  FeedbackQuery,
  FeedbackReads,
  FeedbackToken,
  FilteredFeedback,
  PageRange,
} from "./feedback.ts";
import { feedbackLists, feedbackQueries } from "./feedback-queries.ts";
import type { TokenRow } from "./feedback-queries.ts";
import { parseFeedbackRow, parseTokenRow, toJson } from "./feedback-row.ts";
import { aggregateStats } from "./feedback-stats.ts";

type StatsByGroup = ReadonlyMap<string, FeedbackStats>;

/** Queries feedback. A list of ids, however long, is bound to one SQL parameter, as a JSON array. */
export class FeedbackReader implements FeedbackReads {
  readonly #db: Database;
  readonly #tokens: TokenCipher;
  readonly #filtered: FilteredFeedback;

  constructor(db: Database, tokenCipher: TokenCipher, filteredFeedback: FilteredFeedback) {
    this.#db = db;
    this.#tokens = tokenCipher;
    this.#filtered = filteredFeedback;
  }

  async find(tenantId: string, id: string): Promise<Feedback | undefined> {
    const row = await this.#db.first(feedbackQueries.find, { tenantId, id });
    return row === undefined ? undefined : parseFeedbackRow(row);
  }

  async list(tenantId: string, query: FeedbackQuery): Promise<readonly Feedback[]> {
    const { runIds, projectIds, keys, sourceTypes, level, hasScore, hasComment, ...page } = query;
    const values = {
      ...page,
      tenantId,
      runIds: runIds && JSON.stringify(runIds),
      projectIds: projectIds && JSON.stringify(projectIds),
      keys: keys && JSON.stringify(keys.map(toJson)),
      sourceTypes: sourceTypes && JSON.stringify(sourceTypes.map(toJson)),
    };
    const list = feedbackLists.select(values, { level, hasScore, hasComment });
    return (await this.#db.all(list, values)).map(parseFeedbackRow);
  }

  async readStatsOfRuns(
    tenantId: string,
    runIds: readonly string[],
    comparativeId?: string,
  ): Promise<StatsByGroup> {
    const { sumByRun, sumByComparedRun } = feedbackQueries;
    const queryValues = { tenantId, idsJson: JSON.stringify(runIds) };
    return aggregateStats(
      comparativeId === undefined
        ? await this.#db.all(sumByRun, queryValues)
        : await this.#db.all(sumByComparedRun, { ...queryValues, comparativeId }),
    );
  }

  async readStatsOfFilter(tenantId: string, filter: RunFilter): Promise<FeedbackStats> {
    return this.#filtered.readStats(tenantId, filter);
  }

  statsOfProjectRuns(tenantId: string, projectIds: readonly string[]): Promise<StatsByGroup> {
    return this.#readStats(feedbackQueries.sumByProjectOfRun, tenantId, projectIds);
  }

  statsOfProjects(tenantId: string, projectIds: readonly string[]): Promise<StatsByGroup> {
    return this.#readStats(feedbackQueries.sumByProject, tenantId, projectIds);
  }

  statsOfComparatives(tenantId: string, comparativeIds: readonly string[]): Promise<StatsByGroup> {
    return this.#readStats(feedbackQueries.sumByComparative, tenantId, comparativeIds);
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
    // An expired token that can't be decrypted is left out, because it is useless anyway. If a token that can't be
    // decrypted has not expired, `readToken` throws an error that says what to do.
    return rows
      .filter((row) => row.expires_us > now || typeof this.#decryptToken(row) === "string")
      .slice(offset, offset + limit)
      .map((row) => parseTokenRow(readToken(this.#decryptToken(row)), row));
  }

  async #readStats(
    query: typeof feedbackQueries.sumByProject,
    tenantId: string,
    ids: readonly string[],
  ): Promise<StatsByGroup> {
    return aggregateStats(await this.#db.all(query, { tenantId, idsJson: JSON.stringify(ids) }));
  }

  #decryptToken({ id, sealed }: TokenRow) {
    return decryptToken(this.#tokens, sealed, tokenOwner.feedback(id));
  }
}
