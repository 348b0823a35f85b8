import { isInList } from "../storage/dialect.ts";
import { columnsOf, createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import { attachedKinds } from "./job.ts";
import type {
  ClaimRequest,
  Job,
  JobFailures,
  JobListQuery,
  JobProgress,
  JobState,
  JsonObject,
  JsonValue,
} from "./job.ts";

export interface JobRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly kind: string;
  readonly title_json: string;
  readonly parameters_json: string;
  readonly state: JobState;
  readonly is_cancel_requested: number;
  readonly cursor_json: string;
  readonly progress_json: string;
  readonly failures_json: string;
  readonly error_json: string;
  readonly result_json: string;
  readonly claims: number;
  readonly lease_owner: string | null;
  readonly lease_until_us: number;
  readonly created_us: number;
  readonly started_us: number | null;
  readonly ended_us: number | null;
}

type JobKey = Pick<JobRow, "tenant_id" | "id">;

interface ListValues {
  readonly tenantId: string;
  readonly limit: number;
  readonly offset: number;
}

/** The columns that change after a job was created. */
const changingColumns = [
  "state",
  "is_cancel_requested",
  "cursor_json",
  "progress_json",
  "failures_json",
  "error_json",
  "result_json",
  "claims",
  "lease_owner",
  "lease_until_us",
  "started_us",
  "ended_us",
] as const;

const createdColumns = [
  "tenant_id",
  "id",
  "kind",
  "title_json",
  "parameters_json",
  "created_us",
] as const;

const activeStates = ["queued", "running"] as const;
const endedStates = ["succeeded", "failed", "canceled"] as const;

const builder = createQueryBuilder<{ readonly jobs: JobRow }>();

const selectJobs = ({ tenantId, limit, offset }: Parameters<ListValues>) =>
  builder
    .selectFrom("jobs")
    .selectAll()
    .where("tenant_id", "=", tenantId)
    .orderBy("created_us", "desc")
    .orderBy("id")
    .limit(limit)
    .offset(offset);

type ClaimableValues = Pick<ClaimRequest, "nowMicros"> & { readonly runningPerTenant: number };

const selectClaimable = ({ nowMicros, runningPerTenant }: Parameters<ClaimableValues>) =>
  builder
    .selectFrom("jobs")
    .selectAll()
    .where("state", "in", activeStates)
    .where("kind", "not in", attachedKinds)
    .where("lease_until_us", "<=", nowMicros)
    .where(
      (eb) =>
        eb
          .selectFrom("jobs as others")
          .select(eb.fn.countAll<number>().as("count"))
          .whereRef("others.tenant_id", "=", "jobs.tenant_id")
          .where("others.state", "=", "running")
          // A download that a slow client receives must not delay other jobs.
          .where("others.kind", "not in", attachedKinds)
          .where("others.lease_until_us", ">", nowMicros),
      "<",
      runningPerTenant,
    )
    .orderBy("created_us")
    .orderBy("id")
    .limit(1);

