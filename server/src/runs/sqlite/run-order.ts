import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { ListIndex } from "./run-slices.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** A query for runs of several projects in order of their start times. */
export interface OrderedRuns {
  readonly projectIds: readonly string[];
  /** Further conditions that the runs must meet. */
  readonly conditions: Conditions;
  /** The index that contains the runs in their order. */
  readonly index: ListIndex;
  readonly order: "asc" | "desc";
  readonly limit: number;
}

/** SQL that selects the first runs of one project. An index returns them in order. */
export function createFirstRunsSql(
  { sql }: Conditions,
  { index, order }: Pick<OrderedRuns, "index" | "order">,
): string {
  const [direction, comparisonOperator] = order === "asc" ? ["ASC", "<="] : ["DESC", ">="];
  return `SELECT r.rowid, r.start_us, r.id FROM runs r INDEXED BY ${index.index}
    WHERE r.project_id = ? AND ${index.condition} AND r.start_us ${comparisonOperator} ? AND ${sql}
    ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?`;
}

/**
 * Finds the rows of `runs` project by project. An index returns the runs of each project in order, so at most one
 * page of runs is read per project. Once the page is full, only runs that sort before its last run are read, and most
 * projects have no such runs. Sorting the runs of all projects would require reading all of them.
 */
export function findInOrder(db: Connection, runs: OrderedRuns): number[] {
  const { projectIds, conditions, order, limit } = runs;
  const statement = db.prepareRaw(createFirstRunsSql(conditions, runs));
  const sign = order === "asc" ? 1 : -1;
  let foundRows: readonly FoundRow[] = [];
  for (const projectId of projectIds) {
    const lastRow = foundRows.length < limit ? undefined : foundRows.at(-1);
    const bound = lastRow?.startMicros ?? sign * Number.MAX_SAFE_INTEGER;
    const rows = parseRows(statement.all([projectId, bound, ...conditions.values, limit]));
    foundRows = [...foundRows, ...rows.map(toFoundRow)]
      .toSorted((left, right) => sign * comparePositions(left, right))
      .slice(0, limit);
  }
  return foundRows.map(({ rowId }) => rowId);
}

interface FoundRow {
  readonly rowId: number;
  readonly startMicros: number;
  readonly id: string;
}

const toFoundRow = ([row, startMicros, id]: readonly unknown[]): FoundRow => ({
  rowId: Number(row),
  startMicros: Number(startMicros),
  id: String(id),
});

/**
 * Compares the positions of two runs. Ids are lowercase hexadecimal, so SQLite and JavaScript sort them in the same
 * order.
 */
function comparePositions(left: FoundRow, right: FoundRow): number {
  const byId = left.id < right.id ? -1 : 1;
  return left.startMicros === right.startMicros ? byId : left.startMicros - right.startMicros;
}
