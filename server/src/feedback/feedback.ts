import type {
  Judgement,
  FeedbackDraft,
  FeedbackStats,
  RunFeedbackReads,
  JsonObject,
} from "../runs/run-feedback.ts";

/** What is `undefined` stays as it is. */
export type JudgementChanges = { readonly [Name in keyof Judgement]: Judgement[Name] | undefined };

export interface Feedback extends Omit<FeedbackDraft, "createdMicros"> {
  readonly createdMicros: number;
  readonly modifiedMicros: number;
  /** Of the run judged; `null` while it was not received. */
  readonly run: {
    readonly traceId: string;
    readonly startMicros: number;
    readonly isRoot: boolean;
  } | null;
}

/** Every filter that is given must hold; lists mean any of. */
export interface FeedbackQuery {
  readonly runIds?: readonly string[];
  readonly projectIds?: readonly string[];
  readonly keys?: readonly string[];
  readonly sourceTypes?: readonly string[];
  readonly level?: "run" | "session";
  readonly hasScore?: boolean;
  readonly hasComment?: boolean;
  readonly comparativeId?: string;
  /** At or after. */
  readonly minCreatedMicros?: number;
  /** At or before. */
  readonly maxCreatedMicros?: number;
  readonly limit: number;
  readonly offset: number;
}

/** Who holds the token may judge one run under one key until it expires. */
export interface FeedbackToken {
  readonly token: string;
  readonly tenantId: string;
  readonly id: string;
  readonly runId: string;
  readonly key: string;
  readonly config: JsonObject | null;
  readonly expiresMicros: number;
}

export type FeedbackTokenDraft = Pick<FeedbackToken, "runId" | "key" | "config" | "expiresMicros">;

export interface PageRange {
  readonly limit: number;
  readonly offset: number;
}

export interface FeedbackReads extends RunFeedbackReads {
  find(tenantId: string, id: string): Feedback | undefined;
  /** The latest first. */
  list(tenantId: string, query: FeedbackQuery): readonly Feedback[];
  /** Of the runs of each project, together; projects without have no entry. */
  statsOfProjectRuns(tenantId: string, ids: readonly string[]): ReadonlyMap<string, FeedbackStats>;
  /** Of each project itself; projects without have no entry. */
  statsOfProjects(tenantId: string, ids: readonly string[]): ReadonlyMap<string, FeedbackStats>;
  /** Of each comparison; comparisons without have no entry. */
  statsOfComparatives(tenantId: string, ids: readonly string[]): ReadonlyMap<string, FeedbackStats>;
  /** The holder of the token may read it. */
  findToken(token: string): FeedbackToken | undefined;
  /** By creation, expired ones too. */
  listTokens(tenantId: string, runId: string, range: PageRange): readonly FeedbackToken[];
}

export interface FeedbackWrites {
  /**
   * Repeated with the same content, it changes nothing.
   *
   * @throws RequestError 404: no such project, run or comparison of this tenant. 409: the id is another's.
   */
  create(tenantId: string, draft: FeedbackDraft): Feedback;
  /** @throws RequestError 404: no such feedback. */
  update(tenantId: string, id: string, changes: JudgementChanges): Feedback;
  /** @throws RequestError 404: no such feedback. */
  delete(tenantId: string, id: string): void;
  /** All of them, or none. @throws RequestError 404: a run is another tenant's. */
  createTokens(tenantId: string, drafts: readonly FeedbackTokenDraft[]): readonly FeedbackToken[];
}
