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
  /** The project with which the next step continues; `null` once all projects are done. */
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
   * Deletes some of the expired runs, with everything that belongs to them, or some of the texts that no run refers to
   * any more. A step is so small that other writes hardly wait. `from` is the `next` of the previous step, or `null` to begin a sweep.
   */
  sweep(nowMicros: number, from: string | null): Promise<SweepStep>;
}

/** Deletes the texts that payloads shared, once no payload refers to them. */
export interface SharedTexts {
  /** Deletes some of the unused texts. Returns their number, either at once or as a promise. */
  deleteUnused(): number | Promise<number>;
}

/** Deletes runs with everything that belongs to them. */
export interface ExpiredRuns {
  /**
   * Deletes some of the project's runs that began before a time, the oldest first. Returns their number, either at
   * once or as a promise.
   */
  deleteSome(tenantId: string, projectId: string, beforeMicros: number): number | Promise<number>;
}
