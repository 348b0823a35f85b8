import pRetry from "p-retry";
import type { Promised } from "../storage/promised.ts";
import { jobLimits } from "./job.ts";
import type {
  ClaimRequest,
  Job,
  JobDraft,
  JobEnd,
  JobProgress,
  JobState,
  JobWrites,
} from "./job.ts";

// The states of an attached job: running -> succeeded, failed or canceled. It is never queued. The process that created
// it renews its lease. If the process ends, the lease expires, and any runner then ends the job as failed.

/** The part of the store that creates jobs. */
export interface JobCreationStore {
  readonly write: Promised<{ readonly jobs: Pick<JobWrites, "create"> }>;
}

/** The part of the store that stores the progress of attached jobs. */
export interface AttachedJobStore {
  readonly write: Promised<{ readonly jobs: Pick<JobWrites, "record"> }>;
}

/**
 * The dependencies of attached jobs. The request that starts such a job also performs it, and no job runner does; the
 * job runner of the same process renews its lease.
 */
export interface AttachedJobOptions {
  readonly store: AttachedJobStore;
  /** Returns the owner of the process's leases, the current time, and the length of a lease. */
  readonly createClaim: () => ClaimRequest;
  /** Reports that something failed. */
  readonly warn: (text: string, cause: unknown) => void;
}

/** Milliseconds between two writes of a job's progress. */
const progressIntervalMs = 1_000;
/** Number of times that storing the end of a job is tried again. */
const endRetries = 3;

/** The attached jobs of this process: requests perform them, so no runner may perform or continue them. */
export class AttachedJobs {
  readonly #options: AttachedJobOptions;
  readonly #active = new Map<string, AttachedJob>();
  #isClosed = false;

  constructor(options: AttachedJobOptions) {
    this.#options = options;
  }

  /** The ids of the jobs that have not ended. */
  get ids(): readonly string[] {
    return [...this.#active.keys()];
  }

  /**
   * Creates a running job. The caller performs it, reports its progress, and must end it.
   *
   * @param store - the store of the request, which also writes the entry of the audit log
   * @throws RequestError 429: the tenant has too many jobs that have not ended.
   */
  async create(store: JobCreationStore, tenantId: string, draft: JobDraft): Promise<AttachedJob> {
    const job = await store.write.jobs.create(tenantId, draft, this.#options.createClaim());
    const attached = new AttachedJob({ tenantId, job }, this.#options, () =>
      this.#active.delete(job.id),
    );
    this.#active.set(job.id, attached);
    if (this.#isClosed) {
      attached.abort(closedReason);
    }
    return attached;
  }

  /** Aborts a job that was canceled, or whose lease was lost. */
  abort(id: string, reason: string): void {
    this.#active.get(id)?.abort(reason);
  }

  /** Aborts all jobs. Resolves when their ends have been stored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const jobs = [...this.#active.values()];
    jobs.forEach((job) => job.abort(closedReason));
    await Promise.all(jobs.map((job) => job.ended));
  }
}

const closedReason = "the server was stopped";

/** A job that is performed by the request that created it. */
export class AttachedJob {
  readonly id: string;
  /** Resolves when the end of the job has been stored. */
  readonly ended: Promise<void>;
  readonly #tenantId: string;
  readonly #options: AttachedJobOptions;
  readonly #controller = new AbortController();
  readonly #onEnd: () => void;
  #progress: JobProgress;
  /** The write of the progress that is in flight. The end is stored after it. */
  #progressWrite: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #recordedMs = Date.now();
  #hasEnded = false;
  #resolveEnded: () => void = () => undefined;

  constructor(
    { tenantId, job }: { readonly tenantId: string; readonly job: Job },
    options: AttachedJobOptions,
    onEnd: () => void,
  ) {
    this.id = job.id;
    this.#tenantId = tenantId;
    this.#progress = job.progress;
    this.#options = options;
    this.#onEnd = onEnd;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** Aborted when the job is canceled, when its lease is lost and when the server closes. The reason is an `Error`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The number of items that were processed. */
  get done(): number {
    return this.#progress.done;
  }

  abort(reason: string): void {
    this.#controller.abort(new Error(reason));
  }

  /** Reports how many items were processed. Stores it about once a second. */
  report(done: number): void {
    const { total } = this.#progress;
    // Items may be added while the job runs.
    this.#progress = {
      ...this.#progress,
      done,
      total: total === null ? null : Math.max(total, done),
    };
    if (this.#timer === undefined && !this.#hasEnded) {
      const delayMs = this.#recordedMs + progressIntervalMs - Date.now();
      this.#timer = setTimeout(() => {
        this.#progressWrite = this.#recordProgress();
      }, delayMs);
      this.#timer.unref();
    }
  }

  /**
   * Ends the job; only the first call has an effect. A job that was canceled ends as canceled, unless it has succeeded.
   */
  async end(end: JobEnd): Promise<void> {
    if (this.#hasEnded) {
      return;
    }
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#progressWrite;
    try {
      await pRetry(() => this.#record(end), { retries: endRetries, minTimeout: 250, unref: true });
    } catch (cause) {
      // The lease expires, because it is not renewed any more. A runner then ends the job as failed.
      this.#options.warn(`the end of job ${this.id} could not be stored`, cause);
    } finally {
      this.#onEnd();
      this.#resolveEnded();
    }
  }

  async #recordProgress(): Promise<void> {
    try {
      const state = await this.#record();
      if (state !== "running") {
        // The job was canceled at another server, or was ended because its lease had expired.
        this.abort(canceledReason);
      }
    } catch (cause) {
      this.#options.warn(`the progress of job ${this.id} could not be stored`, cause);
    } finally {
      this.#recordedMs = Date.now();
      this.#timer = undefined;
    }
  }

  #record(end?: JobEnd): Promise<JobState | undefined> {
    const { owner, nowMicros, leaseMicros } = this.#options.createClaim();
    return this.#options.store.write.jobs.record(
      { tenantId: this.#tenantId, id: this.id, owner },
      {
        nowMicros,
        leaseMicros,
        completed: {
          cursor: null,
          progress: this.#progress,
          failures: { count: 0, messages: [] },
        },
        ...(end === undefined ? {} : { end: shortenError(end) }),
      },
    );
  }
}

/** The abort reason of a job that was canceled. */
export const canceledReason = "the job was canceled";

const shortenError = (end: JobEnd): JobEnd =>
  end.state === "succeeded" ? end : { ...end, error: end.error.slice(0, jobLimits.messageChars) };
