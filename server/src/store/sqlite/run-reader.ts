import { mimeTypeOf } from "../../ingest/part-head.ts";
import type {
  RunFilter,
  RunPage,
  RunPosition,
  RunQuery,
  RunReads,
  RunStatistics,
} from "../run-query.ts";
import type { RunFile, RunRow, StoredRun } from "../run-row.ts";
import { narrow } from "./narrow.ts";
import { PayloadReader, toBuffer } from "./payload-reader.ts";
import { parseRow, parseRows, readColumns } from "./row.ts";
import { findInOrder } from "./run-order.ts";
import { toConditions, toConditionsWithin } from "./run-conditions.ts";
import type { Conditions } from "./run-conditions.ts";
import { readStatistics } from "./run-statistics.ts";
import type { Connection } from "./schema.ts";

const columns = readColumns.map((name) => `r.${name}`).join(", ");
const runSource =
  "runs r LEFT JOIN projects p ON p.id = r.project_id LEFT JOIN shares s ON s.trace_id = r.trace_id AND s.id = r.id";
const runSelection = `SELECT ${columns}, p.tenant_id, p.name_json, s.token FROM ${runSource}`;

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
  readonly #statements;

  constructor(db: Connection) {
    this.#db = db;
    this.#payloads = new PayloadReader(db);
    this.#statements = {
      find: db.prepare(`${runSelection} WHERE r.id = ? AND p.tenant_id = ?`).raw(),
      readRow: db.prepare(`${runSelection} WHERE r.rowid = ?`).raw(),
      findShared: db.prepare(`${runSelection} WHERE s.token = ?`).raw(),
      listFiles: db
        .prepare(
          "SELECT name, content_type FROM attachments WHERE trace_id = ? AND id = ? ORDER BY name",
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
    return values === undefined ? undefined : this.#toRun(values, "withChildren");
  }

  findShared(token: string): StoredRun | undefined {
    const [values] = parseRows(this.#statements.findShared.all([token]));
    return values === undefined ? undefined : this.#toRun(values, "withChildren");
  }

  findFile({ traceId, runId, name }: RunFile): { mimeType: string; bytes: Uint8Array } | undefined {
    const [values] = parseRows(this.#statements.findFile.all([traceId, runId, name]));
    return values === undefined
      ? undefined
      : { mimeType: mimeTypeOf(String(values[0])), bytes: toBuffer(values[1]) };
  }

  /** Runs by their rows, in this order, alone. */
  readRows(rows: readonly number[]): readonly StoredRun[] {
    return rows
      .flatMap((row) => parseRows(this.#statements.readRow.all([row])))
      .map((values) => this.#toRun(values, "alone"));
  }

  query(tenantId: string, query: RunQuery): RunPage {
    const { order, limit, withChildren } = query;
    const { sql, values } = this.#pageConditions(tenantId, query);
    const direction = order === "asc" ? "ASC" : "DESC";
    const rows = this.#db
      .prepare(
        `${runSelection} WHERE ${sql} ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ?`,
      )
      .raw()
      .all([...values, limit + 1]);
    const children = withChildren ? "withChildren" : "alone";
    const runs = parseRows(rows.slice(0, limit)).map((row) => this.#toRun(row, children));
    const last = rows.length > limit ? runs.at(-1)?.row : undefined;
    return last === undefined
      ? { runs }
      : { runs, next: { startMicros: last.startMicros, id: last.id } };
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
    return {
      sql: "r.rowid IN (SELECT value FROM json_each(?))",
      values: [JSON.stringify(rows)],
    };
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

  #toRun(values: readonly unknown[], children: "withChildren" | "alone"): StoredRun {
    const row = parseRow(values);
    const [tenantId, nameJson, token] = values.slice(readColumns.length);
    return {
      row,
      tenantId: String(tenantId),
      projectName: typeof nameJson === "string" ? parseName(nameJson) : "",
      bodies: this.#payloads.read(row),
      shareToken: typeof token === "string" ? token : null,
      attachments: parseRows(this.#statements.listFiles.all([row.traceId, row.id])).map(
        ([name, contentType]) => ({
          name: String(name),
          mimeType: mimeTypeOf(String(contentType)),
        }),
      ),
      ...(children === "alone"
        ? { childRunIds: null, directChildRunIds: null }
        : this.#childrenOf(row, String(tenantId))),
    };
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

const parseName = (json: string): string => String(JSON.parse(json));
