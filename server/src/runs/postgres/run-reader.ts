import { toMimeType } from "../../bodies/part-head.ts";
import { sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { encodeText, decodeText } from "../../storage/postgres/text-encoding.ts";
import type { Promised } from "../../storage/promised.ts";
import { digestToken } from "../../storage/share-token.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type {
  ProjectStatisticsQuery,
  RunFilter,
  RunPage,
  RunQuery,
  RunReads,
  RunStatistics,
} from "../run-query.ts";
import type { RunFile, StoredRun } from "../run-row.ts";
import { listParameter, parameter, toCondition, toNumbered } from "./run-conditions.ts";
import { canNarrow, RunFinder } from "./run-finder.ts";
import { RunDetailsReader } from "./run-details-reader.ts";
import { createDetailsSql, runColumnsSql, toFoundRun } from "./run-shape.ts";
import type { DetailsRow, FoundRun } from "./run-shape.ts";
import { readStatistics } from "./run-statistics.ts";

type PromisedRunReads = Promised<{ readonly runs: RunReads }>["runs"];

/** The part of a list that a page contains. */
interface PageRange extends Pick<RunQuery, "order"> {
  readonly after: RunQuery["after"];
  readonly limit: number;
}

/** Reads runs, and statistics of runs. */
export class PostgresRunReader implements PromisedRunReads {
  readonly #db: PostgresDatabase;
  readonly #tokens: TokenCipher;
  readonly #details: RunDetailsReader;
  readonly #finder: RunFinder;

  constructor(db: PostgresDatabase, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#tokens = tokenCipher;
    this.#details = new RunDetailsReader(db);
    this.#finder = new RunFinder(db, this);
  }

