import type { RunFilter, RunPosition } from "../run-query.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Filters that look at a run's own row alone. Whatever changes that adds, moves or deletes a payload. */
const ownFilters: ReadonlySet<string> = new Set<keyof RunFilter>([
  "traceId",
  "projectIds",
  "parentRunId",
  "runType",
  "isRoot",
  "hasError",
  "startMicros",
  "endMicros",
]);

/** Lists that are kept, and rows that one of them may have. */
const listsMax = 4;
const rowsMax = 500_000;

interface List {
  /** What the trace had when the list was made. */
  readonly mark: string;
  /** At which version of the database it was last known to have just that. */
  version: string;
  readonly rows: Float64Array;
  /** Where pages ended that were read: from there the next one goes on. */
  readonly ends: Map<string, number>;
}

export interface TracePart {
  readonly tenantId: string;
  readonly filter: RunFilter & { readonly traceId: string };
  /** Those of the filter, within the tenant. */
  readonly conditions: Conditions;
  readonly order: "asc" | "desc";
  readonly after?: RunPosition | undefined;
  readonly limit: number;
}

export interface TraceRows {
  readonly rows: readonly number[];
  /** Records where this page ended and how many runs it had, so that the next one begins there. */
  readonly endAt: (last: RunPosition, count: number) => void;
}

/**
 * The order of traces of which pages are being read. Without, each page of a large trace would look at
 * all of its runs and sort them: ten pages of 10,000 runs ten times. A list is used again as long as
 * nothing of its trace has changed.
 */
export class TraceOrder {
  readonly #db: Connection;
  readonly #mark;
  readonly #version;
  /** By what was asked, the last used last. */
  readonly #lists = new Map<string, List>();

  constructor(db: Connection) {
    this.#db = db;
    this.#mark = db.prepare("SELECT count(*), max(rowid) FROM payloads WHERE trace_id = ?").raw();
    // Whether anything was written since: a hundredth of what the mark of a large trace takes.
    this.#version = db.prepare("PRAGMA data_version").raw();
  }

  /** Rows of a page and one more; `undefined` where its place is not known: it is found by its conditions. */
  page(part: TracePart): TraceRows | undefined {
    const { filter, after, limit } = part;
    const key = JSON.stringify([part.tenantId, filter, part.order]);
    const list = this.#listOf(part, key);
    const from = after === undefined ? 0 : list?.ends.get(toKey(after));
    if (list === undefined || from === undefined) {
      return undefined;
    }
    return {
      rows: [...list.rows.subarray(from, from + limit + 1)],
      endAt: (last, count) => list.ends.set(toKey(last), from + count),
    };
  }

  #listOf(part: TracePart, key: string): List | undefined {
    const known = this.#lists.get(key);
    // Before the mark: what comes between the two questions is a new version at the next page.
    const version = JSON.stringify(this.#version.all());
    const mark =
      known?.version === version
        ? known.mark
        : JSON.stringify(this.#mark.all([part.filter.traceId]));
    this.#lists.delete(key);
    const isUsable = known !== undefined && known.mark === mark;
    if (!isUsable && part.after !== undefined) {
      return undefined;
    }
    const list = isUsable ? known : { mark, version, rows: this.#readRows(part), ends: new Map() };
    list.version = version;
    if (list.rows.length > part.limit && list.rows.length <= rowsMax) {
      this.#lists.set(key, list);
      const [first] = this.#lists.size > listsMax ? this.#lists.keys() : [];
      this.#lists.delete(first ?? "");
    }
    return list;
  }

  /** As one text: to hand ten thousand rows over takes twice as long as to find them. */
  #readRows({ conditions: { sql, values }, order }: TracePart): Float64Array {
    const direction = order === "asc" ? "ASC" : "DESC";
    const [[json] = []] = parseRows(
      this.#db
        .prepare(
          `SELECT json_group_array(o.row) FROM (
             SELECT r.rowid AS row FROM runs r WHERE ${sql} ORDER BY r.start_us ${direction}, r.id ${direction}
           ) o`,
        )
        .raw()
        .all([...values]),
    );
    return Float64Array.from(JSON.parse(String(json)) as number[]);
  }
}

/** Whether the order of what a filter finds can be kept. */
export const isOfOneTrace = (filter: RunFilter): filter is TracePart["filter"] =>
  filter.traceId !== undefined && Object.keys(filter).every((name) => ownFilters.has(name));

const toKey = ({ startMicros, id }: RunPosition): string => `${startMicros} ${id}`;
