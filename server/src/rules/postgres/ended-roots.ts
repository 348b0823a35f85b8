import { lastPlaceSql } from "../../runs/postgres/run-places.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { ruleLimits } from "../rule.ts";
import type { EndedRoot, OpenRoot, RootScan, RuleRoots } from "../rule.ts";

interface RootRow {
  readonly place: number;
  readonly id: string;
  readonly trace_id: string;
  readonly project_id: string;
  readonly tenant_id: string;
  readonly is_ended: boolean;
  readonly is_root: boolean;
}

/**
 * Finds root runs in the order in which they were stored. In PostgreSQL, a run's place (`run-places.ts`) serves as the
 * number of its row, so the search continues after the last place that it has read.
 */
export class PostgresEndedRoots implements RuleRoots {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async scan(nowMicros: number): Promise<RootScan> {
    const latest = await this.latestRow();
    const { rows: cursors } = await this.#db.query<{ readonly last_row: number }>(
      "SELECT last_row FROM rule_cursor",
    );
    // Places begin with the number of a transaction. In a database that was restored on another server, these numbers
    // begin again, so the stored cursor may be too high.
    const fromRow = Math.min(cursors[0]?.last_row ?? latest, latest);
    const toRow = await this.#findEnd(fromRow, latest);
    const foundRoots: FoundRoots = { ended: [], opened: [], closed: [], expired: [] };
    const { rows } = await this.#db.query<RootRow>(
      `SELECT ${rootColumns} FROM runs r
       WHERE r.place > $1::bigint AND r.place <= $2::bigint AND r.parent_run_id IS NULL
         AND EXISTS (SELECT 1 FROM rules u
           WHERE u.tenant_id = r.tenant_id AND u.project_id = r.project_id AND u.is_enabled = 1)
       ORDER BY r.place`,
      [fromRow, toRow],
    );
    for (const row of rows) {
      if (row.is_ended) {
        foundRoots.ended.push(toRoot(row));
      } else {
        foundRoots.opened.push({ row: row.place, key: row.id });
      }
    }
    await this.#checkOpen(nowMicros, foundRoots);
    return { toRow, hasMore: toRow < latest, ...foundRoots };
  }

  async latestRow(): Promise<number> {
    const { rows } = await this.#db.query<{ readonly place: number }>(
      `SELECT ${lastPlaceSql} AS place`,
    );
    return rows[0]?.place ?? 0;
  }

  /** Returns the place up to which this step reads: at most `ruleLimits.scannedRows` runs. */
  async #findEnd(fromRow: number, latest: number): Promise<number> {
    const { rows } = await this.#db.query<{ readonly place: number }>(
      `SELECT place FROM runs WHERE place > $1::bigint AND place <= $2::bigint ORDER BY place
       OFFSET ${ruleLimits.scannedRows - 1} LIMIT 1`,
      [fromRow, latest],
    );
    return rows[0]?.place ?? latest;
  }

  async #checkOpen(nowMicros: number, { ended, closed, expired }: FoundRoots): Promise<void> {
    const expiredMicros = nowMicros - ruleLimits.openHours * 3_600_000_000;
    const { rows } = await this.#db.query<
      { readonly run_row: number; readonly since_us: number } & (RootRow | { readonly id: null })
    >(
      `SELECT o.run_row, o.since_us, ${rootColumns} FROM rule_open_roots o
       LEFT JOIN runs r ON r.place = o.run_row AND r.id = o.run_key`,
    );
    for (const row of rows) {
      if (row.id === null || !row.is_root) {
        closed.push(row.run_row);
      } else if (row.is_ended) {
        closed.push(row.place);
        ended.push(toRoot(row));
      } else if (row.since_us < expiredMicros) {
        expired.push(row.place);
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

/**
 * The columns of a root. A run has no dotted order while only an update of it has arrived. Such a run does not count as
 * ended, because it may turn out not to be a root.
 */
const rootColumns = `r.place, r.id, r.trace_id, r.project_id, r.tenant_id,
  r.end_us IS NOT NULL AND r.dotted_order <> '' AS is_ended, r.parent_run_id IS NULL AS is_root`;

const toRoot = (row: RootRow): EndedRoot => ({
  row: row.place,
  id: row.id,
  traceId: row.trace_id,
  projectId: row.project_id,
  tenantId: row.tenant_id,
});
