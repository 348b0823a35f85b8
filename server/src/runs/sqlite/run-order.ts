import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Runs of several projects, in the order of their starts. */
export interface OrderedRuns {
  readonly projectIds: readonly string[];
  /** What else the runs meet. */
  readonly conditions: Conditions;
  readonly order: "asc" | "desc";
  readonly limit: number;
}

/** The first runs of one project, served by the index in its order. */
export function firstRunsSql({ sql }: Conditions, order: "asc" | "desc"): string {
  const [direction, sign] = order === "asc" ? ["ASC", "<="] : ["DESC", ">="];
  return `SELECT r.rowid, r.start_us, r.id FROM runs r WHERE r.project_id = ? AND r.start_us ${sign} ? AND ${sql}
    ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?`;
}

/**
 * Rows of `runs`, found project by project: each one's runs lie in order, so that no more than a page
 * of each is read, and of most projects none once a page is full. To sort the runs of all would read all.
 */
export function findInOrder(db: Connection, runs: OrderedRuns): number[] {
  const { projectIds, conditions, order, limit } = runs;
  const first = db.prepare(firstRunsSql(conditions, order)).raw();
  const sign = order === "asc" ? 1 : -1;
  let found: readonly Found[] = [];
  for (const projectId of projectIds) {
    const last = found.length < limit ? undefined : found.at(-1);
    const bound = last?.startMicros ?? sign * Number.MAX_SAFE_INTEGER;
    const rows = parseRows(first.all([projectId, bound, ...conditions.values, limit]));
    found = [...found, ...rows.map(toFound)]
      .toSorted((one, other) => sign * compare(one, other))
      .slice(0, limit);
  }
  return found.map(({ row }) => row);
}

interface Found {
  readonly row: number;
  readonly startMicros: number;
  readonly id: string;
}

const toFound = ([row, startMicros, id]: readonly unknown[]): Found => ({
  row: Number(row),
  startMicros: Number(startMicros),
  id: String(id),
});

/** Ids are hexadecimal digits in lower case: SQLite orders them as JavaScript does. */
function compare(one: Found, other: Found): number {
  const byId = one.id < other.id ? -1 : 1;
  return one.startMicros === other.startMicros ? byId : one.startMicros - other.startMicros;
}