  find(tenantId: string, id: string): Promise<StoredRun | undefined> {
    return this.#findOne(
      `SELECT ${runColumnsSql} FROM run_keys k JOIN runs r
         ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
       WHERE k.tenant_id = $1 AND k.id = $2`,
      [tenantId, id],
    );
  }

  async findShared(token: string): Promise<StoredRun | undefined> {
    const digest = digestToken(token);
    const run = await this.#findOne(
      `SELECT ${runColumnsSql} FROM shares s JOIN runs r
         ON r.tenant_id = s.tenant_id AND r.trace_id = s.trace_id AND r.id = s.id WHERE s.digest = $1`,
      [digest],
    );
    if (run !== undefined) {
      return run;
    }
    // If the run was moved below another one later, the link must not give access to the trace that contains it now.
    const root = await this.#findOne(
      `SELECT ${runColumnsSql} FROM trace_shares s JOIN runs r
         ON r.tenant_id = s.tenant_id AND r.trace_id = s.trace_id AND r.id = s.id
       WHERE s.digest = $1 AND r.parent_run_id IS NULL AND r.trace_id = r.id`,
      [digest],
    );
    // The holder of a trace's token must not learn the token of its root run, which may be valid for longer.
    return root && { ...root, shareToken: null };
  }

  async #findOne(runsSql: string, values: readonly unknown[]): Promise<StoredRun | undefined> {
    const { rows } = await this.#db.query<DetailsRow>(createDetailsSql(runsSql), values);
    const [run] = await this.#details.readDetails(this.#toFoundRuns(rows), { withChildren: true });
    return run;
  }

  async findFile(
    tenantId: string,
    { traceId, runId, name }: RunFile,
  ): Promise<{ mimeType: string; bytes: Uint8Array } | undefined> {
    const { rows } = await this.#db.query<{
      readonly content_type: string;
      readonly bytes: Uint8Array;
    }>(
      `SELECT a.content_type, a.bytes FROM run_keys k JOIN attachments a
         ON a.tenant_id = k.tenant_id AND a.root_us = k.root_us AND a.trace_id = k.trace_id AND a.id = k.id
       WHERE k.tenant_id = $1 AND k.id = $2 AND k.trace_id = $3 AND a.name = $4`,
      [tenantId, runId, traceId, encodeText(name)],
    );
    const [file] = rows;
    return file && { mimeType: toMimeType(decodeText(file.content_type)), bytes: file.bytes };
  }

  async query(tenantId: string, query: RunQuery): Promise<RunPage> {
    const { limit, order, after } = query;
    const filter = await this.addTraceId(tenantId, query.filter);
    const found = await this.#findPage(tenantId, filter, { order, after, limit: limit + 1 });
    const runs = await this.#details.readDetails(found.slice(0, limit), query);
    const lastRow = found.length > runs.length ? runs.at(-1)?.row : undefined;
    return lastRow === undefined
      ? { runs }
      : { runs, nextPosition: { startMicros: lastRow.startMicros, id: lastRow.id } };
  }

  /** Finds the runs of a page: by an index if one narrows down the search, otherwise in the order of the list. */
  async #findPage(
    tenantId: string,
    filter: RunFilter,
    { order, after, limit }: PageRange,
  ): Promise<readonly FoundRun[]> {
    const { projectIds = [], ...filterInProject } = filter;
    const [projectId, ...others] = projectIds;
    const firstSlice =
      projectId !== undefined && others.length === 0 && canNarrow(filter)
        ? await this.#finder.findFirst(tenantId, {
            projectId,
            filter: filterInProject,
            sort: "start",
            order,
            limit,
            ...(after !== undefined && { after: { micros: after.startMicros, id: after.id } }),
          })
        : undefined;
    const runs = firstSlice?.runs ?? [];
    const reachedPosition = firstSlice?.nextPosition;
    if (firstSlice !== undefined && (reachedPosition === undefined || runs.length >= limit)) {
      return runs;
    }
    const position =
      reachedPosition === undefined
        ? after
        : { startMicros: reachedPosition.micros, id: reachedPosition.id };
    const condition = toCondition(tenantId, filter, position && { ...position, order });
    const direction = order === "asc" ? "ASC" : "DESC";
    const orderSql = `r.start_us ${direction}, r.id ${direction}`;
    const page = createPageSql(tenantId, filter, {
      condition,
      orderSql,
      limit: limit - runs.length,
    });
    return [...runs, ...(await this.readFound(page, orderSql.replaceAll("r.", "f.")))];
  }

  /** Runs a query for the rows of runs, and adds the columns of joined tables. */
  async readFound(page: Sql, orderSql: string): Promise<readonly FoundRun[]> {
    const { text, values } = toNumbered(page);
    const { rows } = await this.#db.execute<DetailsRow>(
      `${createDetailsSql(text)} ORDER BY ${orderSql}`,
      values,
    );
    return this.#toFoundRuns(rows);
  }

  readDetails(runs: readonly FoundRun[], parts: RunQuery["parts"]): Promise<readonly StoredRun[]> {
    return this.#details.readDetails(runs, { withChildren: false, ...(parts && { parts }) });
  }

  async readStatistics(tenantId: string, filter: RunFilter): Promise<RunStatistics> {
    const fullFilter = await this.addTraceId(tenantId, filter);
    return readStatistics(this.#db, toCondition(tenantId, fullFilter));
  }

  readProjectStatistics(
    tenantId: string,
    { projectId, hasResults }: ProjectStatisticsQuery,
  ): Promise<RunStatistics> {
    const condition = toCondition(tenantId, { projectIds: [projectId] });
    return readStatistics(this.#db, condition, { hasResults });
  }

  /**
   * Adds the trace id to a filter for the children of a run. The children belong to the trace of the run, by which an
   * index finds them.
   */
  async addTraceId(tenantId: string, filter: RunFilter): Promise<RunFilter> {
    if (filter.parentRunId === undefined || filter.traceId !== undefined) {
      return filter;
    }
    const { rows } = await this.#db.query<{ readonly trace_id: string }>(
      "SELECT trace_id FROM run_keys WHERE tenant_id = $1 AND id = $2",
      [tenantId, filter.parentRunId],
    );
    const [parent] = rows;
    return parent === undefined ? filter : { ...filter, traceId: parent.trace_id };
  }

  #toFoundRuns(rows: readonly DetailsRow[]): readonly FoundRun[] {
    return rows.map((row) => toFoundRun(row, this.#tokens));
  }
}

/**
 * SQL for the first runs of a page. An index returns the runs of one project in their order. If there are several
 * projects, the first runs of each are read, because sorting all runs would require reading all of them.
 */
function createPageSql(
  tenantId: string,
  filter: RunFilter,
  {
    condition,
    orderSql,
    limit,
  }: { readonly condition: Sql; readonly orderSql: string; readonly limit: number },
): Sql {
  const { projectIds } = filter;
  const isNarrow =
    filter.ids !== undefined ||
    filter.traceId !== undefined ||
    filter.referenceExampleIds !== undefined;
  if (isNarrow || projectIds?.length === 1) {
    return sql`SELECT ${runColumnsSql} FROM runs r WHERE ${condition} ORDER BY ${orderSql} LIMIT ${parameter(limit)}`;
  }
  const isSelected =
    projectIds === undefined ? sql`true` : sql`o.id IN ${listParameter(projectIds)}`;
  return sql`SELECT ${runColumnsSql} FROM projects o CROSS JOIN LATERAL (
      SELECT ${runColumnsSql} FROM runs r WHERE r.project_id = o.id AND ${condition} ORDER BY ${orderSql} LIMIT ${parameter(limit)}
    ) r WHERE o.tenant_id = ${parameter(tenantId)} AND ${isSelected} ORDER BY ${orderSql} LIMIT ${parameter(limit)}`;
}
