import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";

/** The tables that are divided by the start of the root, the column `root_us`. */
export const partitionedTables = ["runs", "payloads", "attachments"] as const;

/**
 * Width of a partition: a week. Retention removes a partition as a whole as soon as all its runs have expired, so that
 * at most a week of expired runs remains to be deleted row by row. A query for a project has to open each partition: 52
 * for a year of runs. If partitions covered a day, there would be seven times as many. If they covered a month, a rule
 * of 30 days would still need two of them.
 */
export const weekMicros = 7 * 86_400_000_000;

/**
 * Maximum number of partitions that exist at once: ten years. Clients choose the start times of their root runs, so
 * without a limit they could create any number of partitions. Runs of further weeks are stored in the default
 * partition.
 */
const maxPartitions = 520;

/**
 * Storage options of partitions that differ from PostgreSQL's defaults. Compressed payloads of up to half a page stay
 * in their rows. By default, PostgreSQL would move them to a further table with an index of its own: storing them would
 * take a sixth longer, and they would need as much space.
 */
const storageOptions: Readonly<Record<string, string>> = {
  payloads: "WITH (toast_tuple_target = 4080)",
};

/** Time between two searches for empty partitions. */
const dropIntervalMicros = 3_600_000_000;

/** The longest time for which dropping or detaching a partition waits for a lock. */
const dropLockMs = 100;

/** Whether a statement failed because it could not get a lock in time (`lock_not_available`). */
const isLockTimeout = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === "55P03";

/** The week to which a root belongs, counted from 1970. */
export const toWeek = (rootMicros: number): number => Math.floor(rootMicros / weekMicros);

