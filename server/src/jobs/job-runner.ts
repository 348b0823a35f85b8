import { dayMicros } from "../model/durations.ts";
import { randomUUID } from "node:crypto";
import pRetry, { AbortError } from "p-retry";
import { messageOf, RequestError } from "../model/errors.ts";
import type { Promised } from "../storage/promised.ts";
import { AttachedJobs, canceledReason } from "./attached-jobs.ts";
import { jobLimits } from "./job.ts";
import type {
  ClaimedJob,
  JobFailures,
  JobLease,
  JobProgress,
  JobReads,
  JobWrites,
  JsonValue,
  StepRecord,
} from "./job.ts";
import type { AnyJobKind, JobStep } from "./job-kind.ts";

// The states of a job in this runner: claimed -> step -> recorded -> step -> … -> ended. A job leaves the runner when
// it has ended, when its lease is lost, or when the runner closes. In the last two cases, another runner continues it
// after its last recorded step.

/** The part of the store that the runner uses. */
export interface JobRunnerStore {
  readonly read: Promised<{ readonly jobs: Pick<JobReads, "hasActive"> }>;
  readonly write: Promised<{ readonly jobs: JobWrites }>;
}

/** The intervals and time limits of the runner. */
export interface RunnerTimes {
  /**
   * Milliseconds from the start to the first search for jobs, which runs while the server handles its first requests.
   */
  readonly startMs: number;
  /**
   * Milliseconds between searches for jobs. The searches find jobs for which `wake` was not called, such as jobs of a
   * server that has ended.
   */
  readonly pollMs: number;
  /** Milliseconds for which a job is leased. The lease of a running job is renewed after each third of this time. */
  readonly leaseMs: number;
  /** Maximum milliseconds of one step. */
  readonly stepMs: number;
  /** Milliseconds for which `close` waits for running steps. */
  readonly closeMs: number;
  /** Maximum number of times that a failed step is tried again. */
  readonly retries: number;
  /** Milliseconds before a failed step is first tried again. The wait doubles each time. */
  readonly firstRetryMs: number;
}

/** Options of {@link JobRunner}. */
export interface RunnerOptions extends RunnerTimes {
  /**
   * Which jobs the runner takes. `all`: every job, and a job of an unknown kind fails. `given`: only jobs of the kinds
   * that the runner was given, because other runners perform the rest.
   */
  readonly kinds: "all" | "given";
}

const defaultOptions: RunnerOptions = {
  kinds: "all",
  startMs: 200,
  pollMs: 15_000,
  leaseMs: 30_000,
  stepMs: 600_000,
  closeMs: 2_000,
  retries: 3,
  firstRetryMs: 500,
};

/** Milliseconds between removals of jobs that ended long ago. */
const removalIntervalMs = 3_600_000;

interface RunningJob {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Performs the jobs of all tenants. It only orchestrates: the steps of a job use the store, whose threads do the work,
 * or wait for other servers. Its timers do not keep the process alive.
 */
export class JobRunner {
  readonly #store: JobRunnerStore;
  readonly #kinds: ReadonlyMap<string, AnyJobKind>;
  readonly #options: RunnerOptions;
  readonly #owner = randomUUID();
  readonly #running = new Map<string, RunningJob>();
  /** The jobs that requests to this server perform. The runner only renews their leases. */
  readonly attached: AttachedJobs;
  #pollTimer: NodeJS.Timeout | undefined;
  #renewTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #hasReleased = false;
  #nextRemovalMs = Date.now() + removalIntervalMs;
  /** Whether the last search failed. Of several failures in a row, only the first is reported. */
  #hasFailed = false;
  #isSearching = false;
  /** Whether another search must follow the one in progress. */
  #mustSearchAgain = false;

