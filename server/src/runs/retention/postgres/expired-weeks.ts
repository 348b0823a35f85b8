import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { toPartitionName, toWeek } from "../../postgres/partitions.ts";
import type { Partitions } from "../../postgres/partitions.ts";
import type { ExpiredWeeks, FindExpiry } from "../retention.ts";
import { RemovedWeeks } from "./removed-weeks.ts";
import type { CreateForgetMetricsSql } from "./removed-weeks.ts";

/**
 * SQL that creates the list of weeks whose partitions were separated from the tables of runs, because all of their runs
 * have expired. A row remains until everything that belongs to these runs is deleted, so that a server that ends in
 * between, or another one, continues. `next_block` is the first block that is not done, of the table of payloads, or of
 * that of runs once `has_payloads` is 0.
 */
export const expiredWeekTables = `
  CREATE TABLE run_expired_weeks (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, week BIGINT NOT NULL,
    has_payloads SMALLINT NOT NULL DEFAULT 1, next_block BIGINT NOT NULL DEFAULT 0
  );
`;

/** Projects whose rules are looked up at once. */
const projectsPerPage = 500;

/** Milliseconds after which weeks are examined again in a long sweep. An attempt to remove one lets queries wait. */
const retryMs = 2_000;

interface LastRun {
  readonly project_id: string;
  /** `null` if the project is not stored. */
  readonly tenant_id: string | null;
  /** When the last run of the project in the week began. */
  readonly last_us: number;
}

/**
 * Removes weeks of which all runs have expired. The partition is separated from the tables of runs, so that its runs are
 * gone for every query at once; what belongs to them is deleted afterwards (`removed-weeks.ts`), and then the partition is
 * dropped. No run or payload is deleted by itself.
 *
 * The transaction that separates a partition holds the locks of the tables alone. So every other transaction that reads or
 * writes runs is over before, or begins to read them after, and none has seen runs that are gone when it commits. Until
 * its row of `run_keys` is deleted, a removed run still has a key; whoever finds a key must look whether there is a run.
 */
export class PostgresExpiredWeeks implements ExpiredWeeks {
  readonly #db: PostgresDatabase;
  readonly #partitions: Partitions;
  readonly #removed: RemovedWeeks;
  /** A project that keeps runs of a week. Most weeks are kept by the same project for long. */
  readonly #keepers = new Map<number, string>();
  /** When weeks are examined again during a sweep, and whether a week could not be removed because it was in use. */
  #retryAtMs = 0;
  #isRefused = false;

  constructor(
    db: PostgresDatabase,
    partitions: Partitions,
    createForgetMetricsSql: CreateForgetMetricsSql,
  ) {
    this.#db = db;
    this.#partitions = partitions;
    this.#removed = new RemovedWeeks(db, createForgetMetricsSql);
  }

  deleteRest(): Promise<number | undefined> {
    return this.#removed.deleteSome();
  }

  async removeOne(findExpiry: FindExpiry, isNewSweep: boolean): Promise<boolean> {
    const isDue = performance.now() > this.#retryAtMs;
    if (!isDue && (!isNewSweep || this.#isRefused)) {
      return false;
    }
    this.#isRefused = false;
    this.#retryAtMs = performance.now() + retryMs;
    const thisWeek = toWeek(Date.now() * 1_000);
    const weeks = [...(await this.#partitions.list())].filter((week) => week < thisWeek);
    for (const week of weeks.toSorted((left, right) => left - right)) {
      const { rows } = await this.#db.query<{ readonly ended: number }>(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS ended",
      );
      if (await this.#isExpired(week, findExpiry)) {
        return this.#remove(week, rows[0]?.ended ?? 0);
      }
    }
    return false;
  }

  /** Whether the week has runs, and all of them have expired. */
  async #isExpired(week: number, findExpiry: FindExpiry): Promise<boolean> {
    const keeper = this.#keepers.get(week);
    if (keeper !== undefined) {
      const last = await this.#listLastRuns(week, `project_id = $1`, keeper);
      if ((await findKeeper(last, findExpiry)) !== undefined) {
        return false;
      }
      this.#keepers.delete(week);
    }
    let before: string | undefined;
    for (;;) {
      const page = await this.#listLastRuns(week, "($1::text IS NULL OR project_id < $1)", before);
      const kept = await findKeeper(page, findExpiry);
      if (kept !== undefined) {
        this.#keepers.set(week, kept);
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
   * Lists the last run of each project with runs in the week, in descending order of the projects. PostgreSQL finds each
   * of them by one look-up in an index. Tenants may use the same id for a project, so such a project is listed for each.
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

  /** @param ended - all transactions before this one had ended before the runs of the week were examined */
  async #remove(week: number, ended: number): Promise<boolean> {
    const { rows } = await this.#db.query<{ readonly id: number }>(
      "INSERT INTO run_expired_weeks (week) VALUES ($1::bigint) RETURNING id",
      [week],
    );
    const id = rows[0]?.id ?? 0;
    const isRemoved = await this.#partitions.detach(week, id, async () => {
      const { rows: late } = await this.#db.execute(
        `SELECT FROM ${toPartitionName("runs", week)} WHERE changed >= $1::bigint LIMIT 1`,
        [ended],
      );
      return late.length === 0;
    });
    if (isRemoved !== true) {
      // The tables are in use, or a run has been stored meanwhile.
      this.#isRefused = true;
      this.#retryAtMs = performance.now() + retryMs;
      await this.#db.query("DELETE FROM run_expired_weeks WHERE id = $1::bigint", [id]);
      return false;
    }
    return true;
  }
}

/** The first project of which not all runs have expired. */
async function findKeeper(
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
