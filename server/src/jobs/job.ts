export const exportJobKind = "runs.export";

/**
 * Kinds of jobs that are performed by the request that creates them, such as a download. Such a job is attached to the
 * request: it runs from the start and ends with the request, and no runner performs it.
 */
export const attachedKinds: readonly string[] = [exportJobKind];

/**
 * States of a job: queued -> running -> succeeded, failed or canceled. A failed or canceled job can be queued again.
 */
export type JobState = "queued" | "running" | "succeeded" | "failed" | "canceled";

/** A value that JSON can represent, such as the cursor of a job. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

export interface JobProgress {
  /** Number of items that were processed, including those that failed. */
  readonly done: number;
  /** Total number of items; `null` while it is unknown. */
  readonly total: number | null;
  /** Further numbers by name, such as `cost_usd`. Each kind of job has its own. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Items that a job could not process. The job has continued with the other items. */
export interface JobFailures {
  readonly count: number;
  /** The first messages; at most {@link jobLimits.failureMessages}. */
  readonly messages: readonly string[];
}

/**
 * Work that continues after the request that began it has ended. It also survives the end of the server. Only jobs of
 * the {@link attachedKinds} end with their request.
 */
export interface Job {
  readonly id: string;
  /** The name of the {@link JobKind} that performs the job. */
  readonly kind: string;
  /** What the job does, in a few words. */
  readonly title: string;
  readonly parameters: JsonObject;
  readonly state: JobState;
  /** Whether the job was canceled while it was running. It ends after its current step. */
  readonly isCancelRequested: boolean;
  readonly progress: JobProgress;
  readonly failures: JobFailures;
  /** Why the job failed, or why it was canceled without a request to cancel it; otherwise `null`. */
  readonly error: string | null;
  /** The result of the job; `null` until it has succeeded. */
  readonly result: JsonObject | null;
  readonly createdMicros: number;
  readonly startedMicros: number | null;
  readonly endedMicros: number | null;
}

/** A job that is to be added to the queue. */
export interface JobDraft {
  readonly kind: string;
  readonly title: string;
  readonly parameters: JsonObject;
  readonly total: number | null;
}

/** The right of one runner to perform a job, which other runners respect until it expires. */
export interface JobLease {
  readonly tenantId: string;
  readonly id: string;
  readonly owner: string;
}

/** A job as a runner receives it. */
export interface ClaimedJob {
  readonly tenantId: string;
  readonly job: Job;
  /** Where the last complete step ended; `null` before the first step. */
  readonly cursor: JsonValue;
  /**
   * How often the job was claimed since its last complete step. More than once means that a server ended during the
   * step.
   */
  readonly claims: number;
}

/**
 * The lease that a runner requests: its owner, and its length from the current time on. Unless the runner renews the
 * lease, it loses the job when the lease ends.
 */
export interface ClaimRequest {
  readonly owner: string;
  readonly nowMicros: number;
  readonly leaseMicros: number;
}

/** A runner's request for a job to perform. */
export interface JobRequest extends ClaimRequest {
  /** The kinds of jobs that the runner performs; all kinds if omitted. */
  readonly kinds?: readonly string[];
}

export type JobEnd =
  | { readonly state: "succeeded"; readonly result: JsonObject | null }
  | { readonly state: "failed" | "canceled"; readonly error: string };

/** What one step of a job has done. */
export interface StepRecord {
  readonly nowMicros: number;
  readonly leaseMicros: number;
  /** Absent if the step failed: the cursor of the last complete step is then kept. */
  readonly completed?: {
    readonly cursor: JsonValue;
    readonly progress: JobProgress;
    /** Items of this step that failed. */
    readonly failures: JobFailures;
  };
  /** Set if this was the last step. */
  readonly end?: JobEnd;
}

/** Selects a page of the jobs of a tenant. */
export interface JobListQuery {
  readonly limit: number;
  readonly offset: number;
  /** Whether to list only jobs that are queued or running. */
  readonly isActive: boolean;
  /** The kind of the listed jobs; all kinds if omitted. */
  readonly kind?: string;
}

export interface JobReads {
  /** Lists jobs, the newest first. */
  list(tenantId: string, query: JobListQuery): Promise<readonly Job[]>;
  /**
   * Finds a job.
   *
   * @throws RequestError 404: the job does not exist.
   */
  find(tenantId: string, id: string): Promise<Job>;
  /** Whether any tenant has a job that is queued or running. */
  hasActive(): Promise<boolean>;
}

/** Creates and changes jobs. Runners use it to claim jobs and to store their progress. */
export interface JobWrites {
  /**
   * Adds a job to the queue.
   *
   * @param attachedTo - set for a job of the {@link attachedKinds}: the job runs at once, and is leased to this owner.
   * @throws RequestError 429: the tenant has too many jobs that have not ended.
   */
  create(tenantId: string, draft: JobDraft, attachedTo?: ClaimRequest): Promise<Job>;
  /**
   * Cancels a job. If it is running, it ends after its current step.
   *
   * @throws RequestError 404: the job does not exist; 409: it has ended.
   */
  cancel(tenantId: string, id: string): Promise<Job>;
  /**
   * Adds a failed or canceled job to the queue again. It continues after its last complete step.
   *
   * @throws RequestError 404: the job does not exist; 409: it has not failed and was not canceled, or it was attached
   * to a request; 429: the tenant has too many jobs that have not ended.
   */
  retry(tenantId: string, id: string): Promise<Job>;
  /**
   * Leases the oldest job that may run to a runner. Returns `undefined` if there is none. Also ends attached jobs whose
   * leases have expired, because the server that performed them has ended.
   */
  claim(request: JobRequest): Promise<ClaimedJob | undefined>;
  /**
   * Stores what a step has done, and extends the lease. Returns the state of the job; `undefined` if the job is not
   * leased to this owner any more, in which case nothing is stored.
   */
  record(lease: JobLease, step: StepRecord): Promise<JobState | undefined>;
  /**
   * Extends the leases of an owner's jobs. Returns the ids of the jobs that were canceled, or whose lease the owner has
   * lost.
   */
  renew(request: ClaimRequest & { readonly ids: readonly string[] }): Promise<readonly string[]>;
  /**
   * Ends all leases of other owners, so that jobs of a server that has ended can continue at once. Must only be called
   * by a server that has the database to itself, when it starts.
   */
  releaseAll(owner: string): Promise<void>;
  /** Removes jobs that ended before a time. */
  removeEnded(beforeMicros: number): Promise<void>;
}

export const jobLimits = {
  /** Maximum number of jobs of a tenant that run at the same time. */
  runningPerTenant: 4,
  /** Maximum number of jobs of all tenants that run at the same time on one server. */
  running: 12,
  /** Maximum number of jobs of a tenant that are queued or running. */
  activePerTenant: 100,
  /** Maximum number of characters of the JSON of parameters, of a cursor and of a result. */
  jsonChars: 65_536,
  titleChars: 300,
  /** Maximum number of messages about failed items that are stored. */
  failureMessages: 10,
  /** Maximum number of characters of such a message, and of the reason why a job failed. */
  messageChars: 500,
  /** Maximum number of the `figures` in a job's progress. */
  figures: 20,
  /**
   * Maximum number of times that a job is claimed for the same step. Without this limit, a step that crashes the server
   * would crash it again and again.
   */
  claimsPerStep: 3,
  /** Number of ended jobs of a tenant that are kept, and the days for which they are kept. */
  keptPerTenant: 500,
  keptDays: 7,
} as const;
