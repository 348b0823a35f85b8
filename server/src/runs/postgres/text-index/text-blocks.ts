import { joinSql, sql } from "../../../filter/sql.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import type { ListPosition, RunSearch } from "../../run-list.ts";
import { parameter, toNumbered } from "../run-conditions.ts";

/**
 * Maximum number of runs outside of the index that a search reads. If there are more, the search does not use the
 * index.
 */
const maxUnindexedRuns = 20_000;

/** Maximum number of runs of one block. */
export const runsPerBlock = 64;

/** Minimum and maximum number of blocks whose runs one step of a search reads. */
const minBlocks = 16;
const maxBlocks = 500;

/**
 * Number of blocks that a step reads for each run that the page lacks: some blocks have all trigrams of a text, but not
 * the text.
 */
const blocksPerMissingRun = 1.25;

/** The last run, in the order of changes, that the text index contains. */
export interface TextCursor {
  readonly changed: number;
  readonly place: number;
}

/** The runs of some blocks, in the order of a list. */
export interface TextCandidates {
  /** A query for them, and for the runs that the index does not contain. */
  readonly runs: Sql;
  /** The position up to which all runs were found; absent if no further block has the text. */
  readonly end?: ListPosition;
}

/** Searches the text index. */
export class TextBlocks {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /**
   * Returns the position up to which runs are indexed. If more than `maxUnindexedRuns` runs follow it, returns
   * `undefined`, because the index does not help then.
   */
  async findCursor(): Promise<TextCursor | undefined> {
    const { rows } = await this.#db.query<TextCursor & { readonly unindexed: number }>(
      `SELECT c.changed, c.place, (SELECT count(*) FROM (SELECT FROM runs r WHERE (r.changed, r.place) > (c.changed, c.place)
         LIMIT ${maxUnindexedRuns + 1}) b) AS unindexed FROM text_cursor c`,
    );
    const [row] = rows;
    return row === undefined || row.unindexed > maxUnindexedRuns ? undefined : row;
  }

  /**
   * Finds the runs that may contain a text, from the position of the search on.
   *
   * @param grams - see `listFilterGrams`
   * @param cursor - the end of the index before this call: runs that are indexed meanwhile are found twice, but none is
   * missed
   */
  async find(
    tenantId: string,
    search: RunSearch,
    {
      grams,
      cursor,
    }: { readonly grams: readonly (readonly number[])[]; readonly cursor: TextCursor },
  ): Promise<TextCandidates> {
    const { projectId, scanLimit, order, after, filter } = search;
    const limit = Math.max(
      minBlocks,
      Math.min(
        maxBlocks,
        Math.ceil(scanLimit / runsPerBlock),
        Math.ceil(search.limit * blocksPerMissingRun),
      ),
    );
    const isAscending = order === "asc";
    const [near, far] = isAscending ? ["first_us", "last_us"] : ["last_us", "first_us"];
    const bounds: Sql[] = [];
    const addBound = (column: string, operator: string, micros: number | undefined): void => {
      if (micros !== undefined) {
        bounds.push(sql`AND b.${column} ${operator} ${parameter(micros)}`);
      }
    };
    addBound(far ?? "", isAscending ? ">=" : "<=", after?.micros);
    addBound("last_us", ">=", filter.earliestStartMicros);
    addBound("first_us", "<=", filter.latestStartMicros);
    const gramConditions = grams.map((list) => sql`b.grams @> ${toArray(list, "smallint")}`);
    const { text, values } = toNumbered(
      sql`WITH found AS MATERIALIZED (SELECT b.${near} AS micros, b.places FROM run_texts b
          WHERE b.owner_id = ${parameter(tenantId)} AND b.project_id = ${parameter(projectId)}
            AND (${joinSql(gramConditions, " OR ")}) ${joinSql(bounds, " ")})
        SELECT micros, places::text[] AS places FROM found ORDER BY micros ${isAscending ? "ASC" : "DESC"} LIMIT ${parameter(limit + 1)}`,
    );
    const { rows } = await this.#db.execute<{
      readonly micros: number;
      readonly places: readonly string[];
    }>(text, values);
    const next = rows[limit];
    const places = toArray(
      rows.slice(0, limit).flatMap((row) => row.places),
      "bigint",
    );
    return {
      // OFFSET 0 makes PostgreSQL find the runs by their places before it evaluates the conditions of the search.
      runs: sql`SELECT * FROM (SELECT * FROM runs b WHERE b.place = ANY (${places}) OFFSET 0) b
        UNION ALL SELECT n.* FROM runs n
        WHERE (n.changed, n.place) > (${parameter(cursor.changed)}, ${parameter(cursor.place)})
          AND n.tenant_id = ${parameter(tenantId)} AND n.project_id = ${parameter(projectId)}
          AND n.place <> ALL (${places})`,
      ...(next && { end: isAscending ? beforeAll(next.micros) : afterAll(next.micros) }),
    };
  }
}

/** `beforeAll` is a position earlier than all runs that start at a time, `afterAll` is later than all of them. */
const beforeAll = (micros: number): ListPosition => ({ micros: micros - 1, id: highestId });
const afterAll = (micros: number): ListPosition => ({ micros: micros + 1, id: lowestId });

const lowestId = "00000000-0000-0000-0000-000000000000";
const highestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A list of numbers as one parameter. */
const toArray = (list: readonly (number | string)[], type: string): Sql => ({
  sql: `(?::text)::${type}[]`,
  values: [`{${list.join(",")}}`],
});