  constructor(
    store: JobRunnerStore,
    kinds: ReadonlyMap<string, AnyJobKind>,
    options: Partial<RunnerOptions> = {},
  ) {
    this.#store = store;
    this.#kinds = kinds;
    this.#options = { ...defaultOptions, ...options };
    this.attached = new AttachedJobs({
      store,
      createClaim: () => this.#createClaim(),
      warn: (text, cause) => this.#warn(text, cause),
    });
  }

  /** Begins to perform the stored jobs. */
  start(): void {
    const { leaseMs, startMs } = this.#options;
    this.#schedule(startMs);
    this.#renewTimer = setInterval(() => void this.#renew(), leaseMs / 3);
    this.#renewTimer.unref();
  }

  /** Searches for jobs at once. Called after a job was created. */
  wake(): void {
    if (this.#isClosed) {
      return;
    }
    this.#mustSearchAgain = true;
    if (!this.#isSearching) {
      this.#isSearching = true;
      void this.#searchAll();
    }
  }

  /** Aborts the current step of a job that was canceled, or the request to which the job is attached. */
  cancel(id: string): void {
    this.#running.get(id)?.controller.abort(new Error(canceledReason));
    this.attached.abort(id, canceledReason);
  }

  /**
   * Aborts the requests to which jobs are attached, and waits for a short time until the ends of these jobs are stored.
   * Called before the connections of the requests are closed, because the jobs would otherwise seem to be canceled by
   * the clients.
   */
  async closeAttached(): Promise<void> {
    await waitAtMost(this.attached.close(), this.#options.closeMs);
  }

  /** Aborts the current steps, and waits for a short time until they end. The jobs continue at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pollTimer);
    clearInterval(this.#renewTimer);
    const jobs = [...this.#running.values()];
    for (const { controller } of jobs) {
      controller.abort(new Error("the server is closing"));
    }
    await waitAtMost(Promise.all(jobs.map(({ ended }) => ended)), this.#options.closeMs);
  }

  #schedule(delayMs: number): void {
    if (!this.#isClosed) {
      clearTimeout(this.#pollTimer);
      this.#pollTimer = setTimeout(() => this.wake(), delayMs);
      this.#pollTimer.unref();
    }
  }

  async #searchAll(): Promise<void> {
    while (this.#mustSearchAgain && !this.#isClosed) {
      this.#mustSearchAgain = false;
      try {
        await this.#removeEnded();
        // The search itself is a read: a server without jobs writes nothing.
        if (await this.#store.read.jobs.hasActive()) {
          await this.#releaseOnce();
          await this.#claimAll();
        }
        this.#hasFailed = false;
      } catch (cause) {
        // The disk may be full, or the writer thread may have ended. The next search tries again.
        if (!this.#hasFailed) {
          const { pollMs } = this.#options;
          this.#warn(`jobs can't be started, trying again every ${pollMs / 1_000} s`, cause);
        }
        this.#hasFailed = true;
      }
    }
    this.#isSearching = false;
    this.#schedule(this.#options.pollMs);
  }

  async #releaseOnce(): Promise<void> {
    if (!this.#hasReleased) {
      await this.#store.write.jobs.releaseAll(this.#owner);
      this.#hasReleased = true;
    }
  }

  async #removeEnded(): Promise<void> {
    if (Date.now() >= this.#nextRemovalMs) {
      this.#nextRemovalMs = Date.now() + removalIntervalMs;
      await this.#store.write.jobs.removeEnded(nowMicros() - jobLimits.keptDays * dayMicros);
    }
  }

  async #claimAll(): Promise<void> {
    while (this.#running.size < jobLimits.running && !this.#isClosed) {
      const claimed = await this.#store.write.jobs.claim({
        ...this.#createClaim(),
        ...(this.#options.kinds === "given" && { kinds: [...this.#kinds.keys()] }),
      });
      if (claimed === undefined) {
        return;
      }
      this.#begin(claimed);
    }
  }

  #begin(claimed: ClaimedJob): void {
    const { id } = claimed.job;
    const controller = new AbortController();
    const ended = this.#perform(claimed, controller.signal)
      .catch((cause: unknown) =>
        // The outcome could not be stored. The lease expires, and the job continues after its last recorded step.
        this.#warn(`job ${id} was interrupted, and will be continued`, cause),
      )
      .finally(() => {
        this.#running.delete(id);
        this.wake();
      });
    this.#running.set(id, { controller, ended });
  }

  async #perform(
    { tenantId, job, cursor, claims }: ClaimedJob,
    signal: AbortSignal,
  ): Promise<void> {
    const lease = { tenantId, id: job.id, owner: this.#owner };
    const kind = this.#kinds.get(job.kind);
    if (kind === undefined) {
      const error = `this server has no jobs of the kind ${job.kind}: use the version of the server that created the job`;
      await this.#record(lease, { end: { state: "failed", error } });
      return;
    }
    if (claims > jobLimits.claimsPerStep) {
      const error = `the server ended ${claims - 1} times during the same step of this job; the job is not tried again automatically`;
      await this.#record(lease, { end: { state: "failed", error } });
      return;
    }
    if (job.isCancelRequested) {
      await this.#record(lease, {});
      return;
    }
    let position = cursor;
    let { progress } = job;
    let state: string | undefined = "running";
    while (state === "running" && !signal.aborted) {
      const context = {
        tenantId,
        jobId: job.id,
        parameters: job.parameters,
        progress,
        signal,
      };
      // Sequential: each step begins where the previous one ended.
      const outcome = await this.#step(kind, context, position);
      if (outcome.kind === "interrupted") {
        break;
      }
      if (outcome.kind === "failed") {
        const error = outcome.reason.slice(0, jobLimits.messageChars);
        await this.#record(lease, { end: { state: "failed", error } });
        return;
      }
      const { step } = outcome;
      progress = addProgress(progress, step);
      position = step.cursor ?? null;
      state = await this.#record(lease, {
        completed: { cursor: position, progress, failures: toFailures(step.failures ?? []) },
        ...(step.cursor === undefined
          ? { end: { state: "succeeded", result: step.result ?? null } }
          : {}),
      });
    }
    if (state === "running" && !this.#isClosed) {
      // The job was canceled during a step.
      await this.#record(lease, {});
    }
  }

  /** Performs one step. If it fails, tries it again. */
  async #step(
    kind: AnyJobKind,
    context: Parameters<AnyJobKind["step"]>[0],
    cursor: JsonValue,
  ): Promise<
    | { readonly kind: "completed"; readonly step: JobStep }
    | { readonly kind: "failed"; readonly reason: string }
    | { readonly kind: "interrupted" }
  > {
    const { retries, firstRetryMs } = this.#options;
    // `pRetry` rejects after an abort even if the step has completed, so its result is kept here.
    let completed: JobStep | undefined;
    try {
      await pRetry(
        async () => {
          completed = await this.#attempt(kind, context, cursor);
        },
        { retries, minTimeout: firstRetryMs, unref: true, signal: context.signal },
      );
    } catch (cause) {
      if (completed === undefined && !context.signal.aborted) {
        return { kind: "failed", reason: messageOf(cause) };
      }
    }
    return completed === undefined
      ? { kind: "interrupted" }
      : { kind: "completed", step: completed };
  }

