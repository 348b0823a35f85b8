import type {
  CountQuery,
  CountSlice,
  FacetSlice,
  RunCount,
  RunListReads,
  RunSearch,
  SearchSlice,
  SuggestionQuery,
} from "../run-list.ts";
import { countFacetValues, facetParts } from "../facet-counts.ts";
import { createTraceModelsSql } from "../run-filter-source.ts";
import { countIntervalMicros } from "../run-list.ts";
import type { RunFilter } from "../run-query.ts";
import type { RunPart, StoredRun } from "../run-row.ts";
import { narrowByIndex } from "./index-lookups/narrow-by-index.ts";
import { createFloorDivisionSql } from "../../storage/sqlite/floor-division.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { toConditions } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import type { RunReader } from "./run-reader.ts";
import { hasTextIndex } from "./text-index/text-index.ts";
import type { RowRange } from "./text-index/text-index.ts";
import { listTextLookups } from "./index-lookups/text-lookups.ts";
import {
  chooseIndex,
  createEndCondition,
  findRowRange,
  findSlice,
  allRunsCondition,
  maxTextIndexRange,
  createOrderSql,
  createRangeCondition,
  toFoundRow,
} from "./run-slices.ts";
import type { FirstRuns, FoundRow, ListIndex } from "./run-slices.ts";
import { readSuggestions } from "./run-suggestions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Runs the queries of the UI's run list. */
export class RunListReader implements RunListReads {
  readonly #db: Connection;
  readonly #runs: RunReader;
  readonly #hasTextIndex: boolean;

  constructor(db: Connection, runs: RunReader) {
    this.#db = db;
    this.#runs = runs;
    this.#hasTextIndex = hasTextIndex(db);
  }

