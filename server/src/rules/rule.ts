import type { RuleAction } from "./rule-action.ts";

export const ruleLimits = {
  /** Maximum number of rules of one project. */
  perProject: 50,
  /** Maximum number of characters of a rule's name. */
  nameChars: 200,
  /** Maximum number of characters of a rule's filter. */
  filterChars: 8_000,
  /** Number of stored runs among which one step searches for roots. */
  scannedRows: 5_000,
  /** Number of roots that are compared with a filter in one query. */
  comparedRoots: 200,
  /** Maximum number of roots that have not ended and are watched until they do. */
  openRoots: 10_000,
  /** Number of hours for which such a root is watched. */
  openHours: 24,
  /** Number of rules whose actions are taken in one step. */
  rulesAtOnce: 50,
  /** Number of runs for which the action of one rule is taken in one step. */
  runsAtOnce: 200,
  /** Maximum number of judges that run at the same time. */
  judgesAtOnce: 32,
  /** Maximum number of judges of one tenant that run at the same time. */
  judgesOfTenant: 4,
  /** Number of rules whose judges are checked for due runs at once. */
  judgingRules: 1_000,
  /**
   * The longest time that a judge waits when a limit of calls is reached. If it would have to wait longer, the attempt
   * fails.
   */
  judgePauseSeconds: 60,
  /** Number of runs that one step reads when a rule is applied to past runs. */
  pastScan: 2_000,
  /** Maximum number of matching runs that such a step returns. */
  pastMatches: 200,
  /** Maximum length in days of the range of past runs to which a rule is applied. */
  pastDays: 366,
  /** Number of days after which the server forgets that a rule was applied to a run. */
  markDays: 90,
  /** Maximum number of errors that are shown with a rule. */
  errors: 5,
  /** Maximum number of characters of each of these errors. */
  errorChars: 500,
} as const;

/**
 * Milliseconds from each failed attempt to take an action to the next attempt. If the attempt after the last delay
 * fails, the run counts as failed.
 */
export const actionDelaysMs: readonly number[] = [10_000, 60_000, 600_000, 3_600_000];

/** A rule of a project: an action to take for each root run that matches a filter, once the run has ended. */
export interface Rule {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  /** A text of the filter language; empty for all traces. */
  readonly filter: string;
  /** The share of the matching traces to which the rule applies, from 0 (exclusive) to 1. */
  readonly samplingRate: number;
  readonly action: RuleAction;
  readonly isEnabled: boolean;
  /** Why the server has disabled the rule; `null` if it has not. */
  readonly pausedReason: string | null;
  readonly createdMicros: number;
  /** Number of runs that match the filter and are in the sample. */
  readonly matched: number;
  /** Number of these runs for which the action was taken. */
  readonly applied: number;
  /** Number of these runs for which the action failed for good. */
  readonly failed: number;
  readonly lastErrors: readonly RuleError[];
  /** `null` unless the rule is being applied to past runs. */
  readonly past: PastRange | null;
}

/** Why the action of a rule failed for a run. */
export interface RuleError {
  readonly runId: string;
  readonly atMicros: number;
  readonly reason: string;
  /** When the action is tried again; `null` if it failed for good. */
  readonly nextMicros: number | null;
}

/** The range of start times of past runs to which a rule is being applied, and the position that was reached. */
export interface PastRange {
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly positionMicros: number;
  readonly positionId: string;
}

/** The settings of a rule, which a user chooses. */
export type RuleDraft = Pick<Rule, "name" | "filter" | "samplingRate" | "action">;

/** The settings of a rule that an update changes. Absent ones keep their value. */
export type RuleChanges = Partial<RuleDraft> & { readonly isEnabled?: boolean };

/** A rule that is enabled, of any tenant. */
export interface ActiveRule extends Pick<
  Rule,
  "id" | "projectId" | "filter" | "samplingRate" | "action" | "past"
> {
  readonly tenantId: string;
  /** Runs up to this row had arrived before the rule was enabled. */
  readonly fromRow: number;
}

/** A root run that has ended, to which rules may apply. */
export interface EndedRoot {
  readonly tenantId: string;
  readonly projectId: string;
  /** The number of its row in the table of runs. */
  readonly row: number;
  readonly id: string;
  readonly traceId: string;
}

/** A root run that has not ended. */
export interface OpenRoot {
  /** The number of its row in the table of runs. */
  readonly row: number;
  /** The key of its row, which differs from the run's id only if another tenant used that id before. */
  readonly key: string;
}

