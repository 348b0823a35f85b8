import { toMimeType } from "../../bodies/part-head.ts";
import type {
  ProjectStatisticsQuery,
  RunFilter,
  RunPage,
  RunPosition,
  RunQuery,
  RunReads,
  RunStatistics,
} from "../run-query.ts";
import type { RunFile, StoredRun } from "../run-row.ts";
import { narrowByIndex } from "./index-lookups/narrow-by-index.ts";
import { RunDetailsReader } from "./run-details-reader.ts";
import { damagedBodies, toBuffer } from "./payload-reader.ts";
import { throwDamaged, isIntact } from "../../storage/sqlite/checksum.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { findInOrder } from "./run-order.ts";
import {
  chooseIndex,
  createEndCondition,
  findRowRange,
  findSlice,
  allRunsCondition,
  maxTextIndexRange,
} from "./run-slices.ts";
import type { RunOrder } from "./run-slices.ts";
import { createShape } from "./run-shape.ts";
import type { RunShape } from "./run-shape.ts";
import { toConditions, toConditionsWithinTenant } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import { readStatistics } from "./run-statistics.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { hasTextIndex } from "./text-index/text-index.ts";
import { idSql } from "../../storage/sqlite/tenant-keys.ts";
import type { TenantKeys } from "../../storage/sqlite/tenant-keys.ts";
import { digestToken } from "../../storage/share-token.ts";
import { listTextLookups } from "./index-lookups/text-lookups.ts";
import { hasCacheableOrder, TraceOrder } from "./trace-order.ts";
import type { TraceRows } from "./trace-order.ts";

/** The columns for reading a run with all its parts. */
const fullShape = createShape();

const createSelectSql = ({ columns, joins }: RunShape, condition: string): string =>
  `SELECT ${columns.join(", ")} FROM runs r ${joins} WHERE ${condition}`;

/**
 * SQL for a share link `s` of a whole trace, and the trace's root run `r`. The SQL selects nothing if the run is no
 * longer a root: if the run was moved below another run, its link must not give access to the trace that now contains
 * it.
 */
const sharedRootSql = `trace_shares s JOIN runs r ON r.trace_id = s.trace_id AND r.id = s.id
  AND r.parent_run_id IS NULL AND r.trace_id = ${idSql("r.id")}`;

/** The conditions that select the runs of a page, and a hint that makes SQLite use the right index. */
interface PageConditions extends Conditions {
  readonly indexHint?: string;
}

/** A filter as conditions, with information about the runs that it selects. */
interface ResolvedFilter {
  readonly conditions: Conditions;
  /** The projects of the tenant that the filter selects. */
  readonly projectIds: readonly string[];
  /**
   * How the runs are found: by the row numbers from an index, by the id in the filter, or, if neither is known, in the
   * order of their starts.
   */
  readonly accessPath: "rows" | "id" | "order";
}

/** Reads runs over a read-only connection. */
export class RunReader implements RunReads {
  readonly #db: Connection;
  readonly #keys: TenantKeys;
  readonly #hasTextIndex: boolean;
  readonly #details: RunDetailsReader;
  readonly #traceOrder: TraceOrder;
  readonly #statements;

