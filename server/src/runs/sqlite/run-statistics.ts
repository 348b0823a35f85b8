import { createModelCallSql } from "../usage/run-cost.ts";
import { createMeasureColumnSql } from "../run-filter-source.ts";
import type { Distribution, RunStatistics } from "../run-query.ts";
import { usageNames } from "../usage/usage-sources.ts";
import type { UsageName } from "../usage/usage-sources.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

const quantities = ["latency", "firstToken", ...usageNames] as const;

const measureSql = createMeasureColumnSql("r");

/** Returns the SQL expression of a quantity over `runs r`. */
const createQuantitySql = (name: (typeof quantities)[number]): string => {
  switch (name) {
    case "latency":
      return "r.end_us - r.start_us";
    case "firstToken":
      return `${measureSql.first_token_us} - r.start_us`;
    default:
      return createUsageSql(name);
  }
};

/** Only the usage of model calls is counted: a chain repeats its children's usage, which would be counted twice. */
const createUsageSql = (name: UsageName): string =>
  `CASE WHEN ${createModelCallSql("r.run_type")} THEN ${measureSql[name]} END`;

/** The condition for runs that are results: the root runs of an experiment. */
const resultCondition = "r.parent_run_id IS NULL";

/**
 * Computes statistics of the runs that meet the conditions. With `hasResults`, runs, errors and latencies are those of
 * root runs only; the other quantities are those of all runs. All runs are read once, and each quantity is returned as
 * one text, because SQLite takes several times as long to sort numbers, or to return them row by row.
 */
export function readStatistics(
  db: Connection,
  { sql, values }: Conditions,
  { hasResults = false }: { readonly hasResults?: boolean } = {},
): RunStatistics {
  const resultFilterSql = hasResults ? ` FILTER (WHERE ${resultCondition})` : "";
  const selectedLists = quantities
    .map(
      (name) =>
        `group_concat(${createQuantitySql(name)})${name === "latency" ? resultFilterSql : ""}`,
    )
    .join(", ");
  const [row = []] = parseRows(
    db
      .prepareRaw(
        `SELECT count(*)${resultFilterSql}, total(r.has_error)${resultFilterSql}, max(r.start_us)${resultFilterSql}, ${selectedLists} FROM runs r WHERE ${sql}`,
      )
      .all([...values]),
  );
  const [runCount, errorCount, lastStart, ...numberLists] = row;
  const distributions = quantities.map(
    (name, index) => [name, computeDistribution(numberLists[index])] as const,
  );
  return {
    runCount: Number(runCount),
    errorCount: Number(errorCount),
    lastStartMicros: lastStart === null ? null : Number(lastStart),
    ...(Object.fromEntries(distributions) as Record<(typeof quantities)[number], Distribution>),
  };
}

/** Computes the distribution of comma-separated numbers. */
function computeDistribution(text: unknown): Distribution {
  const numbers = Float64Array.from(
    typeof text === "string" ? text.split(",") : [],
    Number,
  ).toSorted();
  const count = numbers.length;
  /** Returns a quantile: the smallest of the numbers that is at least as large as this share of the numbers. */
  const findQuantile = (share: number): number | null =>
    numbers[Math.ceil(count * share) - 1] ?? null;
  const sum = numbers.reduce((total, number) => total + number, 0);
  return { count, sum, p50: findQuantile(0.5), p99: findQuantile(0.99) };
}