  /**
   * Performs one step once. A canceled step is still awaited: if it waits for something, it ends soon; if it only uses
   * the store, its progress counts.
   */
  async #attempt(
    kind: AnyJobKind,
    context: Parameters<AnyJobKind["step"]>[0],
    cursor: JsonValue,
  ): Promise<JobStep> {
    const { stepMs } = this.#options;
    const deadline = new AbortController();
    const expired = new Promise<never>((_resolve, reject) => {
      deadline.signal.addEventListener("abort", () => reject(toError(deadline.signal.reason)));
    });
    const timer = setTimeout(
      () => deadline.abort(new AbortError(`a step took longer than ${stepMs / 1_000} s`)),
      stepMs,
    );
    timer.unref();
    const signal = AbortSignal.any([context.signal, deadline.signal]);
    try {
      const step = await Promise.race([kind.step({ ...context, signal }, cursor), expired]);
      assertBounds(step);
      return step;
    } catch (cause) {
      throw isFinal(cause) || context.signal.aborted
        ? new AbortError(toError(cause))
        : toError(cause);
    } finally {
      clearTimeout(timer);
    }
  }

  async #renew(): Promise<void> {
    const ids = [...this.#running.keys(), ...this.attached.ids];
    if (ids.length === 0) {
      return;
    }
    try {
      const endedIds = await this.#store.write.jobs.renew({ ...this.#createClaim(), ids });
      endedIds.forEach((id) => this.cancel(id));
    } catch (cause) {
      this.#warn("the leases of running jobs could not be renewed", cause);
    }
  }

