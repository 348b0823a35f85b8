import type { TraceColumns, TracePage, TraceQuery, TraceReads, TraceUsage } from "../trace.ts";
import { createCalledModelSql } from "../run-filter-source.ts";
import { TraceUsages } from "../usage/trace-usages.ts";
import type { UsageRun } from "../usage/trace-usages.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** The SQL of each column of a page. */
const columns: { readonly [Name in keyof TraceColumns]: string } = {
  ids: "id",
  parentIds: "parent_run_id",
  names: "name",
  runTypes: "run_type",
  starts: "start_us",
  ends: "end_us",
  errors: "has_error",
  tokens: "total_tokens",
  costs: "total_cost",
  promptCosts: "prompt_cost",
  completionCosts: "completion_cost",
  firstTokens: "first_token_us",
  models: createCalledModelSql("runs"),
};
const columnNames = Object.keys(columns) as readonly (keyof TraceColumns)[];

/**
 * Returns the SQL that selects a page of runs with each column as one JSON list: passing a row for each run to
 * JavaScript takes three times as long.
 */
const createPageSql = (runs: string): string => `SELECT ${columnNames
  .map((name) => `json_group_array(${name})`)
  .join(", ")} FROM (
  SELECT ${columnNames.map((name) => `${columns[name]} AS ${name}`).join(", ")} ${runs})`;

/**
 * The unary plus prevents SQLite from using the index on projects: it must search by trace id, with which the primary
 * key begins.
 */
const tenantCondition = "+project_id IN (SELECT id FROM projects WHERE tenant_id = ?)";
const orderAndLimit = "ORDER BY id LIMIT ?";

/** Reads traces without payloads. */
export class TraceReader implements TraceReads {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      listPage: db
        .prepare(
          createPageSql(
            `FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition} ${orderAndLimit}`,
          ),
        )
        .raw(),
      // Every change of a run adds a payload. The subquery reads only the index of the payloads.
      listChanged: db
        .prepare(
          createPageSql(
            `FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition}
               AND id IN (SELECT id FROM payloads WHERE trace_id = ? AND rowid > ?) ${orderAndLimit}`,
          ),
        )
        .raw(),
      mark: db.prepare("SELECT max(rowid) FROM payloads").raw(),
      listUsage: db
        .prepare(
          `SELECT run_type, start_us, total_tokens, total_cost, first_token_us, ${createCalledModelSql("runs")} FROM runs
             WHERE trace_id = ? AND ${tenantCondition} LIMIT ?`,
        )
        .raw(),
    };
  }

  readPage(tenantId: string, { traceId, limit, afterId = "", since }: TraceQuery): TracePage {
    // Read the mark before the runs: a run that changes between the two queries is then returned twice, now and by the
    // next query with this mark as `since`. Otherwise the next query would miss the change.
    const mark = Number(parseRows(this.#statements.mark.all())[0]?.[0] ?? 0);
    if (since !== undefined && since === mark) {
      return { columns: emptyColumns, mark };
    }
    const parameters = [traceId, afterId, tenantId];
    const [row] = parseRows(
      since === undefined
        ? this.#statements.listPage.all([...parameters, limit + 1])
        : this.#statements.listChanged.all([...parameters, traceId, since, limit + 1]),
    );
    const found = toColumns((_, index) => JSON.parse(row?.[index] as string) as unknown[]);
    if (found.ids.length <= limit) {
      return { columns: found, mark };
    }
    const page = toColumns((name) => found[name].slice(0, limit));
    return { columns: page, mark, next: page.ids.at(-1) ?? "" };
  }

  readUsage(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage> {
    const usage = new TraceUsages();
    for (const traceId of new Set(traceIds)) {
      const limit = usage.nextLimit;
      const rows = parseRows(this.#statements.listUsage.all([traceId, tenantId, limit + 1]));
      usage.add(traceId, rows.map(toUsageRun), limit);
    }
    return usage.byTrace;
  }
}

const toUsageRun = (values: readonly unknown[]): UsageRun => ({
  runType: String(values[0]),
  startMicros: Number(values[1]),
  tokens: numberOrNull(values[2]),
  cost: numberOrNull(values[3]),
  firstTokenMicros: numberOrNull(values[4]),
  model: typeof values[5] === "string" ? values[5] : null,
});

const toColumns = (
  read: (name: keyof TraceColumns, index: number) => readonly unknown[],
): TraceColumns =>
  Object.fromEntries(
    columnNames.map((name, index) => [name, read(name, index)]),
  ) as unknown as TraceColumns;

const emptyColumns = toColumns(() => []);

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
