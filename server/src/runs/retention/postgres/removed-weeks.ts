import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { StepPace } from "../../../storage/step-pace.ts";
import { toDetachedName } from "../../postgres/partitions.ts";
import { tablesOfRuns } from "../../postgres/rows-of-runs.ts";
import { forgetTextsSql, textLockSql } from "../../postgres/text-index/text-tables.ts";
import { forgetSharedTextsSql } from "../../shared-texts/postgres-shared-texts.ts";

/**
 * Returns statements that mark the metrics of runs as out of date. `table` is the table of one week, and `rowsSql` is a
 * subquery that selects the rows that are deleted in this step.
 */
export type CreateMetricMarksSql = (runs: {
  readonly table: string;
  readonly rowsSql: string;
}) => readonly string[];

interface RemovedWeek {
  readonly id: number;
  readonly has_payloads: number;
  readonly next_block: number;
}

/**
 * Deletes the data that belongs to the runs of weeks that were removed (`expired-weeks.ts`), then the tables of these
 * weeks. A step processes the rows in some blocks of a table. No transaction writes to these tables any more, so the
 * rows stay in their blocks.
 *
 * A run may have been received again since its week was removed. Such a run has a new row in `runs`, and the data that
 * belongs to it must not be deleted. A transaction that stores such a run locks its key, and so does a step.
 */
export class RemovedWeeks {
  readonly #db: PostgresDatabase;
  readonly #createMetricMarksSql: CreateMetricMarksSql;
  readonly #runBlocks = new StepPace({ min: 16, max: 1_024, targetMs: 200 });
  readonly #payloadBlocks = new StepPace({ min: 1_024, max: 65_536, targetMs: 200 });

  constructor(db: PostgresDatabase, createMetricMarksSql: CreateMetricMarksSql) {
    this.#db = db;
    this.#createMetricMarksSql = createMetricMarksSql;
  }

  /** Performs a step. Returns the number of runs whose data was deleted; `undefined` once no week is left. */
  async deleteSome(): Promise<number | undefined> {
    const { rows } = await this.#db.query<RemovedWeek>(
      "SELECT id, has_payloads, next_block FROM run_expired_weeks ORDER BY id LIMIT 1 FOR UPDATE",
    );
    const [week] = rows;
    if (week === undefined) {
      return undefined;
    }
    return week.has_payloads === 1 ? this.#deletePayloads(week) : this.#deleteRuns(week);
  }

  /** Deletes the references of payloads to shared texts in steps, then the tables of payloads and attachments. */
  async #deletePayloads({ id, next_block: from }: RemovedWeek): Promise<number> {
    const table = toDetachedName("payloads", id);
    const { size } = this.#payloadBlocks;
    if (from < (await this.#countBlocks(table))) {
      const startMs = performance.now();
      await this.#db.execute(forgetSharedTextsSql(createRangeSql(table, from, from + size)));
      await this.#setNextBlock(id, from + size);
      this.#payloadBlocks.record(performance.now() - startMs);
      return 0;
    }
    await this.#db.execute(`DROP TABLE ${table}, ${toDetachedName("attachments", id)}`);
    await this.#db.query(
      "UPDATE run_expired_weeks SET has_payloads = 0, next_block = 0 WHERE id = $1::bigint",
      [id],
    );
    return 0;
  }

  async #deleteRuns({ id, next_block: from }: RemovedWeek): Promise<number> {
    const table = toDetachedName("runs", id);
    const { size } = this.#runBlocks;
    if (from < (await this.#countBlocks(table))) {
      const startMs = performance.now();
      const count = await this.#deleteDataOfRuns(table, createRangeSql(table, from, from + size));
      await this.#setNextBlock(id, from + size);
      this.#runBlocks.record(performance.now() - startMs);
      return count;
    }
    await this.#db.execute(`DROP TABLE ${table}`);
    await this.#db.query("DELETE FROM run_expired_weeks WHERE id = $1::bigint", [id]);
    return 0;
  }

  /** Deletes the data of the runs of the rows that a subquery selects. */
  async #deleteDataOfRuns(table: string, rowsSql: string): Promise<number> {
    await this.#db.query(textLockSql);
    // Lock runs in the order of their ids, as all transactions do, so that no deadlock occurs.
    const { rows: counts } = await this.#db.execute<{ readonly runs: number }>(
      `SELECT count(*) AS runs FROM (SELECT FROM run_keys k JOIN ${rowsSql} c ON k.tenant_id = c.tenant_id AND k.id = c.id
         ORDER BY k.tenant_id, k.id FOR UPDATE OF k) l`,
    );
    // A new statement sees the runs that other transactions have stored while this one waited for their locks.
    const { rows: receivedAgain } = await this.#db.execute<RunId>(
      `SELECT k.tenant_id, k.id FROM ${rowsSql} c JOIN run_keys k ON k.tenant_id = c.tenant_id AND k.id = c.id
       JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us`,
    );
    const parameters = [
      receivedAgain.map((run) => run.tenant_id),
      receivedAgain.map((run) => run.id),
    ];
    for (const [name, column] of [...tablesOfRuns, ["run_keys", "id"]]) {
      await this.#db.execute(
        `DELETE FROM ${name} t USING ${rowsSql} c WHERE t.tenant_id = c.tenant_id AND t.${column} = c.id
           AND NOT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) a (tenant_id, id)
             WHERE a.tenant_id = c.tenant_id AND a.id = c.id)`,
        parameters,
      );
    }
    await this.#db.execute(
      `INSERT INTO run_facet_candidates (tenant_id, project_id, facet)
       SELECT DISTINCT c.tenant_id, c.project_id, v.facet FROM ${rowsSql} c, unnest(c.facets) v (facet)
       ON CONFLICT DO NOTHING`,
    );
    for (const statement of this.#createMetricMarksSql({ table, rowsSql })) {
      await this.#db.execute(statement);
    }
    await this.#db.execute(forgetTextsSql(rowsSql));
    return counts[0]?.runs ?? 0;
  }

  #setNextBlock(id: number, nextBlock: number): Promise<unknown> {
    return this.#db.query(
      "UPDATE run_expired_weeks SET next_block = $2::bigint WHERE id = $1::bigint",
      [id, nextBlock],
    );
  }

  async #countBlocks(table: string): Promise<number> {
    const { rows } = await this.#db.query<{ readonly blocks: number }>(
      "SELECT pg_relation_size($1::regclass) / current_setting('block_size')::bigint AS blocks",
      [table],
    );
    return rows[0]?.blocks ?? 0;
  }
}

interface RunId {
  readonly tenant_id: string;
  readonly id: string;
}

/** SQL for the rows of some blocks of a table. PostgreSQL reads only these blocks. */
const createRangeSql = (table: string, from: number, to: number): string =>
  `(SELECT * FROM ${table} WHERE ctid >= '(${from},0)'::tid AND ctid < '(${to},0)'::tid)`;
