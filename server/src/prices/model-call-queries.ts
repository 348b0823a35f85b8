import { sql } from "kysely";
import { createNamedModelSql as createPostgresModelSql } from "../runs/postgres/run-filter-source.ts";
import { createNamedModelSql } from "../runs/run-filter-source.ts";
import { perEngine } from "../storage/dialect.ts";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";

interface ModelCallTables {
  readonly projects: { readonly id: string; readonly tenant_id: string };
  readonly runs: {
    readonly id: string;
    readonly project_id: string;
    readonly run_type: string;
    readonly start_us: number;
    readonly total_cost: number | null;
    readonly cost_json: string | null;
  };
}

const builder = createQueryBuilder<ModelCallTables>();

/**
 * The name of a call's model if no price was looked up for the call, because it has no tokens or was recorded with its
 * cost; NULL for all other calls. The name has to be read from the payload, so it is read for the former calls alone.
 */
const unpricedModel = perEngine<string | null>({
  sqlite: sql.raw(`CASE WHEN r.cost_json IS NULL THEN ${createNamedModelSql("r")} END`),
  postgres: sql.raw(`CASE WHEN r.cost_json IS NULL THEN ${createPostgresModelSql("r")} END`),
});

/** The queries that find the model calls of a tenant, to show which of them have a price. */
export const modelCallQueries = {
  /** Lists the projects of a tenant with the start of their latest runs, the latest first. */
  listProjects: new Query(({ tenantId, limit }: Parameters<{ tenantId: string; limit: number }>) =>
    builder
      .selectFrom("projects as p")
      .select("p.id")
      .select((select) =>
        select
          .selectFrom("runs as r")
          .whereRef("r.project_id", "=", "p.id")
          .select((run) => run.fn.max("r.start_us").as("latest"))
          .as("latest_us"),
      )
      .where("p.tenant_id", "=", tenantId)
      .orderBy("latest_us", (order) => order.desc().nullsLast())
      .orderBy("p.id")
      .limit(limit),
  ),
  /**
   * Lists the latest runs of a project that began before a given run. It lists runs of every type: with a condition on
   * the type, the query could read any number of other runs before it finds enough.
   */
  list: new Query(
    (
      values: Parameters<{
        projectId: string;
        sinceMicros: number;
        beforeMicros: number;
        beforeId: string;
        limit: number;
      }>,
    ) =>
      builder
        .selectFrom("runs as r")
        .select(["r.id", "r.run_type", "r.start_us", "r.total_cost", "r.cost_json"])
        .select(unpricedModel.as("unpriced_model"))
        .where("r.project_id", "=", values.projectId)
        .where("r.start_us", ">=", values.sinceMicros)
        .where("r.start_us", "<=", values.beforeMicros)
        .where((is) =>
          is.or([is("r.start_us", "<", values.beforeMicros), is("r.id", "<", values.beforeId)]),
        )
        .orderBy("r.start_us", "desc")
        .orderBy("r.id", "desc")
        .limit(values.limit),
  ),
};

/** The columns of a run that say what it cost. */
export type CostRow = RowOf<typeof modelCallQueries.list>;
