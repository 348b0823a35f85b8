import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { toPartitionName, toWeek } from "../../postgres/partitions.ts";
import type { Partitions } from "../../postgres/partitions.ts";
import type { ExpiredWeeks, FindExpiry } from "../retention.ts";
import { RemovedWeeks } from "./removed-weeks.ts";
import type { CreateMetricMarksSql } from "./removed-weeks.ts";

/**
 * SQL that creates the list of weeks whose partitions were detached from the tables of runs, because all of their runs
 * have expired. A row remains until all data that belongs to these runs is deleted, so that any server can continue
 * after another one has stopped. `next_block` is the first block that is not processed: of the table of payloads, or,
 * once `has_payloads` is 0, of the table of runs.
 */
export const expiredWeekTables = `
  CREATE TABLE run_expired_weeks (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, week BIGINT NOT NULL,
    has_payloads SMALLINT NOT NULL DEFAULT 1, next_block BIGINT NOT NULL DEFAULT 0
  );
`;

/** Maximum number of projects that one query lists. */
const projectsPerPage = 500;

/** Milliseconds after which weeks are examined again in a long sweep. Queries must wait while a week is removed. */
const retryMs = 2_000;

interface LastRun {
  readonly project_id: string;
  /** `null` if the project is not stored. */
  readonly tenant_id: string | null;
  /** When the last run of the project in the week began. */
  readonly last_us: number;
}

/**
 * Removes weeks of which all runs have expired. The partition is detached from the tables of runs, which removes all of
 * its runs from queries at the same time. The data that belongs to the runs is deleted afterwards (`removed-weeks.ts`),
 * and then the partition is dropped. No run or payload is deleted individually.
 *
 * The transaction that detaches a partition locks the tables exclusively. Every other transaction that reads or writes
 * runs has therefore ended before, or begins to read them afterwards, and no transaction commits after it has read runs
 * that were removed meanwhile. A removed run still has a key until its row of `run_keys` is deleted, so code that finds
 * a key must check that the run exists.
 */
export class PostgresExpiredWeeks implements ExpiredWeeks {
  readonly #db: PostgresDatabase;
  readonly #partitions: Partitions;
  readonly #removed: RemovedWeeks;
  /**
   * For each week, a project that has runs of the week that have not expired. This project is checked first, because
   * its runs usually remain for a long time.
   */
  readonly #retainingProjects = new Map<number, string>();
  /** When weeks are examined again during a sweep. */
  #retryAtMs = 0;
  /** Whether the last week that was examined could not be removed, because it was in use. */
  #wasInUse = false;

  constructor(
    db: PostgresDatabase,
    partitions: Partitions,
    createMetricMarksSql: CreateMetricMarksSql,
  ) {
    this.#db = db;
    this.#partitions = partitions;
    this.#removed = new RemovedWeeks(db, createMetricMarksSql);
  }

  deleteRemoved(): Promise<number | undefined> {
    return this.#removed.deleteSome();
  }

  async removeWeek(findExpiry: FindExpiry, isNewSweep: boolean): Promise<boolean> {
    const isDue = performance.now() > this.#retryAtMs;
    if (!isDue && (!isNewSweep || this.#wasInUse)) {
      return false;
    }
    this.#wasInUse = false;
    this.#retryAtMs = performance.now() + retryMs;
    const thisWeek = toWeek(Date.now() * 1_000);
    const weeks = [...(await this.#partitions.list())].filter((week) => week < thisWeek);
    for (const week of weeks.toSorted((left, right) => left - right)) {
      const { rows } = await this.#db.query<{ readonly oldest: number }>(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest",
      );
      if (await this.#isExpired(week, findExpiry)) {
        return this.#remove(week, rows[0]?.oldest ?? 0);
      }
    }
    return false;
  }

  /** Whether the week has runs, and all of them have expired. */
  async #isExpired(week: number, findExpiry: FindExpiry): Promise<boolean> {
    const retainingProject = this.#retainingProjects.get(week);
    if (retainingProject !== undefined) {
      const last = await this.#listLastRuns(week, `project_id = $1`, retainingProject);
      if ((await findRetainingProject(last, findExpiry)) !== undefined) {
        return false;
      }
      this.#retainingProjects.delete(week);
    }
    let before: string | undefined;
    for (;;) {
      const page = await this.#listLastRuns(week, "($1::text IS NULL OR project_id < $1)", before);
      const foundProject = await findRetainingProject(page, findExpiry);
      if (foundProject !== undefined) {
        this.#retainingProjects.set(week, foundProject);
        return false;
      }
      const last = page.at(-1);
      if (last === undefined) {
        return before !== undefined;
      }
      before = last.project_id;
    }
  }

  /**
   * Lists the last run of each project with runs in the week, in descending order of the projects. PostgreSQL finds
   * each of these runs with one index lookup. Several tenants may use the same project id, which is then listed for
   * each tenant.
   */
  async #listLastRuns(
    week: number,
    condition: string,
    projectId: string | undefined,
  ): Promise<readonly LastRun[]> {
    const select = (where: string): string =>
      `(SELECT project_id, start_us FROM ${toPartitionName("runs", week)} WHERE ${where}
        ORDER BY project_id DESC, start_us DESC, id DESC LIMIT 1)`;
    const { rows } = await this.#db.execute<LastRun>(
      `WITH RECURSIVE last AS (
         ${select(condition)}
         UNION ALL SELECT n.* FROM last, LATERAL ${select(`project_id < last.project_id AND ${condition}`)} n
       ), page AS (SELECT * FROM last LIMIT ${projectsPerPage})
       SELECT l.project_id, p.tenant_id, l.start_us AS last_us FROM page l LEFT JOIN projects p ON p.id = l.project_id
       ORDER BY l.project_id DESC`,
      [projectId ?? null],
    );
    return rows;
  }

  /**
   * Detaches the partition of a week, unless a run was stored in it since the week was examined.
   *
   * @param oldestTransaction - the oldest transaction that had not ended when the runs of the week were examined
   */
  async #remove(week: number, oldestTransaction: number): Promise<boolean> {
    const { rows } = await this.#db.query<{ readonly id: number }>(
      "INSERT INTO run_expired_weeks (week) VALUES ($1::bigint) RETURNING id",
      [week],
    );
    const id = rows[0]?.id ?? 0;
    const isRemoved = await this.#partitions.detach(week, id, async () => {
      const { rows: lateRuns } = await this.#db.execute(
        `SELECT FROM ${toPartitionName("runs", week)} WHERE changed >= $1::bigint LIMIT 1`,
        [oldestTransaction],
      );
      return lateRuns.length === 0;
    });
    if (isRemoved !== true) {
      // The tables are in use, or a run was stored meanwhile.
      this.#wasInUse = true;
      this.#retryAtMs = performance.now() + retryMs;
      await this.#db.query("DELETE FROM run_expired_weeks WHERE id = $1::bigint", [id]);
      return false;
    }
    return true;
  }
}

/** Returns the first project that still has runs that have not expired. */
async function findRetainingProject(
  runs: readonly LastRun[],
  findExpiry: FindExpiry,
): Promise<string | undefined> {
  for (const { project_id: projectId, tenant_id: tenantId, last_us: lastMicros } of runs) {
    const beforeMicros = tenantId === null ? null : await findExpiry(tenantId, projectId);
    if (beforeMicros === null || lastMicros >= beforeMicros) {
      return projectId;
    }
  }
  return undefined;
}
