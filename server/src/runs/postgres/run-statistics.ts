import type { Sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Distribution, RunStatistics } from "../run-query.ts";
import { createModelCallSql } from "../usage/run-cost.ts";
import { usageNames } from "../usage/usage-sources.ts";
import { toNumbered } from "./run-conditions.ts";

const quantities = ["latency", "firstToken", ...usageNames] as const;

/** Returns the SQL expression of a quantity over `runs r`. */
function createQuantitySql(name: (typeof quantities)[number]): string {
  switch (name) {
    case "latency":
      return "(r.end_us - r.start_us)::double precision";
    case "firstToken":
      return "r.first_token_us - r.start_us";
    default:
      // Only the usage of model calls is counted: a chain repeats its children's usage, which would be counted twice.
      return `CASE WHEN ${createModelCallSql("r.run_type")} THEN r.${name} END`;
  }
}

// Numbers are sorted before they are added, because a sum of floating-point numbers depends on their order.
const createSelectSql = (name: (typeof quantities)[number], condition: string): string =>
  `count("${name}")${condition} AS "${name}_count",
   coalesce(sum("${name}" ORDER BY "${name}")${condition}, 0) AS "${name}_sum",
   percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY "${name}")${condition} AS "${name}_quantiles"`;

/**
 * Computes statistics of the runs that meet a condition on `r`. With `hasResults`, only root runs and their latencies
 * are counted; the other quantities are those of all runs.
 */
export async function readStatistics(
  db: PostgresDatabase,
  condition: Sql,
  { hasResults = false }: { readonly hasResults?: boolean } = {},
): Promise<RunStatistics> {
  const ofResults = hasResults ? " FILTER (WHERE is_root)" : "";
  const selectSql = quantities
    .map((name) => createSelectSql(name, name === "latency" ? ofResults : ""))
    .join(", ");
  const { text, values } = toNumbered(condition);
  const { rows } = await db.execute<Readonly<Record<string, unknown>>>(
    `SELECT count(*)${ofResults} AS "runCount", coalesce(sum(has_error)${ofResults}, 0) AS "errorCount",
       max(start_us)${ofResults} AS "lastStart", ${selectSql}
     FROM (SELECT r.start_us, r.has_error, r.parent_run_id IS NULL AS is_root, ${quantities.map((name) => `${createQuantitySql(name)} AS "${name}"`).join(", ")}
       FROM runs r WHERE ${text}) q`,
    values,
  );
  const [row = {}] = rows;
  const distributions = Object.fromEntries(
    quantities.map((name) => [name, toDistribution(row, name)]),
  ) as Record<(typeof quantities)[number], Distribution>;
  return {
    runCount: Number(row["runCount"]),
    errorCount: Number(row["errorCount"]),
    lastStartMicros: row["lastStart"] === null ? null : Number(row["lastStart"]),
    ...distributions,
  };
}

function toDistribution(
  row: Readonly<Record<string, unknown>>,
  name: (typeof quantities)[number],
): Distribution {
  const quantiles: unknown = row[`${name}_quantiles`];
  const [p50 = null, p99 = null] = Array.isArray(quantiles)
    ? quantiles.map((value: unknown) => (typeof value === "number" ? value : null))
    : [];
  return { count: Number(row[`${name}_count`]), sum: Number(row[`${name}_sum`]), p50, p99 };
}
