/** For how long the runs of a tenant, or of one of its projects, are kept. */
export interface RetentionRule {
  /** `null`: all projects that have no rule of their own. */
  readonly projectId: string | null;
  /** Runs that began earlier are deleted. `null`: kept for ever. */
  readonly days: number | null;
}

/** Where one step of deleting ended. */
export interface SweepStep {
  /** Runs that were deleted. */
  readonly deleted: number;
  /** The project to go on with; `null`: that was all of them. */
  readonly next: string | null;
}

export interface RetentionReads {
  /** The tenant's own first, if there is one. */
  list(tenantId: string): readonly RetentionRule[];
}

export interface RetentionWrites {
  /** @throws RequestError 404: no such project. */
  set(tenantId: string, rule: RetentionRule): void;
  /** Takes a rule away. Repeated, it changes nothing. */
  clear(tenantId: string, projectId: string | null): void;
  /**
   * Deletes some of the runs that a rule no longer keeps, with what belongs to them: few enough that
   * what arrives meanwhile hardly waits.
   */
  sweep(nowMicros: number, from: string | null): SweepStep;
}
