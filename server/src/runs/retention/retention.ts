/** How long the runs of a tenant, or of one of its projects, are kept. */
export interface RetentionRule {
  /** `null`: the rule applies to all projects without a rule of their own. */
  readonly projectId: string | null;
  /** Runs that began more than this many days ago are deleted. `null`: runs are kept forever. */
  readonly days: number | null;
}

/** Result of one step of a sweep. */
export interface SweepStep {
  /** Number of deleted runs. */
  readonly deleted: number;
  /** The project with which the next step continues; `null` once all projects are done. */
  readonly next: string | null;
}

export interface RetentionReads {
  /** Lists the rules of a tenant. The rule for all of its projects comes first, if there is one. */
  list(tenantId: string): readonly RetentionRule[];
}

export interface RetentionWrites {
  /** @throws RequestError 404: no such project. */
  set(tenantId: string, rule: RetentionRule): void;
  /** Removes a rule. Repeating the call has no effect. */
  clear(tenantId: string, projectId: string | null): void;
  /**
   * Deletes some of the runs that no rule keeps any more, with everything that belongs to them. One step is small
   * enough that other writes hardly wait. `from` is the `next` of the previous step, or `null` to begin a sweep.
   */
  sweep(nowMicros: number, from: string | null): SweepStep;
}