  constructor(db: Connection, keys: TenantKeys) {
    this.#db = db;
    this.#keys = keys;
    this.#hasTextIndex = hasTextIndex(db);
    this.#details = new RunDetailsReader(db);
    this.#traceOrder = new TraceOrder(db);
    this.#statements = {
      find: db.prepare(createSelectSql(fullShape, "r.id = ? AND p.tenant_id = ?")).raw(),
      findShared: db.prepare(createSelectSql(fullShape, "s.digest = ?")).raw(),
      findSharedRoot: db
        .prepare(
          createSelectSql(
            fullShape,
            `r.rowid = (SELECT r.rowid FROM ${sharedRootSql} WHERE s.digest = ?)`,
          ),
        )
        .raw(),
      findFile: db
        .prepare(
          "SELECT content_type, bytes, checksum FROM attachments WHERE trace_id = ? AND id = ? AND name = ?",
        )
        .raw(),
      listProjects: db.prepare("SELECT id FROM projects WHERE tenant_id = ?").raw(),
    };
  }

  find(tenantId: string, id: string): StoredRun | undefined {
    return this.#toRun(this.#statements.find.all([id, tenantId]));
  }

  findShared(token: string): StoredRun | undefined {
    const parameters = [digestToken(token)];
    const run = this.#toRun(this.#statements.findShared.all(parameters));
    const root = run ?? this.#toRun(this.#statements.findSharedRoot.all(parameters));
    // The holder of a trace's token must not learn the token of its root run, which may be valid for longer.
    return run === undefined && root !== undefined ? { ...root, shareToken: null } : root;
  }

  #toRun(rows: readonly unknown[]): StoredRun | undefined {
    const runs = parseRows(rows).map(fullShape.toRun);
    const [run] = this.#details.readDetails(runs, { withChildren: true });
    return run?.bodies === damagedBodies ? throwDamaged(`run ${run.row.id}`) : run;
  }

  findFile(
    _tenantId: string,
    { traceId, runId, name }: RunFile,
  ): { mimeType: string; bytes: Uint8Array } | undefined {
    const [values] = parseRows(this.#statements.findFile.all([traceId, runId, name]));
    if (values === undefined) {
      return undefined;
    }
    const [type, bytes] = [String(values[0]), toBuffer(values[1])];
    return isIntact(values[2], bytes, runId, name, type)
      ? { mimeType: toMimeType(type), bytes }
      : throwDamaged(`attachment ${name} of run ${runId}`);
  }

  /**
   * Reads runs by row number, in the given order, without descendants. Runs that were deleted since their numbers were
   * found are left out.
   *
   * @param parts - see {@link RunQuery.parts}.
   */
  readRows(rows: readonly number[], parts?: RunQuery["parts"]): readonly StoredRun[] {
    const shape = createShape(parts);
    const runs = this.#selectRows(shape, rows).map(shape.toRun);
    return this.#details.readDetails(runs, { withChildren: false, ...(parts && { parts }) });
  }

  query(tenantId: string, query: RunQuery): RunPage {
    const { limit } = query;
    const shape = createShape(toParts(query));
    const orderedRows = this.#findOrderedRows(tenantId, query);
    const foundRows =
      (orderedRows && this.#selectAllRows(shape, orderedRows.rows)) ??
      this.#selectCommon(shape, tenantId, query) ??
      this.#select(shape, this.#findPageConditions(tenantId, query), query);
    const runs = this.#details.readDetails(foundRows.slice(0, limit).map(shape.toRun), query);
    const lastRow = foundRows.length > runs.length ? runs.at(-1)?.row : undefined;
    if (lastRow === undefined) {
      return { runs };
    }
    const nextPosition = { startMicros: lastRow.startMicros, id: lastRow.id };
    orderedRows?.recordPageEnd(nextPosition, runs.length);
    return { runs, nextPosition };
  }

  #select(
    { columns, joins }: RunShape,
    { sql, values, indexHint = "" }: PageConditions,
    { order, limit }: RunQuery,
  ): readonly (readonly unknown[])[] {
    const direction = order === "asc" ? "ASC" : "DESC";
    const columnAliases = columns.map((_column, index) => `c${index}`);
    const selectedColumns = columns.map((column, index) => `${column} AS c${index}`);
    return this.#selectJson(
      `SELECT json_group_array(json_array(${columnAliases.join(", ")})) FROM (
         SELECT ${selectedColumns.join(", ")} FROM runs r ${indexHint} ${joins} WHERE ${sql}
         ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?)`,
      [...values, limit + 1],
    );
  }

  /**
   * Selects a page of the runs that contain a text, if the first runs of their project contain it often enough to
   * fill the page. Counting all runs that contain a common text would take longer. Otherwise returns `undefined`.
   */
  #selectCommon(
    shape: RunShape,
    tenantId: string,
    query: RunQuery,
  ): readonly (readonly unknown[])[] | undefined {
    const { filter, order, limit, after } = query;
    const [projectId, ...otherProjectIds] = filter.projectIds ?? [];
    if (
      !this.#hasTextIndex ||
      projectId === undefined ||
      otherProjectIds.length > 0 ||
      selectsById(filter) ||
      filter.parentRunId !== undefined ||
      listTextLookups(filter).length === 0
    ) {
      return undefined;
    }
    const position = after && { micros: after.startMicros, id: after.id };
    const runOrder: RunOrder = {
      projectId,
      filter,
      order,
      sort: "start",
      ...(position && { after: position }),
    };
    const index = chooseIndex(runOrder);
    const firstRuns = { runs: runOrder, index, count: limit * firstScanPages };
    const range = findRowRange(this.#db, firstRuns);
    if (range.to - range.from > maxTextIndexRange) {
      return undefined;
    }
    const { end } = findSlice(this.#db, firstRuns);
    const endBound =
      end === undefined ? allRunsCondition : createEndCondition(runOrder, index, end);
    const conditions = toConditions(tenantId, filter, {
      after: after && { ...after, order },
      hasTextIndex: true,
      range,
    });
    const foundRows = this.#select(
      shape,
      {
        sql: `${endBound.sql} AND ${conditions.sql}`,
        values: [...endBound.values, ...conditions.values],
      },
      query,
    );
    return foundRows.length > limit || end === undefined ? foundRows : undefined;
  }

  /**
   * Like {@link RunReader.#selectRows}, but returns `undefined` if a run was deleted since its row number was cached.
   */
  #selectAllRows(
    shape: RunShape,
    rows: readonly number[],
  ): readonly (readonly unknown[])[] | undefined {
    const foundRows = this.#selectRows(shape, rows);
    return rows.every((row, index) => foundRows[index]?.[0] === row) ? foundRows : undefined;
  }

  #selectRows(
    { columns, joins }: RunShape,
    rows: readonly number[],
  ): readonly (readonly unknown[])[] {
    return this.#selectJson(
      `SELECT json_group_array(json_array(${columns.join(", ")}))
       FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value ${joins}`,
      [JSON.stringify(rows)],
    );
  }

  /** Reads rows as one JSON text, because passing each value to JavaScript separately takes several times as long. */
  #selectJson(sql: string, values: readonly unknown[]): readonly (readonly unknown[])[] {
    const [[json] = []] = parseRows(this.#db.prepareRaw(sql).all(values));
    return JSON.parse(String(json)) as (readonly unknown[])[];
  }

  /** Returns the rows of a page of a single trace, if they are known without scanning the trace. */
  #findOrderedRows(tenantId: string, { filter, ...page }: RunQuery): TraceRows | undefined {
    return hasCacheableOrder(filter)
      ? this.#traceOrder.readPage({
          ...page,
          tenantId,
          filter,
          conditions: toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex }),
        })
      : undefined;
  }

  readStatistics(tenantId: string, filter: RunFilter): RunStatistics {
    return readStatistics(this.#db, this.#resolveFilter(tenantId, filter).conditions);
  }

  readProjectStatistics(
    tenantId: string,
    { projectId, hasResults }: ProjectStatisticsQuery,
  ): RunStatistics {
    const { conditions } = this.#resolveFilter(tenantId, { projectIds: [projectId] });
    return readStatistics(this.#db, conditions, { hasResults });
  }

  /**
   * Returns the conditions that select the runs of a page. If many runs of several projects match, the rows of the page
   * are found first, and the conditions select them by their row numbers.
   */
  #findPageConditions(tenantId: string, query: RunQuery): PageConditions {
    const { filter, order, limit, after } = query;
    const position = after === undefined ? undefined : { ...after, order };
    const { projectIds, accessPath, conditions } = this.#resolveFilter(tenantId, filter, position);
    const [projectId, ...otherProjectIds] = projectIds;
    if (accessPath === "id" || projectId === undefined) {
      return conditions;
    }
    if (accessPath === "rows") {
      // Without the hint, SQLite might read all runs in their order, and search the row numbers for each.
      return { ...conditions, indexHint: "NOT INDEXED" };
    }
    // SQLite has no statistics on the runs that a filter matches, and might choose another index and sort its runs.
    const index = chooseIndex({ projectId, filter, order, sort: "start" });
    const indexHint = `INDEXED BY ${index.index}`;
    if (otherProjectIds.length === 0) {
      return {
        sql: `r.project_id = ? AND ${index.condition} AND ${conditions.sql}`,
        values: [projectId, ...conditions.values],
        indexHint,
      };
    }
    const { projectIds: _ids, ...otherFilters } = filter;
    const rows = findInOrder(this.#db, {
      projectIds,
      conditions: toConditionsWithinTenant(tenantId, otherFilters, {
        after: position,
        hasTextIndex: this.#hasTextIndex,
      }),
      index,
      order,
      limit: limit + 1,
    });
    return createRowsCondition(rows);
  }

  /** Returns the conditions of a filter, in a form that an index supports if possible. */
  #resolveFilter(
    tenantId: string,
    filter: RunFilter,
    after?: RunPosition & { order: "asc" | "desc" },
  ): ResolvedFilter {
    const ownProjectIds = new Set(
      parseRows(this.#statements.listProjects.all([tenantId])).map(([id]) => String(id)),
    );
    const projectIds =
      filter.projectIds === undefined
        ? [...ownProjectIds]
        : [...new Set(filter.projectIds)].filter((id) => ownProjectIds.has(id));
    const filterWithTrace = this.#addTraceId(tenantId, filter);
    // If the tenant has a single project, naming it lets an index return the runs in the order of their starts.
    const effectiveFilter =
      ownProjectIds.size === 1 ? { ...filterWithTrace, projectIds } : filterWithTrace;
    const conditions = toConditions(tenantId, effectiveFilter, {
      after,
      hasTextIndex: this.#hasTextIndex,
    });
    const isSelectedById = selectsById(filterWithTrace);
    const indexableFilters = {
      filters: filter.runFilters ?? [],
      textLookups: this.#hasTextIndex ? listTextLookups(filter) : [],
    };
    const candidates = isSelectedById
      ? undefined
      : narrowByIndex(this.#db, projectIds, indexableFilters);
    const otherPath = candidates === undefined ? "order" : "rows";
    return {
      projectIds,
      accessPath: isSelectedById ? "id" : otherPath,
      conditions:
        candidates === undefined
          ? conditions
          : {
              sql: `${candidates.sql} AND ${conditions.sql}`,
              values: [...candidates.values, ...conditions.values],
            },
    };
  }

  /**
   * Adds the trace id to a filter for the children of a run. The children belong to the trace of the run, and the
   * primary key begins with the trace id, so the table need not be scanned.
   */
  #addTraceId(tenantId: string, filter: RunFilter): RunFilter {
    if (filter.parentRunId === undefined || filter.traceId !== undefined) {
      return filter;
    }
    const key = this.#keys.keyOf("run", tenantId, filter.parentRunId);
    const [parent] = parseRows(this.#statements.find.all([key, tenantId]));
    return parent === undefined
      ? filter
      : { ...filter, traceId: fullShape.toRun(parent).row.traceId };
  }
}

/** Number of pages of runs that the first scan for a text reads. If the text is common, that scan finds enough runs. */
const firstScanPages = 4;

/** Whether a filter selects runs by an id, so that an index finds them. */
const selectsById = ({ ids, traceId, referenceExampleIds }: RunFilter): boolean =>
  ids !== undefined || traceId !== undefined || referenceExampleIds !== undefined;

const createRowsCondition = (rows: readonly number[]): Conditions => ({
  sql: "r.rowid IN (SELECT value FROM json_each(?))",
  values: [JSON.stringify(rows)],
});

/** Adds the parts of a run that are needed to find its descendants, if the query requests descendants. */
const toParts = ({ parts, withChildren }: RunQuery): RunQuery["parts"] =>
  parts !== undefined && withChildren
    ? new Set([...parts, "traceId", "dottedOrder", "tenantId"] as const)
    : parts;
