import { measureColumns } from "../run-filter-source.ts";
import type { Distribution, RunStatistics } from "../run-query.ts";
import { usageNames } from "../usage-sources.ts";
import type { UsageName } from "../usage-sources.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

const counted = ["latency", "firstToken", ...usageNames] as const;

const columns = measureColumns("r");

/** SQL over `runs r`. */
const valueOf = (name: (typeof counted)[number]): string => {
  switch (name) {
    case "latency":
      return "r.end_us - r.start_us";
    case "firstToken":
      return `${columns.first_token_us} - r.start_us`;
    default:
      return usageOf(name);
  }
};

/** Usage is counted where it arose: a chain that repeats its child's would count it twice. */
const usageOf = (name: UsageName): string => `CASE r.run_type WHEN 'llm' THEN ${columns[name]} END`;

/**
 * What the runs that meet the conditions come to. All runs are read once, and of each quantity one
 * text: SQLite takes several times as long to sort numbers, or to hand them over row by row.
 */
export function readStatistics(db: Connection, { sql, values }: Conditions): RunStatistics {
  const lists = counted.map((name) => `group_concat(${valueOf(name)})`).join(", ");
  const [row = []] = parseRows(
    db
      .prepare(
        `SELECT count(*), total(r.has_error), max(r.start_us), ${lists} FROM runs r WHERE ${sql}`,
      )
      .raw()
      .all([...values]),
  );
  const [runCount, errorCount, lastStart, ...texts] = row;
  const distributions = counted.map((name, index) => [name, distributionOf(texts[index])] as const);
  return {
    runCount: Number(runCount),
    errorCount: Number(errorCount),
    lastStartMicros: lastStart === null ? null : Number(lastStart),
    ...(Object.fromEntries(distributions) as Record<(typeof counted)[number], Distribution>),
  };
}

/** Of numbers in a text, divided by commas. */
function distributionOf(text: unknown): Distribution {
  const numbers = Float64Array.from(
    typeof text === "string" ? text.split(",") : [],
    Number,
  ).toSorted();
  const count = numbers.length;
  /** The least number that so large a share of them does not exceed. */
  const quantile = (share: number): number | null => numbers[Math.ceil(count * share) - 1] ?? null;
  const sum = numbers.reduce((total, number) => total + number, 0);
  return { count, sum, p50: quantile(0.5), p99: quantile(0.99) };
}
