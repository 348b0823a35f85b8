import { parseRows } from "../../storage/sqlite/rows.ts";
import { idOf } from "../../storage/row-keys.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { ruleLimits } from "../rule.ts";
import type { EndedRoot, OpenRoot, RootScan } from "../rule.ts";

/**
 * Finds root runs in the order in which they were stored. The rows of `runs` are numbered in this order, so the search
 * continues after the last row that it has read.
 */
export class EndedRoots {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
    this.#statements = prepareStatements(db);
  }

  scan(nowMicros: number): RootScan {
    const latest = this.latestRow();
    const [cursor] = parseRows(this.#statements.readCursor.all());
    // If the latest runs were deleted, new runs get the same row numbers, so the stored cursor may be too high.
    const fromRow = Math.min(Number(cursor?.[0] ?? latest), latest);
    const toRow = Math.min(fromRow + ruleLimits.scannedRows, latest);
    const foundRoots: FoundRoots = { ended: [], opened: [], closed: [], expired: [] };
    for (const values of parseRows(this.#statements.listRoots.all([fromRow, toRow]))) {
      const root = parseRoot(values);
      if (root.isEnded) {
        foundRoots.ended.push(root);
      } else {
        foundRoots.opened.push({ row: root.row, key: root.key });
      }
    }
    this.#checkOpen(nowMicros, foundRoots);
    return { toRow, hasMore: toRow < latest, ...foundRoots };
  }

  latestRow(): number {
    return Number(parseRows(this.#statements.readLatest.all())[0]?.[0] ?? 0);
  }

  #checkOpen(nowMicros: number, { ended, closed, expired }: FoundRoots): void {
    const expiredMicros = nowMicros - ruleLimits.openHours * 3_600_000_000;
    for (const [row, sinceMicros, ...values] of parseRows(this.#statements.listOpen.all())) {
      const isGone = values[0] === null;
      const root = isGone ? undefined : parseRoot(values);
      if (root === undefined || !root.isRoot) {
        closed.push(Number(row));
      } else if (root.isEnded) {
        closed.push(root.row);
        ended.push(root);
      } else if (Number(sinceMicros) < expiredMicros) {
        expired.push(root.row);
      }
    }
  }
}

/**
 * What one step has found: roots that have ended, roots to check again later, and the row numbers of earlier open roots
 * that have ended, were deleted or are no longer watched.
 */
interface FoundRoots {
  readonly ended: EndedRoot[];
  readonly opened: OpenRoot[];
  readonly closed: number[];
  readonly expired: number[];
}

interface FoundRoot extends EndedRoot {
  readonly key: string;
  readonly isEnded: boolean;
  readonly isRoot: boolean;
}

/**
 * The columns of a root. A run has no dotted order while only an update of it has arrived. Such a run does not count as
 * ended, because it may turn out not to be a root.
 */
const rootColumns = `r.rowid, r.id, r.trace_id, r.project_id, p.tenant_id,
  r.end_us IS NOT NULL AND r.dotted_order <> '', r.parent_run_id IS NULL`;

const parseRoot = (values: readonly unknown[]): FoundRoot => {
  const [row, key, traceId, projectKey, tenantId, isEnded, isRoot] = values;
  return {
    row: Number(row),
    key: String(key),
    id: idOf(String(key)),
    traceId: String(traceId),
    projectId: idOf(String(projectKey)),
    tenantId: String(tenantId),
    isEnded: isEnded === 1,
    isRoot: isRoot === 1,
  };
};

const prepareStatements = (db: Connection) => ({
  readLatest: db.prepare("SELECT max(rowid) FROM runs").raw(),
  readCursor: db.prepare("SELECT last_row FROM rule_cursor").raw(),
  // Without an index, SQLite reads the rows in the order of their numbers.
  listRoots: db
    .prepare(
      `SELECT ${rootColumns} FROM runs r NOT INDEXED CROSS JOIN projects p
       WHERE r.rowid > ? AND r.rowid <= ? AND r.parent_run_id IS NULL AND p.id = r.project_id
       AND EXISTS (SELECT 1 FROM rules u
         WHERE u.tenant_id = p.tenant_id AND u.project_id = p.id AND u.is_enabled = 1)`,
    )
    .raw(),
  listOpen: db
    .prepare(
      `SELECT o.run_row, o.since_us, ${rootColumns} FROM rule_open_roots o
       LEFT JOIN runs r ON r.rowid = o.run_row AND r.id = o.run_key
       LEFT JOIN projects p ON p.id = r.project_id`,
    )
    .raw(),
});
