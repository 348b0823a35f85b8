import type { ListPosition, RunSearch } from "../run-list.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { findRequiredStatus } from "./index-lookups/required-ranges.ts";
import type { Conditions } from "./run-conditions.ts";
import type { RowRange } from "./text-index/text-index.ts";

/** A project's runs in some order, beginning after a position. */
export type RunOrder = Pick<RunSearch, "projectId" | "filter" | "sort" | "order" | "after">;

/** An index that contains runs in the order of a list, and the condition that runs in this index meet. */
export interface ListIndex {
  readonly index: string;
  readonly sortKey: string;
  readonly condition: string;
}

const startKey = "r.start_us";
const latencyKey = "r.end_us - r.start_us";

export const allRunsCondition: Conditions = { sql: "1", values: [] };

/** Chooses the index with the fewest runs among those that contain the runs in the order of the list. */
export function chooseIndex({ filter, sort }: RunOrder): ListIndex {
  if (sort === "latency") {
    return { index: "runs_by_latency", sortKey: latencyKey, condition: "r.end_us IS NOT NULL" };
  }
  const status =
    filter.hasError === true
      ? "error"
      : (filter.runFilters ?? [])
          .map(findRequiredStatus)
          .find((requiredStatus) => requiredStatus !== undefined);
  if (status === "error") {
    return { index: "errors_by_start", sortKey: startKey, condition: "r.has_error = 1" };
  }
  if (status === "pending") {
    const condition = "r.end_us IS NULL AND r.has_error = 0";
    return { index: "open_by_start", sortKey: startKey, condition };
  }
  return filter.isRoot === true
    ? { index: "roots_by_start", sortKey: startKey, condition: "r.parent_run_id IS NULL" }
    : { index: "runs_by_start", sortKey: startKey, condition: "1" };
}

export const createOrderSql = ({ order }: RunOrder, { sortKey }: ListIndex): string =>
  order === "asc" ? `${sortKey} ASC, r.id ASC` : `${sortKey} DESC, r.id DESC`;

/** Creates the condition for the runs after a position and within the requested times. */
export function createRangeCondition(
  { after, order, filter }: RunOrder,
  { sortKey }: ListIndex,
): Conditions {
  const comparisonOperator = order === "asc" ? ">" : "<";
  const { earliestStartMicros, latestStartMicros } = sortKey === startKey ? filter : {};
  const conditions: Conditions[] = [
    ...(earliestStartMicros === undefined
      ? []
      : [{ sql: `${sortKey} >= ?`, values: [earliestStartMicros] }]),
    ...(latestStartMicros === undefined
      ? []
      : [{ sql: `${sortKey} <= ?`, values: [latestStartMicros] }]),
    // An index on an expression supports the first comparison, but not the comparison of the pair.
    ...(after === undefined
      ? []
      : [
          {
            sql: `${sortKey} ${comparisonOperator}= ? AND (${sortKey}, r.id) ${comparisonOperator} (?, ?)`,
            values: [after.micros, after.micros, after.id],
          },
        ]),
  ];
  return conditions.length === 0
    ? allRunsCondition
    : {
        sql: conditions.map(({ sql }) => sql).join(" AND "),
        values: conditions.flatMap(({ values }) => values),
      };
}

/** Creates the condition for the runs up to a position, including it. */
export function createEndCondition(
  { order }: RunOrder,
  { sortKey }: ListIndex,
  { micros, id }: ListPosition,
): Conditions {
  const comparisonOperator = order === "asc" ? "<" : ">";
  return {
    sql: `${sortKey} ${comparisonOperator}= ? AND (${sortKey}, r.id) ${comparisonOperator}= (?, ?)`,
    values: [micros, micros, id],
  };
}

export interface FoundRow extends ListPosition {
  readonly rowId: number;
}

export const toFoundRow = ([row, micros, id]: readonly unknown[]): FoundRow => ({
  rowId: Number(row),
  micros: Number(micros),
  id: String(id),
});

/** The first runs of a list, up to the number {@link FirstRuns.count}. */
export interface Slice {
  /** The last of these runs; absent if the list has fewer runs than that number. */
  readonly end?: FoundRow;
}

/** Selects the first `count` runs of a list. */
export interface FirstRuns {
  readonly runs: RunOrder;
  readonly index: ListIndex;
  readonly count: number;
}

/** Finds the end of the slice that consists of the first `count` runs of a list. */
export function findSlice(db: Connection, { runs, index, count }: FirstRuns): Slice {
  const { sql, values } = createOrderedQuery(runs, index);
  const [end] = parseRows(
    db
      .prepareRaw(`SELECT r.rowid, ${index.sortKey}, r.id ${sql} LIMIT 1 OFFSET ?`)
      .all([...values, count - 1]),
  );
  return end === undefined ? {} : { end: toFoundRow(end) };
}

/**
 * Finds the range of the row numbers of the first runs. A run that is inserted after {@link findSlice} may be outside
 * the range. It is then not found, as if it had been inserted after the search.
 */
export function findRowRange(db: Connection, { runs, index, count }: FirstRuns): RowRange {
  const { sql, values } = createOrderedQuery(runs, index);
  const [[from, to] = []] = parseRows(
    db
      .prepareRaw(`SELECT min(row), max(row) FROM (SELECT r.rowid AS row ${sql} LIMIT ?)`)
      .all([...values, count]),
  );
  return { from: Number(from ?? 0), to: Number(to ?? 0) };
}

function createOrderedQuery(runOrder: RunOrder, index: ListIndex): Conditions {
  const { sql, values } = createRangeCondition(runOrder, index);
  return {
    sql: `FROM runs r INDEXED BY ${index.index} WHERE r.project_id = ? AND ${index.condition} AND ${sql} ORDER BY ${createOrderSql(runOrder, index)}`,
    values: [runOrder.projectId, ...values],
  };
}

/**
 * Maximum width of a range of rows for which a text is searched in the text index. For a wider range, the search may
 * take longer than counting all runs that contain the text.
 */
export const maxTextIndexRange = 20_000;
