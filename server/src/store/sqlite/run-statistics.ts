import { measureColumns } from "../../filter/run-source.ts";
import type { Distribution, RunStatistics } from "../run-query.ts";
import { usageNames } from "../usage-places.ts";
import type { UsageName } from "../usage-places.ts";
import { parseRows } from "./row.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "./schema.ts";

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

/** What the runs that meet the conditions come to. */
export function readStatistics(db: Connection, conditions: Conditions): RunStatistics {
  const { sql, values } = conditions;
  const sums = counted.map(valueOf).flatMap((value) => [`count(${value})`, `total(${value})`]);
  const [row = []] = parseRows(
    db
      .prepare(
        `SELECT count(*), total(r.has_error), max(r.start_us), ${sums.join(", ")} FROM runs r WHERE ${sql}`,
      )
      .raw()
      .all([...values]),
  );
  const [runCount = 0, errorCount = 0, lastStart = 0, ...rest] = row.map(Number);
  const distributions = counted.map((name, index): [string, Distribution] => {
    const [count = 0, sum = 0] = rest.slice(2 * index);
    return [name, { count, sum, ...quantiles(db, { value: valueOf(name), count, conditions }) }];
  });
  return {
    runCount,
    errorCount,
    lastStartMicros: runCount === 0 ? null : lastStart,
    ...(Object.fromEntries(distributions) as Record<(typeof counted)[number], Distribution>),
  };
}

interface Quantity {
  readonly value: string;
  /** Runs that have one. */
  readonly count: number;
  readonly conditions: Conditions;
}

/** The least value that so many hundredths of the runs do not exceed. */
function quantiles(
  db: Connection,
  { value, count, conditions: { sql, values } }: Quantity,
): Pick<Distribution, "p50" | "p99"> {
  if (count === 0) {
    return { p50: null, p99: null };
  }
  const [p50, p99] = [0.5, 0.99].map((share) => Math.ceil(count * share));
  const rows = db
    .prepare(
      `SELECT v FROM (SELECT ${value} AS v, row_number() OVER (ORDER BY ${value}) AS n FROM runs r
        WHERE ${sql} AND ${value} IS NOT NULL) WHERE n IN (?, ?) ORDER BY n`,
    )
    .raw()
    .all([...values, p50, p99]);
  const found = parseRows(rows).map(([v]) => Number(v));
  return { p50: found[0] ?? null, p99: found.at(-1) ?? null };
}
