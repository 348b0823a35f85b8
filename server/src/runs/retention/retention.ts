/** How long the runs of a tenant, or of one of its projects, are retained. */
export interface RetentionRule {
  /** `null`: the rule applies to all projects without a rule of their own. */
  readonly projectId: string | null;
  /** Runs that began more than this many days ago are deleted. `null`: no runs are deleted. */
  readonly days: number | null;
}

/** The result of one step of a sweep, which deletes expired runs. */
export interface SweepStep {
  /** Number of deleted runs. */
  readonly deleted: number;
  /** The key of the project with which the next step continues; `null` once the sweep is complete. */
  readonly next: string | null;
}

export interface RetentionReads {
  /** Lists the rules of a tenant. The rule for all of its projects comes first, if there is one. */
  list(tenantId: string): Promise<readonly RetentionRule[]>;
}

export interface RetentionWrites {
  /** @throws RequestError 404: no such project. */
  set(tenantId: string, rule: RetentionRule): Promise<void>;
  /** Removes a rule. Repeating the call has no effect. */
  clear(tenantId: string, projectId: string | null): Promise<void>;
  /**
   * Deletes some of the expired runs, with everything that belongs to them, or some of the data to which no run refers
   * any more. A step is so small that other writes hardly wait. `from` is the `next` of the previous step, or `null` to
   * begin a sweep.
   */
  sweep(nowMicros: number, from: string | null): Promise<SweepStep>;
}

/** Returns the expiry time of a project: runs that began before this time are deleted. `null`: no runs are deleted. */
export type FindExpiry = (tenantId: string, projectId: string) => Promise<number | null>;

/**
 * The parts of a database engine that delete expired runs and their data. Methods return their result at once or as a
 * promise.
 */
export interface RetentionEngine {
  readonly runs: ExpiredRuns;
  readonly sharedTexts: SharedTexts;
  /** Absent if the engine does not store runs in partitions. */
  readonly weeks?: ExpiredWeeks;
  /** Absent if the values of runs are deleted with them. */
  readonly values?: UnusedValues;
}

/** Deletes the texts that payloads shared, once no payload refers to them any more. */
export interface SharedTexts {
  /**
   * Deletes some of the unused texts. Returns how many texts were deleted or examined; 0 if nothing is left to do for
   * now.
   */
  deleteUnused(): number | Promise<number>;
}

/** Deletes the values of runs that are suggested for filters, once no run has them. */
export interface UnusedValues {
  /** Examines some of the values of deleted runs. Returns their number. */
  deleteSome(): Promise<number>;
}

/** Deletes runs with everything that belongs to them. */
export interface ExpiredRuns {
  /** Deletes some of the project's runs that began before a time, the oldest first. Returns their number. */
  deleteSome(tenantId: string, projectId: string, beforeMicros: number): number | Promise<number>;
}

/** Removes whole weeks of runs that have all expired, without deleting the runs one by one. */
export interface ExpiredWeeks {
  /**
   * Removes one week of which all runs have expired, if there is one. Returns whether a week was removed. The data that
   * belongs to its runs is deleted by {@link deleteRemoved}.
   *
   * @param isNewSweep - whether this is the first step of a sweep. In later steps, weeks are examined only every few
   * seconds, because a week that was in use may have become free.
   */
  removeWeek(findExpiry: FindExpiry, isNewSweep: boolean): Promise<boolean>;
  /**
   * Deletes some of the data that belongs to runs of removed weeks. Returns the number of these runs; `undefined` once
   * no such data is left.
   */
  deleteRemoved(): Promise<number | undefined>;
}