  #record(
    lease: JobLease,
    step: Omit<StepRecord, "nowMicros" | "leaseMicros">,
  ): Promise<string | undefined> {
    const { nowMicros: now, leaseMicros } = this.#createClaim();
    return this.#store.write.jobs.record(lease, { nowMicros: now, leaseMicros, ...step });
  }

  #createClaim() {
    return {
      owner: this.#owner,
      nowMicros: nowMicros(),
      leaseMicros: this.#options.leaseMs * 1_000,
    };
  }

  /**
   * Reports what failed. Reports nothing while the server closes, because its threads then refuse calls, as expected.
   */
  #warn(text: string, cause: unknown): void {
    if (!this.#isClosed) {
      process.emitWarning(`${text}: ${messageOf(cause)}`);
    }
  }
}

const nowMicros = (): number => Date.now() * 1_000;

/** If a failed step may be tried again only after more than this many seconds, the job fails at once instead. */
const maxRetryAfterSeconds = 60;

/**
 * Whether trying again soon can't help. The step's own request may be wrong, because it refers to a deleted dataset,
 * for example, or a limit may apply for a long time, such as the budget of the day.
 */
const isFinal = (cause: unknown): boolean =>
  cause instanceof RequestError &&
  cause.status >= 400 &&
  cause.status < 500 &&
  (cause.status !== 429 || (cause.retryAfterSeconds ?? 0) > maxRetryAfterSeconds);

const toError = (cause: unknown): Error =>
  cause instanceof Error ? cause : new Error(String(cause));

/** Resolves when the promise does, or after a time. */
async function waitAtMost(promise: Promise<unknown>, delayMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, delayMs);
  });
  await Promise.race([promise, expired]);
  clearTimeout(timer);
}

const addProgress = (progress: JobProgress, { done, total, figures }: JobStep): JobProgress => ({
  done,
  total: total ?? progress.total,
  figures: { ...progress.figures, ...figures },
});

const toFailures = (messages: readonly string[]): JobFailures => ({
  count: messages.length,
  messages: messages
    .slice(0, jobLimits.failureMessages)
    .map((message) => message.slice(0, jobLimits.messageChars)),
});

/** @throws TypeError the step returned more than a job may store. It is not tried again. */
function assertBounds({ cursor, done, total, figures = {}, result }: JobStep): void {
  const { jsonChars, figures: figuresMax } = jobLimits;
  if (
    JSON.stringify(cursor ?? null).length > jsonChars ||
    JSON.stringify(result ?? null).length > jsonChars
  ) {
    throw new TypeError(
      `a step returned a cursor or a result of more than ${jsonChars} characters`,
    );
  }
  const numbers = [done, total ?? 0, ...Object.values(figures)];
  if (numbers.length > figuresMax + 2 || !numbers.every((value) => Number.isFinite(value))) {
    throw new TypeError(
      `a step returned a number that is not finite, or more than ${figuresMax} figures`,
    );
  }
}