/** What one step of the search for ended roots has found. */
export interface RootScan {
  /** The number of the last row of the table of runs that this step has searched. */
  readonly toRow: number;
  readonly hasMore: boolean;
  readonly ended: readonly EndedRoot[];
  /** Roots that must be watched, because they have not ended. */
  readonly opened: readonly OpenRoot[];
  /** Rows of watched runs that have ended, were deleted, or turned out not to be roots. */
  readonly closed: readonly number[];
  /** Rows of watched roots that did not end within {@link ruleLimits.openHours}. */
  readonly expired: readonly number[];
}

/**
 * Finds root runs in the order in which they were stored. Whether a method returns a promise depends on the database
 * engine.
 */
export interface RuleRoots {
  scan(nowMicros: number): RootScan | Promise<RootScan>;
  /** Returns the number of the row that was stored last; 0 if there is none. */
  latestRow(): number | Promise<number>;
}

/** Runs to which a rule applies. */
export interface RuleMatches {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly runIds: readonly string[];
}

/** Runs for which the action of a rule is due. */
export interface DueAction extends Pick<Rule, "projectId" | "action"> {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly ruleName: string;
  readonly runs: readonly { readonly id: string; readonly attempts: number }[];
}

export interface ActionResult {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly runId: string;
  readonly error: string | null;
  /** When the action is tried again; `null` if it was taken, or failed for good. */
  readonly nextMicros: number | null;
}

export interface RuleReads {
  /** Lists the rules of a project by name. */
  list(tenantId: string, projectId: string): Promise<readonly Rule[]>;
  /** @throws RequestError 404: there is no such rule. */
  find(tenantId: string, id: string): Promise<Rule>;
  /** Lists the enabled rules of all tenants. */
  listActive(): Promise<readonly ActiveRule[]>;
  /** Finds root runs that were stored since the last step, of projects with enabled rules. */
  scanRoots(nowMicros: number): Promise<RootScan>;
  /**
   * Lists the due actions of all tenants, with a limited number of runs for each rule, and returns when the next action
   * is due. Actions that call a judge are left out.
   */
  listDue(nowMicros: number): Promise<{
    readonly due: readonly DueAction[];
    readonly nextMicros: number | null;
  }>;
  /** Lists the rules, of all tenants, whose judge is due for at least one run. */
  listWaitingJudges(
    nowMicros: number,
  ): Promise<readonly { readonly tenantId: string; readonly ruleId: string }[]>;
  /**
   * Finds runs for which the action of one rule is due.
   *
   * @throws RequestError 404: there is no such rule.
   */
  findDue(
    tenantId: string,
    ruleId: string,
    range: { readonly nowMicros: number; readonly limit: number },
  ): Promise<DueAction>;
}

/** Writes rules, and the progress of applying them. */
export interface RuleWrites {
  /** @throws RequestError 404: there is no such project. 409: the project has too many rules. */
  create(tenantId: string, projectId: string, draft: RuleDraft): Promise<Rule>;
  /** @throws RequestError 404: there is no such rule. */
  update(tenantId: string, id: string, changes: RuleChanges): Promise<Rule>;
  delete(tenantId: string, id: string): Promise<void>;
  /**
   * Begins to apply a rule to past runs. It skips the runs to which it was applied in the last
   * {@link ruleLimits.markDays} days.
   */
  beginPast(
    tenantId: string,
    id: string,
    range: { readonly fromMicros: number; readonly toMicros: number },
  ): Promise<Rule>;
  /** Stops applying a rule to past runs. */
  endPast(tenantId: string, id: string): Promise<Rule>;
  /** Tries the failed actions of a rule again. Returns their number. */
  retry(tenantId: string, id: string): Promise<number>;
  /** Disables a rule that can't be applied. */
  pause(tenantId: string, id: string, reason: string): Promise<void>;
  /**
   * Stores the position of the search for ended roots, and the runs to which rules apply. Returns the number of roots
   * that are no longer watched, because too many have not ended.
   */
  advance(scan: Omit<RootScan, "ended">, matches: readonly RuleMatches[]): Promise<number>;
  /** Stores how far a rule was applied to past runs. `position` is `null` if the rule was applied to all of them. */
  advancePast(
    matches: RuleMatches,
    position: Pick<PastRange, "positionMicros" | "positionId"> | null,
  ): Promise<void>;
  /** Stores the results of actions. */
  record(results: readonly ActionResult[]): Promise<void>;
  /** Deletes the records of runs for which a rule's action was taken before this time. */
  prune(beforeMicros: number): Promise<void>;
}