  search(tenantId: string, search: RunSearch): SearchSlice<StoredRun> {
    const filter: RunFilter = { ...search.filter, projectIds: [search.projectId] };
    const listQuery: ListQuery = { tenantId, search, filter, listIndex: chooseIndex(search) };
    if (
      filter.ids !== undefined ||
      filter.traceId !== undefined ||
      filter.referenceExampleIds !== undefined
    ) {
      return this.#readPage(
        listQuery,
        this.#findAmongCandidates(listQuery, allRunsCondition, "any"),
      );
    }
    const textLookups = this.#hasTextIndex ? listTextLookups(filter) : [];
    const firstSlice = textLookups.length === 0 ? undefined : this.#scanFirst(listQuery);
    if (firstSlice !== undefined) {
      return firstSlice;
    }
    const candidates = narrowByIndex(this.#db, [search.projectId], {
      filters: filter.runFilters ?? [],
      textLookups,
    });
    if (candidates !== undefined) {
      return this.#readPage(listQuery, this.#findAmongCandidates(listQuery, candidates, "rows"));
    }
    const range =
      textLookups.length === 0
        ? undefined
        : findRowRange(this.#db, selectFirstRuns(listQuery, search.scanLimit));
    return this.#scan(listQuery, search.scanLimit, range);
  }

  /**
   * Scans the first few runs for a text. If the text is common, the runs found fill much of the page, and counting all
   * runs that contain the text would take longer. Returns `undefined` if too few of the first runs contain the text.
   */
  #scanFirst(listQuery: ListQuery): SearchSlice<StoredRun> | undefined {
    const { limit, scanLimit } = listQuery.search;
    const count = Math.ceil(scanLimit / firstScanDivisor);
    const range = findRowRange(this.#db, selectFirstRuns(listQuery, count));
    if (range.to - range.from > maxTextIndexRange) {
      return undefined;
    }
    const slice = this.#scan(listQuery, count, range);
    const isCommon = slice.runs.length * commonTextDivisor >= limit;
    return isCommon || slice.nextPosition === undefined ? slice : undefined;
  }

  /** Scans the first `count` runs of the list, in its order. */
  #scan(listQuery: ListQuery, count: number, range?: RowRange): SearchSlice<StoredRun> {
    const { tenantId, filter, search } = listQuery;
    const { end } = findSlice(this.#db, selectFirstRuns(listQuery, count));
    const options = { hasTextIndex: this.#hasTextIndex, range };
    const conditions = toConditions(tenantId, filter, options);
    const rows = this.#findRows(listQuery, { conditions, end, accessPath: "order" });
    return rows.length > search.limit
      ? this.#readPage(listQuery, rows)
      : { runs: this.#readRuns(search, rows), ...toNextPosition(end) };
  }

  /** Searches the runs that an index lookup has found. */
  #findAmongCandidates(
    listQuery: ListQuery,
    candidates: Conditions,
    accessPath: "rows" | "any",
  ): readonly FoundRow[] {
    const options = { hasTextIndex: this.#hasTextIndex };
    const conditions = toConditions(listQuery.tenantId, listQuery.filter, options);
    return this.#findRows(listQuery, {
      conditions: {
        sql: `${candidates.sql} AND ${conditions.sql}`,
        values: [...candidates.values, ...conditions.values],
      },
      accessPath,
    });
  }

  /** Reads a page of the found runs. If more runs were found, the result contains the position of the next page. */
  #readPage({ search }: ListQuery, rows: readonly FoundRow[]): SearchSlice<StoredRun> {
    const page = rows.slice(0, search.limit);
    const runs = this.#readRuns(search, page);
    return rows.length > page.length ? { runs, ...toNextPosition(page.at(-1)) } : { runs };
  }

  countFacets(tenantId: string, search: RunSearch): FacetSlice {
    const { runs, ...position } = this.search(tenantId, { ...search, parts: facetParts });
    if (search.filter.isRoot !== true) {
      return { counts: countFacetValues(runs), runCount: runs.length, ...position };
    }
    const traceModels = this.#readTraceModels(runs);
    const countedRuns = runs.slice(0, traceModels.size);
    const last = countedRuns.at(-1);
    return {
      counts: countFacetValues(countedRuns, traceModels),
      runCount: countedRuns.length,
      ...(last === undefined || countedRuns.length === runs.length
        ? position
        : { nextPosition: { micros: last.row.startMicros, id: last.row.id } }),
    };
  }

  /**
   * Reads the models of traces, by the id of the root, in the order of the roots. Traces may be large, so reading ends
   * after `traceModelsTimeLimitMs`, but not before the models of one trace are read.
   */
  #readTraceModels(roots: readonly StoredRun[]): ReadonlyMap<string, readonly unknown[]> {
    const endMs = performance.now() + traceModelsTimeLimitMs;
    const statement = this.#db.prepareRaw(`SELECT ${traceModelsSql} FROM runs r WHERE r.id = ?`);
    const models = new Map<string, readonly unknown[]>();
    for (const { row } of roots) {
      const [[json] = []] = parseRows(statement.all([row.id]));
      models.set(row.id, JSON.parse(String(json)) as readonly unknown[]);
      if (performance.now() > endMs) {
        break;
      }
    }
    return models;
  }

  readStartTimeRange(
    tenantId: string,
    projectId: string,
  ): ReturnType<RunListReads["readStartTimeRange"]> {
    const [row] = parseRows(
      this.#db
        .prepareRaw(
          `SELECT (SELECT min(start_us) FROM runs WHERE project_id = p.id), (SELECT max(start_us) FROM runs WHERE project_id = p.id)
           FROM projects p WHERE p.id = ? AND p.tenant_id = ?`,
        )
        .all([projectId, tenantId]),
    );
    return row === undefined || row[0] === null
      ? undefined
      : { fromMicros: Number(row[0]), toMicros: Number(row[1]) };
  }

  countRuns(tenantId: string, query: CountQuery): readonly RunCount[] {
    const { projectId, isRoot, fromMicros, toMicros, widthMicros } = query;
    const blocksPerInterval = Math.max(1, Math.round(widthMicros / countIntervalMicros));
    const rootCondition =
      isRoot === undefined ? "is_root IN (0, 1)" : `is_root = ${Number(isRoot)}`;
    const rows = this.#db
      .prepareRaw(
        `SELECT ${createFloorDivisionSql("block", blocksPerInterval)}, total(runs), total(errors) FROM run_counts
         WHERE project_id = (SELECT id FROM projects WHERE id = ? AND tenant_id = ?) AND ${rootCondition}
           AND block >= ? AND block <= ? GROUP BY 1 HAVING total(runs) > 0 ORDER BY 1`,
      )
      .all([
        projectId,
        tenantId,
        Math.floor(fromMicros / countIntervalMicros),
        Math.floor(toMicros / countIntervalMicros),
      ]);
    return parseRows(rows).map(([block, runs, errors]) => ({
      startMicros: Number(block) * blocksPerInterval * countIntervalMicros,
      runs: Number(runs),
      errors: Number(errors),
    }));
  }

  countMatches(tenantId: string, search: RunSearch, widthMicros: number): CountSlice {
    const { runs, ...position } = this.search(tenantId, { ...search, parts: countedParts });
    const counts = new Map<number, RunCount>();
    for (const { row } of runs) {
      const startMicros = Math.floor(row.startMicros / widthMicros) * widthMicros;
      const count = counts.get(startMicros);
      counts.set(startMicros, {
        startMicros,
        runs: (count?.runs ?? 0) + 1,
        errors: (count?.errors ?? 0) + Number(row.hasError),
      });
    }
    return { counts: [...counts.values()], ...position };
  }

  listSuggestions(tenantId: string, query: SuggestionQuery): readonly string[] {
    return readSuggestions(this.#db, tenantId, query);
  }

  #findRows(
    { search, listIndex }: ListQuery,
    options: {
      readonly conditions: Conditions;
      readonly end?: FoundRow | undefined;
      /**
       * How rows are found: by the index in list order, by the row numbers from another index, or by any index that
       * SQLite chooses.
       */
      readonly accessPath: "order" | "rows" | "any";
    },
  ): FoundRow[] {
    const { conditions, end, accessPath } = options;
    const range = createRangeCondition(search, listIndex);
    const indexHint = { order: `INDEXED BY ${listIndex.index}`, rows: "NOT INDEXED", any: "" }[
      accessPath
    ];
    const endBound =
      end === undefined ? allRunsCondition : createEndCondition(search, listIndex, end);
    const rows = this.#db
      .prepareRaw(
        `SELECT r.rowid, ${listIndex.sortKey}, r.id FROM runs r ${indexHint}
         WHERE r.project_id = ? AND ${listIndex.condition} AND ${range.sql} AND ${endBound.sql} AND ${conditions.sql}
         ORDER BY ${createOrderSql(search, listIndex)} LIMIT ?`,
      )
      .all([
        search.projectId,
        ...range.values,
        ...endBound.values,
        ...conditions.values,
        search.limit + 1,
      ]);
    return parseRows(rows).map(toFoundRow);
  }

  #readRuns({ parts }: RunSearch, rows: readonly FoundRow[]): readonly StoredRun[] {
    return this.#runs.readRows(
      rows.map(({ rowId }) => rowId),
      parts,
    );
  }
}

const traceModelsSql = createTraceModelsSql("r");
/** Milliseconds after which one step reads no further models of traces. */
const traceModelsTimeLimitMs = 60;

const countedParts: ReadonlySet<RunPart> = new Set(["startMicros", "hasError"]);

/** A query for a list of runs, and the index from which the list is read. */
interface ListQuery {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly filter: RunFilter;
  readonly listIndex: ListIndex;
}

const selectFirstRuns = ({ search, listIndex }: ListQuery, count: number): FirstRuns => ({
  runs: search,
  index: listIndex,
  count,
});

/** The first scan for a text reads the number of runs that a step may scan, divided by this number. */
const firstScanDivisor = 5;

/** A text is common if the first scan finds at least as many runs as fit on a page, divided by this number. */
const commonTextDivisor = 20;

const toNextPosition = (last: FoundRow | undefined): Pick<SearchSlice<StoredRun>, "nextPosition"> =>
  last === undefined ? {} : { nextPosition: { micros: last.micros, id: last.id } };
