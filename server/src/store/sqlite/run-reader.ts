import { mimeTypeOf } from "../../ingest/part-head.ts";
import type {
  RunFilter,
  RunPage,
  RunPosition,
  RunQuery,
  RunReads,
  RunStatistics,
} from "../run-query.ts";
import type { RunAttachment, RunFile, RunRow, StoredRun } from "../run-row.ts";
import { narrow } from "./narrow.ts";
import { PayloadReader, toBuffer, toPairs } from "./payload-reader.ts";
import { parseRow, parseRows, readColumns } from "./row.ts";
import { findInOrder } from "./run-order.ts";
import { toConditions, toConditionsWithin } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import { readStatistics } from "./run-statistics.ts";
import type { Connection } from "./schema.ts";
import { isOfOneTrace, TraceOrder } from "./trace-order.ts";
import type { TraceRows } from "./trace-order.ts";

const columns = readColumns.map((name) => `r.${name}`).join(", ");
const runSource =
  "runs r LEFT JOIN projects p ON p.id = r.project_id LEFT JOIN shares s ON s.trace_id = r.trace_id AND s.id = r.id";
const runSelection = `SELECT ${columns}, p.tenant_id, p.name_json, s.token FROM ${runSource}`;

/** What a row of that has, by name. */
const fields = [...readColumns, "tenant_id", "name_json", "token"].join(", ");

function selectPage(condition: string, { order }: RunQuery): string {
  const direction = order === "asc" ? "ASC" : "DESC";
  return `${runSelection} WHERE ${condition} ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?`;
}

/** What a filter comes to. */
interface Served {
  readonly conditions: Conditions;
  /** Of the tenant's projects those that are meant. */
  readonly projectIds: readonly string[];
  /** Whether an index leads to the runs, whatever project they are in. */
  readonly isNarrow: boolean;
}

/** Answers questions from a connection that can't write. */
export class RunReader implements RunReads {
  readonly #db: Connection;
  readonly #payloads: PayloadReader;
  readonly #traceOrder: TraceOrder;
  readonly #statements;