/** Creates partitions when runs need them, and ahead of time. */
export class Partitions {
  readonly #db: PostgresDatabase;
  /** Weeks that need no further check: they have a partition, or can't get one. */
  readonly #checkedWeeks = new Set<number>();
  #lastDropMicros = 0;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /**
   * Makes sure that these weeks have a partition. Must be called before the transaction writes anything else, because
   * creating a partition waits for all transactions that use the tables, and one of them may wait for a row.
   */
  async ensure(weeks: Iterable<number>): Promise<void> {
    const newWeeks = [...new Set(weeks)].filter((week) => !this.#checkedWeeks.has(week));
    if (newWeeks.length === 0) {
      return;
    }
    const existing = await this.list();
    const missing = newWeeks.filter((week) => !existing.has(week));
    if (missing.length > 0) {
      // Only one transaction at a time creates partitions.
      await this.#db.query("SELECT pg_advisory_xact_lock(hashtext('millrace.partitions'))");
      const created = await this.list();
      for (const week of missing.toSorted((left, right) => left - right)) {
        if (!created.has(week) && created.size < maxPartitions && (await this.#isFree(week))) {
          await this.#create(week);
          created.add(week);
        }
      }
    }
    newWeeks.forEach((week) => this.#checkedWeeks.add(week));
  }

  /** Creates the partitions of this week and of the next, so that no batch of runs has to wait for them. */
  ensureAhead(nowMicros: number): Promise<void> {
    const week = toWeek(nowMicros);
    return this.ensure([week, week + 1]);
  }

  /**
   * Drops the partitions of past weeks that retention has emptied, at most once per `dropIntervalMicros`. If the tables
   * are in use, a later call drops them: waiting for the locks would block all other transactions.
   *
   * @returns whether partitions were searched. The transaction may then hold the locks of the tables, and should end.
   */
  async dropEmpty(nowMicros: number): Promise<boolean> {
    if (nowMicros - this.#lastDropMicros < dropIntervalMicros) {
      return false;
    }
    this.#lastDropMicros = nowMicros;
    const weeks = [...(await this.list())].filter((week) => week < toWeek(nowMicros) - 1);
    for (const week of weeks) {
      if (await this.#isEmpty(week)) {
        await this.#drop(week);
      }
    }
    return true;
  }

  async #isEmpty(week: number): Promise<boolean> {
    const { rows } = await this.#db.execute<{ readonly used: boolean }>(
      `SELECT ${partitionedTables
        .map((table) => `EXISTS (SELECT 1 FROM ${toPartitionName(table, week)})`)
        .join(" OR ")} AS used`,
    );
    return rows[0]?.used === false;
  }

  /** Drops the partitions of a week that was empty, unless it has received a run before their locks were held. */
  async #drop(week: number): Promise<void> {
    await this.#lockTables(async () => {
      if (!(await this.#isEmpty(week))) {
        return false;
      }
      for (const table of partitionedTables) {
        await this.#db.execute(`DROP TABLE ${toPartitionName(table, week)}`);
      }
      this.#checkedWeeks.delete(week);
      return true;
    });
  }

  /**
   * Detaches the partitions of a week, so that queries no longer find their runs. They become tables of their own,
   * named by {@link toDetachedName}. The transaction then holds the locks of the tables, and should end.
   *
   * @param mayDetach - called when no other transaction uses the tables or can begin to use them before this one ends
   * @returns what `mayDetach` returned, or `undefined` if the tables were in use
   */
  detach(
    week: number,
    id: number,
    mayDetach: () => Promise<boolean>,
  ): Promise<boolean | undefined> {
    return this.#lockTables(async () => {
      if (!(await mayDetach())) {
        return false;
      }
      for (const table of partitionedTables) {
        const name = toPartitionName(table, week);
        await this.#db.execute(`ALTER TABLE ${table} DETACH PARTITION ${name}`);
        await this.#db.execute(`ALTER TABLE ${name} RENAME TO ${toDetachedName(table, id)}`);
      }
      this.#checkedWeeks.delete(week);
      return true;
    });
  }

  /**
   * Calls `change` while no other transaction uses the tables. If `change` returns `false`, its statements are rolled
   * back and the locks are released.
   *
   * @returns what `change` returned, or `undefined` if the tables were in use
   */
  async #lockTables(change: () => Promise<boolean>): Promise<boolean | undefined> {
    let result: boolean | undefined;
    await this.#db.execute("SAVEPOINT locked_tables");
    try {
      await this.#db.execute(`SET LOCAL lock_timeout = ${dropLockMs}`);
      const tables = partitionedTables.map((table) => `ONLY ${table}`);
      await this.#db.execute(`LOCK TABLE ${tables.join(", ")} IN ACCESS EXCLUSIVE MODE`);
      result = await change();
    } catch (cause) {
      if (!isLockTimeout(cause)) {
        throw cause;
      }
    }
    await this.#db.execute(
      `${result === true ? "RELEASE" : "ROLLBACK TO"} SAVEPOINT locked_tables`,
    );
    return result;
  }

  /** Must be called after a rollback, which may have removed partitions that this transaction had created. */
  clearCache(): void {
    this.#checkedWeeks.clear();
  }

  /** The weeks that have a partition. */
  async list(): Promise<Set<number>> {
    return new Set(
      (await listPartitionNames(this.#db)).flatMap((name) => {
        const [, era, week] = /^runs_([mw])(\d+)$/.exec(name) ?? [];
        return week === undefined ? [] : [era === "m" ? -Number(week) : Number(week)];
      }),
    );
  }

  /**
   * Whether the default partition has no run of a week. If it has one, the week can't get a partition of its own, and
   * its further runs are stored in the default partition, too.
   */
  async #isFree(week: number): Promise<boolean> {
    const { rows } = await this.#db.query<{ readonly taken: boolean }>(
      `SELECT ${partitionedTables
        .map(
          (table) =>
            `EXISTS (SELECT 1 FROM ${table}_other WHERE root_us >= $1::bigint AND root_us < $2::bigint)`,
        )
        .join(" OR ")} AS taken`,
      [week * weekMicros, (week + 1) * weekMicros],
    );
    return rows[0]?.taken === false;
  }

  async #create(week: number): Promise<void> {
    for (const table of partitionedTables) {
      await this.#db.execute(
        `CREATE TABLE ${toPartitionName(table, week)} PARTITION OF ${table}
         FOR VALUES FROM (${week * weekMicros}) TO (${(week + 1) * weekMicros}) ${storageOptions[table] ?? ""}`,
      );
    }
  }
}

/**
 * Lists the partitions of `runs` by name. `runs` has row-level security, which hides the rows of other tenants; its
 * partitions have none. Where rows are hidden, PostgreSQL uses no index for operators on lists or for the difference of
 * two columns. A query that needs such an index therefore finds the keys of runs in the partitions, with a condition on
 * the tenant, and reads the runs from `runs`.
 */
export async function listPartitionNames(db: PostgresDatabase): Promise<readonly string[]> {
  const { rows } = await db.query<{ readonly name: string }>(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'runs'::regclass ORDER BY 1",
  );
  return rows.map(({ name }) => name);
}

/** The name of a table that was the partition of a week. The id distinguishes several such tables of the same week. */
export const toDetachedName = (table: (typeof partitionedTables)[number], id: number): string =>
  `expired_${table}_${id}`;

/** The number of a week before 1970 is negative. Its name contains an `m`, because a name can't contain a minus. */
export const toPartitionName = (table: string, week: number): string =>
  `${table}_${week < 0 ? "m" : "w"}${Math.abs(week)}`;
