import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import type { RuleRow, RuleRunRow, RuleTables } from "./rule-tables.ts";

const builder = createQueryBuilder<RuleTables>();

interface Key {
  readonly tenantId: string;
  readonly id: string;
}

interface RunKey {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly runId: string;
}

export const ruleQueries = {
  list: new Query(
    ({
      tenantId,
      projectId,
      limit,
    }: Parameters<{
      readonly tenantId: string;
      readonly projectId: string;
      readonly limit: number;
    }>) =>
      builder
        .selectFrom("rules")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("project_id", "=", projectId)
        .orderBy("name_json")
        .orderBy("id")
        .limit(limit),
  ),
  listActive: new Query((_none: Parameters<object>) =>
    builder.selectFrom("rules").selectAll().where("is_enabled", "=", 1),
  ),
  find: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.selectFrom("rules").selectAll().where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  insert: new Query((row: Parameters<RuleRow>) =>
    builder.insertInto("rules").values({
      tenant_id: row.tenant_id,
      id: row.id,
      project_id: row.project_id,
      name_json: row.name_json,
      filter_json: row.filter_json,
      sampling_rate: row.sampling_rate,
      action_json: row.action_json,
      is_enabled: row.is_enabled,
      paused_json: row.paused_json,
      created_us: row.created_us,
      from_row: row.from_row,
      matched: row.matched,
      applied: row.applied,
      failed: row.failed,
      past_json: row.past_json,
    }),
  ),
  update: new Query(
    (
      row: Parameters<
        Omit<RuleRow, "created_us" | "project_id" | "matched" | "applied" | "failed">
      >,
    ) =>
      builder
        .updateTable("rules")
        .set({
          name_json: row.name_json,
          filter_json: row.filter_json,
          sampling_rate: row.sampling_rate,
          action_json: row.action_json,
          is_enabled: row.is_enabled,
          paused_json: row.paused_json,
          from_row: row.from_row,
          past_json: row.past_json,
        })
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id),
  ),
  setPast: new Query((row: Parameters<Pick<RuleRow, "tenant_id" | "id" | "past_json">>) =>
    builder
      .updateTable("rules")
      .set({ past_json: row.past_json })
      .where("tenant_id", "=", row.tenant_id)
      .where("id", "=", row.id),
  ),
  addCounts: new Query(
    ({
      tenantId,
      id,
      matched,
      applied,
      failed,
    }: Parameters<
      Key & { readonly matched: number; readonly applied: number; readonly failed: number }
    >) =>
      builder
        .updateTable("rules")
        .set(({ eb }) => ({
          matched: eb("matched", "+", matched),
          applied: eb("applied", "+", applied),
          failed: eb("failed", "+", failed),
        }))
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.deleteFrom("rules").where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  /** If the latest runs were deleted, new runs get the same row numbers, so no rule may begin after the latest row. */
  limitFromRows: new Query(({ row }: Parameters<{ readonly row: number }>) =>
    builder.updateTable("rules").set({ from_row: row }).where("from_row", ">", row),
  ),
};

/** Matches the stored action of a rule with a judge: `storeAction` of the repository writes the kind first. */
const judgePattern = '{"kind":"judge",%';

const selectWaiting = () =>
  builder
    .selectFrom("rule_runs as r")
    .innerJoin("rules as u", (join) =>
      join.onRef("u.tenant_id", "=", "r.tenant_id").onRef("u.id", "=", "r.rule_id"),
    )
    .select(({ fn }) => ["r.tenant_id", "r.rule_id", fn.min<number>("r.next_us").as("next_us")])
    .where("r.state", "=", 0)
    .where("u.is_enabled", "=", 1);