  constructor(db: Connection) {
    this.#db = db;
    this.#payloads = new PayloadReader(db);
    this.#traceOrder = new TraceOrder(db);
    this.#statements = {
      find: db.prepare(`${runSelection} WHERE r.id = ? AND p.tenant_id = ?`).raw(),
      readRow: db.prepare(`${runSelection} WHERE r.rowid = ?`).raw(),
      findShared: db.prepare(`${runSelection} WHERE s.token = ?`).raw(),
      listFiles: db
        .prepare(
          `SELECT a.id, a.name, a.content_type FROM json_each(?) j
           CROSS JOIN attachments a ON a.trace_id = j.value ->> 0 AND a.id = j.value ->> 1
           ORDER BY j.key, a.name`,
        )
        .raw(),
      findFile: db
        .prepare(
          "SELECT content_type, bytes FROM attachments WHERE trace_id = ? AND id = ? AND name = ?",
        )
        .raw(),
      listProjects: db.prepare("SELECT id FROM projects WHERE tenant_id = ?").raw(),
      listDescendants: db
        .prepare(
          `SELECT id, parent_run_id FROM runs WHERE trace_id = ? AND dotted_order > ? AND dotted_order < ?
             AND +project_id IN (SELECT id FROM projects WHERE tenant_id = ?) ORDER BY dotted_order`,
        )
        .raw(),
    };
  }

  find(tenantId: string, id: string): StoredRun | undefined {
    const [values] = parseRows(this.#statements.find.all([id, tenantId]));
    return values === undefined ? undefined : this.#toRuns([values], "withChildren")[0];
  }

  findShared(token: string): StoredRun | undefined {
    const [values] = parseRows(this.#statements.findShared.all([token]));
    return values === undefined ? undefined : this.#toRuns([values], "withChildren")[0];
  }

  findFile({ traceId, runId, name }: RunFile): { mimeType: string; bytes: Uint8Array } | undefined {
    const [values] = parseRows(this.#statements.findFile.all([traceId, runId, name]));
    return values === undefined
      ? undefined
      : { mimeType: mimeTypeOf(String(values[0])), bytes: toBuffer(values[1]) };
  }

  /** Runs by their rows, in this order, alone. */
  readRows(rows: readonly number[]): readonly StoredRun[] {
    const found = rows.flatMap((row) => parseRows(this.#statements.readRow.all([row])));
    return this.#toRuns(found, "alone");
  }

  query(tenantId: string, query: RunQuery): RunPage {
    const { limit, withChildren } = query;
    const ordered = this.#orderedRows(tenantId, query);
    const known = ordered && this.#selectRows(ordered.rows, query);
    const rows =
      // Fewer: a run has gone since its place was noted.
      known !== undefined && known.length === ordered?.rows.length
        ? known
        : this.#select(this.#pageConditions(tenantId, query), query);
    const runs = this.#toRuns(rows.slice(0, limit), withChildren ? "withChildren" : "alone");
    const last = rows.length > limit ? runs.at(-1)?.row : undefined;
    if (last === undefined) {
      return { runs };
    }
    const next = { startMicros: last.startMicros, id: last.id };
    ordered?.endAt(next);
    return { runs, next };
  }

  #select({ sql, values }: Conditions, query: RunQuery): (readonly unknown[])[] {
    const rows = this.#db
      .prepare(selectPage(sql, query))
      .raw()
      .all([...values, query.limit + 1]);
    return parseRows(rows);
  }

  /**
   * As one text, as {@link TraceOrder} reads its rows: handing each value over takes longer. Not where
   * there is a filter: within another question SQLite takes less nesting.
   */
  #selectRows(rows: readonly number[], query: RunQuery): (readonly unknown[])[] {
    const { sql, values } = amongRows(rows);
    const [[json] = []] = parseRows(
      this.#db
        .prepare(`SELECT json_group_array(json_array(${fields})) FROM (${selectPage(sql, query)})`)
        .raw()
        .all([...values, query.limit + 1]),
    );
    return JSON.parse(String(json)) as (readonly unknown[])[];
  }

  /** The rows of a page of one trace, where they are known without looking at all of it. */
  #orderedRows(tenantId: string, { filter, ...page }: RunQuery): TraceRows | undefined {
    return isOfOneTrace(filter)
      ? this.#traceOrder.page({
          ...page,
          tenantId,
          filter,
          conditions: toConditions(tenantId, filter),
        })
      : undefined;
  }

  statistics(tenantId: string, filter: RunFilter): RunStatistics {
    return readStatistics(this.#db, this.#conditions(tenantId, filter).conditions);
  }

  /** The conditions on the runs of a page; those of several projects are found first. */
  #pageConditions(tenantId: string, { filter, order, limit, after }: RunQuery): Conditions {
    const position = after === undefined ? undefined : { ...after, order };
    const { projectIds, isNarrow, conditions } = this.#conditions(tenantId, filter, position);
    if (isNarrow || projectIds.length < 2) {
      return conditions;
    }
    const { projectIds: _ids, ...rest } = filter;
    const rows = findInOrder(this.#db, {
      projectIds,
      conditions: toConditionsWithin(tenantId, rest, position),
      order,
      limit: limit + 1,
    });
    return amongRows(rows);
  }

  /** The conditions of a filter, put so that an index serves them where one can. */
  #conditions(
    tenantId: string,
    filter: RunFilter,
    after?: RunPosition & { order: "asc" | "desc" },
  ): Served {
    const own = new Set(
      parseRows(this.#statements.listProjects.all([tenantId])).map(([id]) => String(id)),
    );
    const projectIds =
      filter.projectIds === undefined
        ? [...own]
        : [...new Set(filter.projectIds)].filter((id) => own.has(id));
    const placed = this.#withTrace(tenantId, filter);
    // One project's runs lie in the order of their starts.
    const served = own.size === 1 ? { ...placed, projectIds } : placed;
    const all = toConditions(tenantId, served, after);
    const isFound =
      filter.ids !== undefined ||
      placed.traceId !== undefined ||
      filter.referenceExampleIds !== undefined;
    const few = isFound ? undefined : narrow(this.#db, projectIds, filter.runFilters ?? []);
    return {
      projectIds,
      isNarrow: isFound || few !== undefined,
      conditions:
        few === undefined
          ? all
          : { sql: `${few.sql} AND ${all.sql}`, values: [...few.values, ...all.values] },
    };
  }

  /** Children lie in their parent's trace, which is the key: with it the table is not searched whole. */
  #withTrace(tenantId: string, filter: RunFilter): RunFilter {
    if (filter.parentRunId === undefined || filter.traceId !== undefined) {
      return filter;
    }
    const [parent] = parseRows(this.#statements.find.all([filter.parentRunId, tenantId]));
    return parent === undefined ? filter : { ...filter, traceId: parseRow(parent).traceId };
  }

  #toRuns(found: readonly (readonly unknown[])[], children: "withChildren" | "alone"): StoredRun[] {
    const rows = found.map(parseRow);
    const bodies = this.#payloads.readMany(rows);
    const files = this.#listFiles(rows);
    return rows.map((row, index) => {
      const [tenantId, nameJson, token] = found[index]?.slice(readColumns.length) ?? [];
      return {
        row,
        tenantId: String(tenantId),
        projectName: typeof nameJson === "string" ? parseName(nameJson) : "",
        bodies: bodies[index] ?? [],
        shareToken: typeof token === "string" ? token : null,
        attachments: files.get(row.id) ?? [],
        ...(children === "alone"
          ? { childRunIds: null, directChildRunIds: null }
          : this.#childrenOf(row, String(tenantId))),
      };
    });
  }

  /** By run; runs without have no entry. */
  #listFiles(rows: readonly RunRow[]): ReadonlyMap<string, readonly RunAttachment[]> {
    const files = new Map<string, RunAttachment[]>();
    for (const [id, name, type] of parseRows(this.#statements.listFiles.all([toPairs(rows)]))) {
      const own = files.get(String(id)) ?? [];
      files.set(String(id), own);
      own.push({ name: String(name), mimeType: mimeTypeOf(String(type)) });
    }
    return files;
  }

  /** Never one of another tenant's, who may name any trace. */
  #childrenOf(
    { traceId, id, dottedOrder }: RunRow,
    tenantId: string,
  ): Pick<StoredRun, "childRunIds" | "directChildRunIds"> {
    if (dottedOrder === "") {
      return { childRunIds: [], directChildRunIds: [] };
    }
    // A descendant's dotted order begins with this one's and a dot; a slash follows the dot in ASCII.
    const values = [traceId, `${dottedOrder}.`, `${dottedOrder}/`, tenantId];
    const found = parseRows(this.#statements.listDescendants.all(values));
    return {
      childRunIds: found.map(([childId]) => String(childId)),
      directChildRunIds: found
        .filter(([, parentId]) => parentId === id)
        .map(([childId]) => String(childId)),
    };
  }
}

const amongRows = (rows: readonly number[]): Conditions => ({
  sql: "r.rowid IN (SELECT value FROM json_each(?))",
  values: [JSON.stringify(rows)],
});

const parseName = (json: string): string => String(JSON.parse(json));
