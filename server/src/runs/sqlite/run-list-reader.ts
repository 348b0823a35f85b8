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
import type { RowRange } from "./text-index/text-index.ts";
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

  search(tenantId: string, search: RunSearch): SearchSlice<StoredRun> {
    const filter: RunFilter = { ...search.filter, projectIds: [search.projectId] };
    const list: List = { tenantId, search, filter, listIndex: chooseIndex(search) };
    if (
      filter.ids !== undefined ||
      filter.traceId !== undefined ||
      filter.referenceExampleIds !== undefined
    ) {
      return this.#readPage(list, this.#findAmong(list, matchAll, "any"));
    }
    const textLookups = this.#hasTextIndex ? listTextLookups(filter) : [];
    const first = textLookups.length === 0 ? undefined : this.#scanFirst(list);
    if (first !== undefined) {
      return first;
    }
    const candidates = narrow(this.#db, [search.projectId], {
      filters: filter.runFilters ?? [],
      textLookups,
    });
    return candidates === undefined
      ? this.#scan(list, this.#findSlice(list, search.scanLimit))
      : this.#readPage(list, this.#findAmong(list, candidates, "rows"));
  }

  /**
   * Scans the first few runs for a text. If the text is common, they fill the page, or much of it, and counting all
   * runs that contain it would take longer. Returns `undefined` if there is too little of it.
   */
  #scanFirst(list: List): SearchSlice<StoredRun> | undefined {
    const { limit, scanLimit } = list.search;
    const slice = this.#findSlice(list, Math.ceil(scanLimit / firstScanShare));
    if (slice.range === undefined || slice.range.to - slice.range.from > maxFirstRange) {
      return undefined;
    }
    const found = this.#scan(list, slice);
    const isCommon = found.runs.length * minPageShare >= limit;
    return isCommon || found.next === undefined ? found : undefined;
  }

  /** Finds runs in the order of the list, up to the end of the slice. */
  #scan(list: List, { end, range }: Slice): SearchSlice<StoredRun> {
    const { tenantId, filter, search } = list;
    const options = { hasTextIndex: this.#hasTextIndex, range };
    const conditions = toConditions(tenantId, filter, options);
    const rows = this.#find(list, { conditions, end, by: "order" });
    return rows.length > search.limit
      ? this.#readPage(list, rows)
      : { runs: this.#read(search, rows), ...nextOf(end) };
  }

  /** Finds runs among those that an index lookup found. */
  #findAmong(list: List, candidates: Conditions, by: "rows" | "any"): readonly FoundRow[] {
    const options = { hasTextIndex: this.#hasTextIndex };
    const conditions = toConditions(list.tenantId, list.filter, options);
    return this.#find(list, {
      conditions: {
        sql: `${candidates.sql} AND ${conditions.sql}`,
        values: [...candidates.values, ...conditions.values],
      },
      by,
    });
  }

  /** Reads a page of the found runs. If there are more, the result contains the position of the next page. */
  #readPage({ search }: List, rows: readonly FoundRow[]): SearchSlice<StoredRun> {
    const page = rows.slice(0, search.limit);
    const runs = this.#read(search, page);
    return rows.length > page.length ? { runs, ...nextOf(page.at(-1)) } : { runs };
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

  /** Finds the end of a slice, and the range of its rows if the filter uses the text index. */
  #findSlice({ search, filter, listIndex }: List, scanLimit: number): Slice {
    const { sql, values } = rangeOf(search, listIndex);
    const inOrder = `FROM runs r INDEXED BY ${listIndex.index}
      WHERE r.project_id = ? AND ${listIndex.condition} AND ${sql} ORDER BY ${orderOf(search, listIndex)}`;
    const parameters = [search.projectId, ...values];
    const [end] = parseRows(
      this.#db
        .prepareRaw(`SELECT r.rowid, ${listIndex.key}, r.id ${inOrder} LIMIT 1 OFFSET ?`)
        .all([...parameters, scanLimit - 1]),
    );
    const slice = end === undefined ? {} : { end: toFoundRow(end) };
    if (!this.#hasTextIndex || listTextLookups(filter).length === 0) {
      return slice;
    }
    // A run that is inserted between the two queries may be left out, as if it had been inserted after them.
    const [[from, to] = []] = parseRows(
      this.#db
        .prepareRaw(`SELECT min(row), max(row) FROM (SELECT r.rowid AS row ${inOrder} LIMIT ?)`)
        .all([...parameters, scanLimit]),
    );
    return { ...slice, range: { from: Number(from ?? 0), to: Number(to ?? 0) } };
  }

  #find(
    { search, listIndex }: List,
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

/** A list, and how it is read. */
interface List {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly filter: RunFilter;
  readonly listIndex: ListIndex;
}

/** The runs of a list that one step scans. */
interface Slice {
  /** The last of them; absent if the list ends before. */
  readonly end?: FoundRow;
  readonly range?: RowRange;
}

/** The first scan for a text reads this fraction of the runs that a step may scan. */
const firstScanShare = 5;

/** A text is common if the first scan finds at least this fraction of a page. */
const minPageShare = 20;

/** Reading the text index for a wider range of rows may take longer than counting the runs that contain a text. */
const maxFirstRange = 20_000;

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
