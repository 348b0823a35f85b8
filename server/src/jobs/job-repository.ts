import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import { attachedKinds, jobLimits } from "./job.ts";
import type {
  ClaimedJob,
  ClaimRequest,
  JobRequest,
  Job,
  JobDraft,
  JobFailures,
  JobLease,
  JobListQuery,
  JobReads,
  JobState,
  JobWrites,
  StepRecord,
} from "./job.ts";
import { jobListQueries, jobQueries, parseCursor, parseJobRow } from "./job-queries.ts";
import type { JobRow } from "./job-queries.ts";

export class JobReader implements JobReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(tenantId: string, { isActive, ...page }: JobListQuery): Promise<readonly Job[]> {
    const values = { tenantId, ...page };
    return (await this.#db.all(jobListQueries.select(values, { isActive }), values)).map(
      parseJobRow,
    );
  }

  async find(tenantId: string, id: string): Promise<Job> {
    return parseJobRow(await findRow(this.#db, tenantId, id));
  }

  async hasActive(): Promise<boolean> {
    return (await this.#db.first(jobQueries.findActive, {})) !== undefined;
  }
}

/** Stores jobs, and leases them to runners. */
export class JobWriter implements JobWrites {
  readonly #db: Database;
  readonly #nowMicros: () => number;

  constructor(db: Database, nowMicros: () => number = () => Date.now() * 1_000) {
    this.#db = db;
    this.#nowMicros = nowMicros;
  }

  async create(
    tenantId: string,
    { kind, title, parameters, total }: JobDraft,
    attachedTo?: ClaimRequest,
  ): Promise<Job> {
    await this.#assertCapacity(tenantId);
    await this.#removeOldest(tenantId);
    const row: JobRow = {
      tenant_id: tenantId,
      id: randomUUID(),
      kind,
      title_json: JSON.stringify(title.slice(0, jobLimits.titleChars)),
      parameters_json: JSON.stringify(parameters),
      state: "queued",
      is_cancel_requested: 0,
      cursor_json: "null",
      progress_json: JSON.stringify({ done: 0, total, figures: {} }),
      failures_json: JSON.stringify({ count: 0, messages: [] }),
      error_json: "null",
      result_json: "null",
      claims: 0,
      lease_owner: null,
      lease_until_us: 0,
      created_us: this.#nowMicros(),
      started_us: null,
      ended_us: null,
      ...(attachedTo === undefined ? {} : toLeaseColumns(attachedTo)),
    };
    await this.#db.run(jobQueries.insert, row);
    return parseJobRow(row);
  }

  async cancel(tenantId: string, id: string): Promise<Job> {
    const row = await findRow(this.#db, tenantId, id);
    if (row.ended_us !== null) {
      throw new RequestError(
        409,
        `the job has already ended (${row.state}); only jobs that are queued or running can be canceled`,
      );
    }
    return parseJobRow(
      await this.#change(
        row,
        row.state === "queued"
          ? { state: "canceled", ended_us: this.#nowMicros() }
          : { is_cancel_requested: 1 },
      ),
    );
  }

  async retry(tenantId: string, id: string): Promise<Job> {
    const row = await findRow(this.#db, tenantId, id);
    if (row.state !== "failed" && row.state !== "canceled") {
      throw new RequestError(
        409,
        `the job is ${row.state}; only failed and canceled jobs can be retried`,
      );
    }
    if (attachedKinds.includes(row.kind)) {
      throw new RequestError(
        409,
        "the job was part of a request, which has ended, so it can't be continued; start a new one",
      );
    }
    await this.#assertCapacity(tenantId);
    return parseJobRow(
      await this.#change(row, {
        state: "queued",
        is_cancel_requested: 0,
        error_json: "null",
        claims: 0,
        ended_us: null,
      }),
    );
  }

  async claim({ kinds, ...request }: JobRequest): Promise<ClaimedJob | undefined> {
    const { nowMicros } = request;
    await this.#endAbandoned(nowMicros);
    const values = { nowMicros, runningPerTenant: jobLimits.runningPerTenant };
    const row = await (kinds === undefined
      ? this.#db.first(jobQueries.findClaimable, values)
      : this.#db.first(jobQueries.findClaimableOfKinds, {
          ...values,
          kinds: JSON.stringify(kinds),
        }));
    if (row === undefined) {
      return undefined;
    }
    const claimed = await this.#change(row, {
      ...toLeaseColumns(request),
      claims: row.claims + 1,
      started_us: row.started_us ?? nowMicros,
    });
    return {
      tenantId: row.tenant_id,
      job: parseJobRow(claimed),
      cursor: parseCursor(claimed),
      claims: claimed.claims,
    };
  }

  async record(lease: JobLease, step: StepRecord): Promise<JobState | undefined> {
    const { tenantId: tenant_id, id, owner } = lease;
    const row = await this.#db.first(jobQueries.find, { tenant_id, id });
    if (row?.state !== "running" || row.lease_owner !== owner) {
      return undefined;
    }
    const changed = await this.#change(row, {
      lease_until_us: step.nowMicros + step.leaseMicros,
      ...toCompletedColumns(row, step),
      ...toEndColumns(row, step),
    });
    return changed.state;
  }

  async renew({
    owner,
    nowMicros,
    leaseMicros,
    ids,
  }: ClaimRequest & { readonly ids: readonly string[] }): Promise<readonly string[]> {
    await this.#db.run(jobQueries.renew, {
      owner,
      untilMicros: nowMicros + leaseMicros,
      ids: JSON.stringify(ids),
    });
    const leased = await this.#db.all(jobQueries.listLeased, { owner });
    const continuing = new Set(
      leased.filter((row) => row.is_cancel_requested === 0).map((row) => row.id),
    );
    return ids.filter((id) => !continuing.has(id));
  }

  async releaseAll(owner: string): Promise<void> {
    await this.#db.run(jobQueries.releaseAll, { owner });
  }

  async removeEnded(beforeMicros: number): Promise<void> {
    await this.#db.run(jobQueries.removeEnded, { beforeMicros });
  }

  async #endAbandoned(nowMicros: number): Promise<void> {
    for (const row of await this.#db.all(jobQueries.listAbandoned, { nowMicros })) {
      // One after the other: a transaction performs one query at a time.
      await this.#change(
        row,
        toEndColumns(row, { nowMicros, end: { state: "failed", error: abandonedReason } }),
      );
    }
  }

  async #assertCapacity(tenantId: string): Promise<void> {
    const active = await this.#db.first(jobQueries.countActive, { tenantId });
    if ((active?.count ?? 0) >= jobLimits.activePerTenant) {
      throw new RequestError(
        429,
        `${jobLimits.activePerTenant} jobs are already queued or running; wait until some have ended, or cancel some`,
        retryAfterSeconds,
      );
    }
  }

  /** Removes the oldest ended jobs of a tenant that exceed the number of jobs to keep. */
  async #removeOldest(tenantId: string): Promise<void> {
    const lastKept = { tenantId, limit: 1, offset: jobLimits.keptPerTenant - 1 };
    const oldestKept = await this.#db.first(jobQueries.listEnded, lastKept);
    if (oldestKept !== undefined) {
      const beforeMicros = oldestKept.created_us;
      await this.#db.run(jobQueries.removeOfTenant, { tenantId, beforeMicros });
    }
  }

  async #change(row: JobRow, columns: Partial<JobRow>): Promise<JobRow> {
    const changed = { ...row, ...columns };
    const count = await this.#db.run(jobQueries.update, {
      ...changed,
      previousLeaseMicros: row.lease_until_us,
    });
    if (count === 0) {
      throw new RequestError(409, "the job was changed at the same time; try again");
    }
    return changed;
  }
}

