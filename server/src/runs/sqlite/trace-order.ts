import type { RunFilter, RunPosition } from "../run-query.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * Filters that depend only on a run's own row. Every change of the row also adds, moves or deletes a payload, so that
 * {@link CachedList.payloadState} detects the change.
 */
const rowFilters: ReadonlySet<string> = new Set<keyof RunFilter>([
  "traceId",
  "projectIds",
  "parentRunId",
  "runType",
  "isRoot",
  "hasError",
  "earliestStartMicros",
  "latestStartMicros",
]);

/** Maximum number of cached lists. */
const maxLists = 4;
/** Maximum number of rows in a cached list. */
const maxRows = 500_000;

interface CachedList {
  /**
   * The number of the trace's payloads and the last row number when the list was created. If both are still the same,
   * nothing in the trace has changed.
   */
  readonly payloadState: string;
  /** Version of the database when `payloadState` was last checked. */
  version: string;
  readonly rows: Float64Array;
  /** For the last run of each page that was read, the index in `rows` at which the next page begins. */
  readonly ends: Map<string, number>;
}

export interface TraceListQuery {
  readonly tenantId: string;
  readonly filter: RunFilter & { readonly traceId: string };
  /** The conditions of the filter for the runs of the tenant. */
  readonly conditions: Conditions;
  readonly order: "asc" | "desc";
  readonly after?: RunPosition | undefined;
  readonly limit: number;
}

export interface TraceRows {
  readonly rows: readonly number[];
  /** Records the last run of this page and the number of its runs, so that the next page begins after it. */
  readonly recordPageEnd: (last: RunPosition, count: number) => void;
}

/**
 * Caches the order of the runs of traces whose pages are being read. Otherwise, all runs of a large trace would be read
 * and sorted again for each of its pages. A list is reused until something in its trace changes.
 */
export class TraceOrder {
  readonly #db: Connection;
  readonly #payloadState;
  readonly #version;
  /** Lists by query; the most recently used one is last. */
  readonly #lists = new Map<string, CachedList>();

  constructor(db: Connection) {
    this.#db = db;
    this.#payloadState = db
      .prepare("SELECT count(*), max(rowid) FROM payloads WHERE trace_id = ?")
      .raw();
    // The version changes with every write to the database. Reading it takes a hundredth of the time of reading the
    // state of a large trace.
    this.#version = db.prepare("PRAGMA data_version").raw();
  }

  /**
   * Returns the row numbers of a page and of one more run; `undefined` if the page's position is not cached. The
   * caller must then find the page by its conditions.
   */
  readPage(query: TraceListQuery): TraceRows | undefined {
    const { filter, after, limit } = query;
    const key = JSON.stringify([query.tenantId, filter, query.order]);
    const list = this.#findList(query, key);
    const pageStart = after === undefined ? 0 : list?.ends.get(toKey(after));
    if (list === undefined || pageStart === undefined) {
      return undefined;
    }
    return {
      rows: [...list.rows.subarray(pageStart, pageStart + limit + 1)],
      recordPageEnd: (last, count) => list.ends.set(toKey(last), pageStart + count),
    };
  }

  #findList(query: TraceListQuery, key: string): CachedList | undefined {
    const cached = this.#lists.get(key);
    // Read the version before the state of the payloads: if data is written between the two queries, the next page
    // notices a new version.
    const version = JSON.stringify(this.#version.all());
    const payloadState =
      cached?.version === version
        ? cached.payloadState
        : JSON.stringify(this.#payloadState.all([query.filter.traceId]));
    this.#lists.delete(key);
    const isValid = cached !== undefined && cached.payloadState === payloadState;
    if (!isValid && query.after !== undefined) {
      return undefined;
    }
    const list = isValid
      ? cached
      : { payloadState, version, rows: this.#readRows(query), ends: new Map() };
    list.version = version;
    if (list.rows.length > query.limit && list.rows.length <= maxRows) {
      this.#lists.set(key, list);
      const [oldestKey] = this.#lists.size > maxLists ? this.#lists.keys() : [];
      this.#lists.delete(oldestKey ?? "");
    }
    return list;
  }

  /** Reads the row numbers as one text: returning ten thousand rows takes twice as long as finding them. */
  #readRows({ conditions: { sql, values }, order }: TraceListQuery): Float64Array {
    const direction = order === "asc" ? "ASC" : "DESC";
    const [[json] = []] = parseRows(
      this.#db
        .prepareRaw(
          `SELECT json_group_array(o.row) FROM (
             SELECT r.rowid AS row FROM runs r WHERE ${sql} ORDER BY r.start_us ${direction}, r.id ${direction}
           ) o`,
        )
        .all([...values]),
    );
    return Float64Array.from(JSON.parse(String(json)) as number[]);
  }
}

/** Whether the order of the runs that a filter selects can be cached. */
export const hasCacheableOrder = (filter: RunFilter): filter is TraceListQuery["filter"] =>
  filter.traceId !== undefined && Object.keys(filter).every((name) => rowFilters.has(name));

const toKey = ({ startMicros, id }: RunPosition): string => `${startMicros} ${id}`;
