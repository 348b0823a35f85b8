import { requiredStatus } from "./index-lookups/required-ranges.ts";
import type {
  CountQuery,
  ListPosition,
  RunCount,
  RunListReads,
  RunSearch,
  SearchSlice,
  WordQuery,
} from "../run-list.ts";
import { countMicros } from "../run-list.ts";
import type { RunFilter } from "../run-query.ts";
import type { StoredRun } from "../run-row.ts";
import { narrow } from "./index-lookups/narrow.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { toConditions } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import type { RunReader } from "./run-reader.ts";
import { hasTextIndex } from "./text-index/text-index.ts";
import { listTextLookups } from "./index-lookups/text-lookups.ts";
import { readWords } from "./run-words.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** An index that contains runs in the order of a list, and the condition that limits which runs it contains. */
interface ListIndex {
  readonly index: string;
  readonly key: string;
  readonly condition: string;
}

const startKey = "r.start_us";
const latencyKey = "r.end_us - r.start_us";

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

  #narrow(filter: RunFilter): Conditions | undefined {
    const { runFilters = [], projectIds = [] } = filter;
    return narrow(this.#db, projectIds, {
      filters: runFilters,
      textLookups: this.#hasTextIndex ? listTextLookups(filter) : [],
    });
  }

  search(tenantId: string, search: RunSearch): SearchSlice<StoredRun> {
    const { projectId, limit, scanLimit } = search;
    const filter: RunFilter = { ...search.filter, projectIds: [projectId] };
    const conditions = toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex });
    const isSelective =
      filter.ids !== undefined ||
      filter.traceId !== undefined ||
      filter.referenceExampleIds !== undefined;
    const candidates = isSelective ? matchAll : this.#narrow(filter);
    const listIndex = chooseIndex(search);
    if (candidates !== undefined) {
      const rows = this.#find(search, listIndex, {
        conditions: {
          sql: `${candidates.sql} AND ${conditions.sql}`,
          values: [...candidates.values, ...conditions.values],
        },
        by: isSelective ? "any" : "rows",
      });
      return rows.length > limit
        ? { runs: this.#read(search, rows.slice(0, limit)), ...nextOf(rows[limit - 1]) }
        : { runs: this.#read(search, rows) };
    }
    const end = this.#findScanEnd(search, listIndex, scanLimit);
    const rows = this.#find(search, listIndex, { conditions, end, by: "order" });
    if (rows.length > limit) {
      const page = rows.slice(0, limit);
      return { runs: this.#read(search, page), ...nextOf(page.at(-1)) };
    }
    return { runs: this.#read(search, rows), ...nextOf(end) };
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

  counts(tenantId: string, query: CountQuery): readonly RunCount[] {
    const { projectId, isRoot, fromMicros, toMicros, widthMicros } = query;
    const blocks = Math.max(1, Math.round(widthMicros / countMicros));
    const kinds = isRoot === undefined ? "is_root IN (0, 1)" : `is_root = ${Number(isRoot)}`;
    const rows = this.#db
      .prepareRaw(
        `SELECT block / ${blocks}, total(runs), total(errors) FROM run_counts
         WHERE project_id = (SELECT id FROM projects WHERE id = ? AND tenant_id = ?) AND ${kinds}
           AND block >= ? AND block <= ? GROUP BY 1 HAVING total(runs) > 0 ORDER BY 1`,
      )
      .all([
        projectId,
        tenantId,
        Math.floor(fromMicros / countMicros),
        Math.floor(toMicros / countMicros),
      ]);
    return parseRows(rows).map(([block, runs, errors]) => ({
      startMicros: Number(block) * blocks * countMicros,
      runs: Number(runs),
      errors: Number(errors),
    }));
  }

  words(tenantId: string, query: WordQuery): readonly string[] {
    return readWords(this.#db, tenantId, query);
  }

  /** Returns the position reached after `scanLimit` runs; `undefined` if the list ends before. */
  #findScanEnd(search: RunSearch, listIndex: ListIndex, scanLimit: number): FoundRow | undefined {
    const range = rangeOf(search, listIndex);
    const [row] = parseRows(
      this.#db
        .prepareRaw(
          `SELECT r.rowid, ${listIndex.key}, r.id FROM runs r INDEXED BY ${listIndex.index}
           WHERE r.project_id = ? AND ${listIndex.condition} AND ${range.sql}
           ORDER BY ${orderOf(search, listIndex)} LIMIT 1 OFFSET ?`,
        )
        .all([search.projectId, ...range.values, scanLimit - 1]),
    );
    return row === undefined ? undefined : toFoundRow(row);
  }

  #find(
    search: RunSearch,
    listIndex: ListIndex,
    options: {
      readonly conditions: Conditions;
      readonly end?: FoundRow | undefined;
      /**
       * How rows are found: by the index in list order, by row numbers of another index, or by any index that
       * SQLite chooses.
       */
      readonly by: "order" | "rows" | "any";
    },
  ): FoundRow[] {
    const { conditions, end, by } = options;
    const range = rangeOf(search, listIndex);
    const indexHint = { order: `INDEXED BY ${listIndex.index}`, rows: "NOT INDEXED", any: "" }[by];
    const endBound = end === undefined ? matchAll : endBoundOf(search, listIndex, end);
    const rows = this.#db
      .prepareRaw(
        `SELECT r.rowid, ${listIndex.key}, r.id FROM runs r ${indexHint}
         WHERE r.project_id = ? AND ${listIndex.condition} AND ${range.sql} AND ${endBound.sql} AND ${conditions.sql}
         ORDER BY ${orderOf(search, listIndex)} LIMIT ?`,
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

  #read({ parts }: RunSearch, rows: readonly FoundRow[]): readonly StoredRun[] {
    return this.#runs.readRows(
      rows.map(({ row }) => row),
      parts,
    );
  }
}

interface FoundRow extends ListPosition {
  readonly row: number;
}

const toFoundRow = ([row, micros, id]: readonly unknown[]): FoundRow => ({
  row: Number(row),
  micros: Number(micros),
  id: String(id),
});

const nextOf = (rows: FoundRow | undefined): { next?: ListPosition } =>
  rows === undefined ? {} : { next: { micros: rows.micros, id: rows.id } };

const matchAll: Conditions = { sql: "1", values: [] };

/** Chooses the most selective index that contains the runs in the order of the list. */
function chooseIndex({ filter, sort }: RunSearch): ListIndex {
  if (sort === "latency") {
    return { index: "runs_by_latency", key: latencyKey, condition: "r.end_us IS NOT NULL" };
  }
  const status =
    filter.hasError === true
      ? "error"
      : (filter.runFilters ?? []).map(requiredStatus).find((required) => required !== undefined);
  if (status === "error") {
    return { index: "errors_by_start", key: startKey, condition: "r.has_error = 1" };
  }
  if (status === "pending") {
    const condition = "r.end_us IS NULL AND r.has_error = 0";
    return { index: "open_by_start", key: startKey, condition };
  }
  return filter.isRoot === true
    ? { index: "roots_by_start", key: startKey, condition: "r.parent_run_id IS NULL" }
    : { index: "runs_by_start", key: startKey, condition: "1" };
}

const orderOf = ({ order }: RunSearch, { key }: ListIndex): string =>
  order === "asc" ? `${key} ASC, r.id ASC` : `${key} DESC, r.id DESC`;

/** Limits a list to the runs after a position and within the requested times. */
function rangeOf({ after, order, filter }: RunSearch, { key }: ListIndex): Conditions {
  const sign = order === "asc" ? ">" : "<";
  const { startMicros, endMicros } = key === startKey ? filter : {};
  const parts: Conditions[] = [
    ...(startMicros === undefined ? [] : [{ sql: `${key} >= ?`, values: [startMicros] }]),
    ...(endMicros === undefined ? [] : [{ sql: `${key} <= ?`, values: [endMicros] }]),
    // An index on an expression serves the first comparison, but not the comparison of the pair.
    ...(after === undefined
      ? []
      : [
          {
            sql: `${key} ${sign}= ? AND (${key}, r.id) ${sign} (?, ?)`,
            values: [after.micros, after.micros, after.id],
          },
        ]),
  ];
  return parts.length === 0
    ? matchAll
    : {
        sql: parts.map(({ sql }) => sql).join(" AND "),
        values: parts.flatMap(({ values }) => values),
      };
}

function endBoundOf(
  { order }: RunSearch,
  { key }: ListIndex,
  { micros, id }: ListPosition,
): Conditions {
  const sign = order === "asc" ? "<" : ">";
  return {
    sql: `${key} ${sign}= ? AND (${key}, r.id) ${sign}= (?, ?)`,
    values: [micros, micros, id],
  };
}
