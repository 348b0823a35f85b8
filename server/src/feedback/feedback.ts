import type {
  Judgement,
  FeedbackDraft,
  FeedbackStats,
  RunFeedbackReads,
  JsonObject,
} from "../runs/run-feedback.ts";
import type { RunFilter } from "../runs/run-query.ts";

/** The fields of a judgement to change; `undefined` leaves a field unchanged. */
export type JudgementChanges = { readonly [Name in keyof Judgement]: Judgement[Name] | undefined };

/** Stored feedback. */
export interface Feedback extends Omit<FeedbackDraft, "createdMicros"> {
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  /** The run that the feedback is about; `null` for feedback on a project, and until the run is received. */
  readonly run: {
    readonly traceId: string;
    readonly startMicros: number;
    readonly isRoot: boolean;
  } | null;
}

/**
 * Selects feedback. All filters that are set must match. A filter with a list matches if one of the list's items
 * matches.
 */
export interface FeedbackQuery {
  readonly runIds?: readonly string[];
  readonly projectIds?: readonly string[];
  readonly keys?: readonly string[];
  readonly sourceTypes?: readonly string[];
  readonly level?: "run" | "session";
  readonly hasScore?: boolean;
  readonly hasComment?: boolean;
  readonly comparativeId?: string;
  /** The earliest time of creation, included. */
  readonly minCreatedMicros?: number;
  /** The latest time of creation, included. */
  readonly maxCreatedMicros?: number;
  readonly limit: number;
  readonly offset: number;
}

/** A token that allows its holder to submit feedback with one key on one run until it expires. */
export interface FeedbackToken {
  readonly token: string;
  readonly tenantId: string;
  readonly id: string;
  readonly runId: string;
  readonly key: string;
  readonly config: JsonObject | null;
  readonly expiresMicros: number;
}

/** A token for giving feedback that is to be created. */
export type FeedbackTokenDraft = Pick<FeedbackToken, "runId" | "key" | "config" | "expiresMicros">;

/** Which part of a list to return: at most `limit` items, after the first `offset` ones. */
export interface PageRange {
  readonly limit: number;
  readonly offset: number;
}

export interface FeedbackReads extends RunFeedbackReads {
  find(tenantId: string, id: string): Promise<Feedback | undefined>;
  /** Lists feedback, the latest first. */
  list(tenantId: string, query: FeedbackQuery): Promise<readonly Feedback[]>;
  /** Statistics of the feedback on the runs of each project; projects without such feedback have no entry. */
  statsOfProjectRuns(
    tenantId: string,
    projectIds: readonly string[],
  ): Promise<ReadonlyMap<string, FeedbackStats>>;
  /** Statistics of the feedback on the projects themselves; projects without such feedback have no entry. */
  statsOfProjects(
    tenantId: string,
    projectIds: readonly string[],
  ): Promise<ReadonlyMap<string, FeedbackStats>>;
  /** Statistics of the feedback that belongs to each comparison; comparisons without feedback have no entry. */
  statsOfComparatives(
    tenantId: string,
    comparativeIds: readonly string[],
  ): Promise<ReadonlyMap<string, FeedbackStats>>;
  /** Finds a token. There is no tenant argument, because the token itself authorizes its holder. */
  findToken(token: string): Promise<FeedbackToken | undefined>;
  /** Lists the tokens of a run in the order of creation, including expired tokens. */
  listTokens(tenantId: string, runId: string, range: PageRange): Promise<readonly FeedbackToken[]>;
}

/**
 * Reads statistics of the feedback on the runs that a filter matches. Each database engine has its own implementation,
 * because a filter of runs is compiled to the SQL of the engine.
 */
export interface FilteredFeedback {
  readStats(tenantId: string, filter: RunFilter): FeedbackStats | Promise<FeedbackStats>;
}

/** Writes feedback, and the tokens with which it can be submitted. */
export interface FeedbackWrites {
  /**
   * Creates feedback. Repeating the call with the same content changes nothing.
   *
   * @throws RequestError 404: the tenant has no such project or comparison. 409: feedback with the same id but
   * different content exists.
   */
  create(tenantId: string, draft: FeedbackDraft): Promise<Feedback>;
  /** @throws RequestError 404: no such feedback. */
  update(tenantId: string, id: string, changes: JudgementChanges): Promise<Feedback>;
  /** @throws RequestError 404: no such feedback. */
  delete(tenantId: string, id: string): Promise<void>;
  /** Creates all of the tokens, or none. */
  createTokens(
    tenantId: string,
    drafts: readonly FeedbackTokenDraft[],
  ): Promise<readonly FeedbackToken[]>;
}