/** The error of an attached job whose server has ended. */
const abandonedReason =
  "the server that performed the job has ended, or could not reach the database; start a new job";

/** Seconds after which a tenant with too many jobs may try again. */
const retryAfterSeconds = 10;

async function findRow(db: Database, tenantId: string, id: string): Promise<JobRow> {
  const row = await db.first(jobQueries.find, { tenant_id: tenantId, id });
  if (row === undefined) {
    throw new RequestError(404, "Job not found");
  }
  return row;
}

const toLeaseColumns = ({ owner, nowMicros, leaseMicros }: ClaimRequest) =>
  ({
    state: "running",
    lease_owner: owner,
    lease_until_us: nowMicros + leaseMicros,
    started_us: nowMicros,
  }) as const satisfies Partial<JobRow>;

const toCompletedColumns = (row: JobRow, { completed }: StepRecord): Partial<JobRow> =>
  completed === undefined
    ? {}
    : {
        cursor_json: JSON.stringify(completed.cursor),
        progress_json: JSON.stringify(completed.progress),
        failures_json: JSON.stringify(addFailures(row, completed.failures)),
        claims: 1,
      };

function addFailures(row: JobRow, added: JobFailures): JobFailures {
  const { count, messages } = JSON.parse(row.failures_json) as JobFailures;
  return {
    count: count + added.count,
    messages: [...messages, ...added.messages].slice(0, jobLimits.failureMessages),
  };
}

/** A job that completed its last step has succeeded, even if it was canceled during that step. */
function toEndColumns(
  row: JobRow,
  { nowMicros, end }: Pick<StepRecord, "nowMicros" | "end">,
): Partial<JobRow> {
  const ended = { lease_owner: null, lease_until_us: 0, ended_us: nowMicros } as const;
  if (end?.state === "succeeded") {
    return { ...ended, state: "succeeded", result_json: JSON.stringify(end.result) };
  }
  if (row.is_cancel_requested !== 0) {
    return { ...ended, state: "canceled" };
  }
  return end === undefined
    ? {}
    : { ...ended, state: end.state, error_json: JSON.stringify(end.error) };
}