export const jobQueries = {
  find: new Query(({ tenant_id, id }: Parameters<JobKey>) =>
    builder.selectFrom("jobs").selectAll().where("tenant_id", "=", tenant_id).where("id", "=", id),
  ),
  listEnded: new Query((values: Parameters<ListValues>) =>
    selectJobs(values).where("state", "in", endedStates),
  ),
  findActive: new Query(() =>
    builder.selectFrom("jobs").select("id").where("state", "in", activeStates).limit(1),
  ),
  countActive: new Query(({ tenantId }: Parameters<Pick<ListValues, "tenantId">>) =>
    builder
      .selectFrom("jobs")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("tenant_id", "=", tenantId)
      .where("state", "in", activeStates),
  ),
  /** Finds the oldest job that a runner may claim, among the tenants that have fewer running jobs than allowed. */
  findClaimable: new Query(selectClaimable),
  findClaimableOfKinds: new Query(
    (values: Parameters<ClaimableValues & { readonly kinds: string }>) =>
      selectClaimable(values).where((eb) => isInList(eb.ref("kind"), values.kinds)),
  ),
  /** Lists the attached jobs of servers that have ended. */
  listAbandoned: new Query(({ nowMicros }: Parameters<Pick<ClaimRequest, "nowMicros">>) =>
    builder
      .selectFrom("jobs")
      .selectAll()
      .where("state", "=", "running")
      .where("kind", "in", attachedKinds)
      .where("lease_until_us", "<=", nowMicros),
  ),
  insert: new Query((row: Parameters<JobRow>) =>
    builder.insertInto("jobs").values(columnsOf(row, [...createdColumns, ...changingColumns])),
  ),
  /** Changes a job unless another runner has leased it since it was read. */
  update: new Query((row: Parameters<JobRow & { readonly previousLeaseMicros: number }>) =>
    builder
      .updateTable("jobs")
      .set(columnsOf(row, changingColumns))
      .where("tenant_id", "=", row.tenant_id)
      .where("id", "=", row.id)
      .where("lease_until_us", "=", row.previousLeaseMicros),
  ),
  renew: new Query(
    ({
      owner,
      untilMicros,
      ids,
    }: Parameters<{
      readonly owner: string;
      readonly untilMicros: number;
      readonly ids: string;
    }>) =>
      builder
        .updateTable("jobs")
        .set({ lease_until_us: untilMicros })
        .where("state", "=", "running")
        .where("lease_owner", "=", owner)
        .where((eb) => isInList(eb.ref("id"), ids)),
  ),
  listLeased: new Query(({ owner }: Parameters<{ readonly owner: string }>) =>
    builder
      .selectFrom("jobs")
      .select(["id", "is_cancel_requested"])
      .where("state", "=", "running")
      .where("lease_owner", "=", owner),
  ),
  releaseAll: new Query(({ owner }: Parameters<{ readonly owner: string }>) =>
    builder
      .updateTable("jobs")
      .set({ lease_owner: null, lease_until_us: 0 })
      .where("state", "=", "running")
      .where("lease_owner", "!=", owner),
  ),
  removeEnded: new Query(({ beforeMicros }: Parameters<{ readonly beforeMicros: number }>) =>
    builder
      .deleteFrom("jobs")
      .where("state", "in", endedStates)
      .where("ended_us", "<", beforeMicros),
  ),
  removeOfTenant: new Query(
    ({
      tenantId,
      beforeMicros,
    }: Parameters<{ readonly tenantId: string; readonly beforeMicros: number }>) =>
      builder
        .deleteFrom("jobs")
        .where("tenant_id", "=", tenantId)
        .where("state", "in", endedStates)
        .where("created_us", "<", beforeMicros),
  ),
};

export const parseJobRow = (row: JobRow): Job => ({
  id: row.id,
  kind: row.kind,
  title: JSON.parse(row.title_json) as string,
  parameters: JSON.parse(row.parameters_json) as JsonObject,
  state: row.state,
  isCancelRequested: row.is_cancel_requested !== 0,
  progress: JSON.parse(row.progress_json) as JobProgress,
  failures: JSON.parse(row.failures_json) as JobFailures,
  error: JSON.parse(row.error_json) as string | null,
  result: JSON.parse(row.result_json) as JsonObject | null,
  createdMicros: row.created_us,
  startedMicros: row.started_us,
  endedMicros: row.ended_us,
});

/** Lists the jobs of a tenant, the newest first: all, or those of one kind. */
export const jobListQueries = new QueryForms(
  (
    values: Parameters<ListValues & { readonly kind?: string | undefined }>,
    { isActive }: Pick<JobListQuery, "isActive">,
  ) => {
    const jobs = isActive
      ? selectJobs(values).where("state", "in", activeStates)
      : selectJobs(values);
    return values.kind === undefined ? jobs : jobs.where("kind", "=", values.kind);
  },
);

/** Returns the cursor of a job, which is the position at which its next step begins. */
export const parseCursor = (row: JobRow): JsonValue => JSON.parse(row.cursor_json) as JsonValue;
