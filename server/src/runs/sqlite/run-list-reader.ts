import { requiredStatus } from "./index-lookups/required-ranges.ts";
import type {
  CountQuery,
  ListPosition,
  RunCount,
  RunListReads,
  RunSearch,
  RunStretch,
  WordQuery,
} from "../run-list.ts";
import { countMicros } from "../run-list.ts";
import type { RunFilter } from "../run-query.ts";
import { narrow } from "./index-lookups/narrow.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { toConditions } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import type { RunReader } from "./run-reader.ts";
import { hasTextIndex } from "./text-index/text-index.ts";
import { textLookupsFor } from "./index-lookups/text-lookups.ts";
import { readWords } from "./run-words.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** An index in whose order a list is gone through, and what it holds only rows of. */
interface Way {
  readonly index: string;
  readonly key: string;
  readonly condition: string;
}

const startKey = "r.start_us";
const latencyKey = "r.end_us - r.start_us";

/** Answers what the page's list of runs asks. */
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
      textLeads: this.#hasTextIndex ? textLookupsFor(filter) : [],
    });
  }

  search(tenantId: string, search: RunSearch): RunStretch {
    const { projectId, limit, steps } = search;
    const filter: RunFilter = { ...search.filter, projectIds: [projectId] };
    const conditions = toConditions(tenantId, filter, { hasTextIndex: this.#hasTextIndex });
    const isFound =
      filter.ids !== undefined ||
      filter.traceId !== undefined ||
      filter.referenceExampleIds !== undefined;
    const few = isFound ? everything : this.#narrow(filter);
    const way = wayOf(search);
    if (few !== undefined) {
      const found = this.#find(search, way, {
        conditions: {
          sql: `${few.sql} AND ${conditions.sql}`,
          values: [...few.values, ...conditions.values],
        },
        by: isFound ? "any" : "rows",
      });
      return found.length > limit
        ? { runs: this.#read(found.slice(0, limit)), ...nextOf(found[limit - 1]) }
        : { runs: this.#read(found) };
    }
    const end = this.#skip(search, way, steps);
    const found = this.#find(search, way, { conditions, end, by: "order" });
    if (found.length > limit) {
      const kept = found.slice(0, limit);
      return { runs: this.#read(kept), ...nextOf(kept.at(-1)) };
    }
    return { runs: this.#read(found), ...nextOf(end) };
  }

  span(tenantId: string, projectId: string): ReturnType<RunListReads["span"]> {
    const [row] = parseRows(
      this.#db
        .prepare(
          `SELECT (SELECT min(start_us) FROM runs WHERE project_id = p.id), (SELECT max(start_us) FROM runs WHERE project_id = p.id)
           FROM projects p WHERE p.id = ? AND p.tenant_id = ?`,
        )
        .raw()
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
      .prepare(
        `SELECT block / ${blocks}, total(runs), total(errors) FROM run_counts
         WHERE project_id = (SELECT id FROM projects WHERE id = ? AND tenant_id = ?) AND ${kinds}
           AND block >= ? AND block <= ? GROUP BY 1 HAVING total(runs) > 0 ORDER BY 1`,
      )
      .raw()
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

  /** Where one comes to after so many runs; `undefined` where the list ends before. */
  #skip(search: RunSearch, way: Way, steps: number): Found | undefined {
    const rest = restOf(search, way);
    const [row] = parseRows(
      this.#db
        .prepare(
          `SELECT r.rowid, ${way.key}, r.id FROM runs r INDEXED BY ${way.index}
           WHERE r.project_id = ? AND ${way.condition} AND ${rest.sql}
           ORDER BY ${orderOf(search, way)} LIMIT 1 OFFSET ?`,
        )
        .raw()
        .all([search.projectId, ...rest.values, steps - 1]),
    );
    return row === undefined ? undefined : toFound(row);
  }

  #find(
    search: RunSearch,
    way: Way,
    how: {
      readonly conditions: Conditions;
      readonly end?: Found | undefined;
      /** What leads to the runs: their order, the rows that another index found, or whatever index there is. */
      readonly by: "order" | "rows" | "any";
    },
  ): Found[] {
    const { conditions, end, by } = how;
    const rest = restOf(search, way);
    const led = { order: `INDEXED BY ${way.index}`, rows: "NOT INDEXED", any: "" }[by];
    const until = end === undefined ? everything : untilOf(search, way, end);
    const rows = this.#db
      .prepare(
        `SELECT r.rowid, ${way.key}, r.id FROM runs r ${led}
         WHERE r.project_id = ? AND ${way.condition} AND ${rest.sql} AND ${until.sql} AND ${conditions.sql}
         ORDER BY ${orderOf(search, way)} LIMIT ?`,
      )
      .raw()
      .all([
        search.projectId,
        ...rest.values,
        ...until.values,
        ...conditions.values,
        search.limit + 1,
      ]);
    return parseRows(rows).map(toFound);
  }

  #read(found: readonly Found[]): RunStretch["runs"] {
    return this.#runs.readRows(found.map(({ row }) => row));
  }
}

interface Found extends ListPosition {
  readonly row: number;
}

const toFound = ([row, micros, id]: readonly unknown[]): Found => ({
  row: Number(row),
  micros: Number(micros),
  id: String(id),
});

const nextOf = (found: Found | undefined): { next?: ListPosition } =>
  found === undefined ? {} : { next: { micros: found.micros, id: found.id } };

const everything: Conditions = { sql: "1", values: [] };

/** The rarest of what the filter asks for, where an index has it in order. */
function wayOf({ filter, sort }: RunSearch): Way {
  if (sort === "latency") {
    return { index: "runs_by_latency", key: latencyKey, condition: "r.end_us IS NOT NULL" };
  }
  const status =
    filter.hasError === true
      ? "error"
      : (filter.runFilters ?? []).map(requiredStatus).find((one) => one !== undefined);
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

const orderOf = ({ order }: RunSearch, { key }: Way): string =>
  order === "asc" ? `${key} ASC, r.id ASC` : `${key} DESC, r.id DESC`;

/** What is left of the list: behind a place, and within the time that is asked for. */
function restOf({ after, order, filter }: RunSearch, { key }: Way): Conditions {
  const sign = order === "asc" ? ">" : "<";
  const { startMicros, endMicros } = key === startKey ? filter : {};
  const parts: Conditions[] = [
    ...(startMicros === undefined ? [] : [{ sql: `${key} >= ?`, values: [startMicros] }]),
    ...(endMicros === undefined ? [] : [{ sql: `${key} <= ?`, values: [endMicros] }]),
    // The first comparison is one that an index of an expression serves too.
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
    ? everything
    : {
        sql: parts.map(({ sql }) => sql).join(" AND "),
        values: parts.flatMap(({ values }) => values),
      };
}

function untilOf({ order }: RunSearch, { key }: Way, { micros, id }: ListPosition): Conditions {
  const sign = order === "asc" ? "<" : ">";
  return {
    sql: `${key} ${sign}= ? AND (${key}, r.id) ${sign}= (?, ?)`,
    values: [micros, micros, id],
  };
}