export const ruleRunQueries = {
  insert: new Query((row: Parameters<RuleRunRow>) =>
    builder
      .insertInto("rule_runs")
      .values({
        tenant_id: row.tenant_id,
        rule_id: row.rule_id,
        run_id: row.run_id,
        state: row.state,
        attempts: row.attempts,
        at_us: row.at_us,
        next_us: row.next_us,
        error_json: row.error_json,
      })
      .onConflict((conflict) => conflict.columns(["tenant_id", "rule_id", "run_id"]).doNothing()),
  ),
  /**
   * Lists the enabled rules, of all tenants, that have waiting actions other than calls of a judge, and when the first
   * of those actions is due.
   */
  listWaiting: new Query(({ limit }: Parameters<{ readonly limit: number }>) =>
    selectWaiting()
      .where("u.action_json", "not like", judgePattern)
      .groupBy(["r.tenant_id", "r.rule_id"])
      .orderBy("next_us")
      .limit(limit),
  ),
  /** Lists the enabled rules, of all tenants, that have waiting calls of a judge, and when the first call is due. */
  listWaitingJudges: new Query(({ limit }: Parameters<{ readonly limit: number }>) =>
    selectWaiting()
      .where("u.action_json", "like", judgePattern)
      .groupBy(["r.tenant_id", "r.rule_id"])
      .orderBy("next_us")
      .limit(limit),
  ),
  listDue: new Query(
    ({
      tenantId,
      ruleId,
      nowMicros,
      limit,
    }: Parameters<
      Omit<RunKey, "runId"> & { readonly nowMicros: number; readonly limit: number }
    >) =>
      builder
        .selectFrom("rule_runs")
        .select(["run_id", "attempts"])
        .where("tenant_id", "=", tenantId)
        .where("rule_id", "=", ruleId)
        .where("state", "=", 0)
        .where("next_us", "<=", nowMicros)
        .orderBy("next_us")
        .limit(limit),
  ),
  listFailed: new Query(
    ({ tenantId, ruleId, limit }: Parameters<Omit<RunKey, "runId"> & { readonly limit: number }>) =>
      builder
        .selectFrom("rule_runs")
        .select(["run_id", "at_us", "error_json"])
        .where("tenant_id", "=", tenantId)
        .where("rule_id", "=", ruleId)
        .where("state", "=", 2)
        .orderBy("at_us", "desc")
        .limit(limit),
  ),
  /**
   * Lists the waiting actions with the latest due times. Actions that failed and will be tried again are among them,
   * because new actions are due at once.
   */
  listWaitingLast: new Query(
    ({ tenantId, ruleId, limit }: Parameters<Omit<RunKey, "runId"> & { readonly limit: number }>) =>
      builder
        .selectFrom("rule_runs")
        .select(["run_id", "at_us", "next_us", "error_json"])
        .where("tenant_id", "=", tenantId)
        .where("rule_id", "=", ruleId)
        .where("state", "=", 0)
        .orderBy("next_us", "desc")
        .limit(limit),
  ),
  record: new Query(
    (
      row: Parameters<
        Pick<
          RuleRunRow,
          "tenant_id" | "rule_id" | "run_id" | "state" | "at_us" | "next_us" | "error_json"
        >
      >,
    ) =>
      builder
        .updateTable("rule_runs")
        .set(({ eb }) => ({
          attempts: eb("attempts", "+", 1),
          state: row.state,
          at_us: row.at_us,
          next_us: row.next_us,
          error_json: row.error_json,
        }))
        .where("tenant_id", "=", row.tenant_id)
        .where("rule_id", "=", row.rule_id)
        .where("run_id", "=", row.run_id)
        .where("state", "=", 0),
  ),
  retryFailed: new Query(
    ({
      tenantId,
      ruleId,
      nowMicros,
    }: Parameters<Omit<RunKey, "runId"> & { readonly nowMicros: number }>) =>
      builder
        .updateTable("rule_runs")
        .set({ state: 0, attempts: 0, next_us: nowMicros, error_json: null })
        .where("tenant_id", "=", tenantId)
        .where("rule_id", "=", ruleId)
        .where("state", "=", 2),
  ),
  deleteOfRule: new Query(({ tenantId, ruleId }: Parameters<Omit<RunKey, "runId">>) =>
    builder.deleteFrom("rule_runs").where("tenant_id", "=", tenantId).where("rule_id", "=", ruleId),
  ),
  prune: new Query(({ beforeMicros }: Parameters<{ readonly beforeMicros: number }>) =>
    builder.deleteFrom("rule_runs").where("at_us", "<", beforeMicros).where("state", "=", 1),
  ),
};

/** The queries of the cursor: the position in the table of runs up to which rules were applied. */
export const cursorQueries = {
  set: new Query(({ row }: Parameters<{ readonly row: number }>) =>
    builder
      .insertInto("rule_cursor")
      .values({ id: 1, last_row: row })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ last_row: row })),
  ),
  addOpen: new Query(
    ({
      row,
      key,
      sinceMicros,
    }: Parameters<{ readonly row: number; readonly key: string; readonly sinceMicros: number }>) =>
      builder
        .insertInto("rule_open_roots")
        .values({ run_row: row, run_key: key, since_us: sinceMicros })
        .onConflict((conflict) =>
          conflict.column("run_row").doUpdateSet({ run_key: key, since_us: sinceMicros }),
        ),
  ),
  removeOpen: new Query(({ row }: Parameters<{ readonly row: number }>) =>
    builder.deleteFrom("rule_open_roots").where("run_row", "=", row),
  ),
  clearOpen: new Query((_none: Parameters<object>) => builder.deleteFrom("rule_open_roots")),
  /** Removes the oldest roots that have not ended, if there are too many. */
  limitOpen: new Query(({ limit }: Parameters<{ readonly limit: number }>) =>
    builder
      .deleteFrom("rule_open_roots")
      .where("run_row", "<=", (eb) =>
        eb
          .selectFrom("rule_open_roots as kept")
          .select("kept.run_row")
          .orderBy("kept.run_row", "desc")
          .limit(1)
          .offset(limit),
      ),
  ),
};
