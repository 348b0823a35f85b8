import type { TraceColumns, TracePage, TraceQuery, TraceReads, TraceUsage } from "../trace.ts";
import { isModelCall, roundCost } from "../usage/run-cost.ts";
import type { CostBasis } from "../usage/run-cost.ts";
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
  models: "cost_json ->> '$.model'",
};
const columnNames = Object.keys(columns) as readonly (keyof TraceColumns)[];

/** SQLite writes each column as JSON: to pass on a row for each run would take three times as long. */
const toPageSql = (runs: string): string => `SELECT ${columnNames
  .map((name) => `json_group_array(${name})`)
  .join(", ")} FROM (
  SELECT ${columnNames.map((name) => `${columns[name]} AS ${name}`).join(", ")} ${runs})`;

/**
 * The unary plus prevents SQLite from using the index on projects: it must search by trace id, with which the primary
 * key begins.
 */
const tenantCondition = "+project_id IN (SELECT id FROM projects WHERE tenant_id = ?)";
const orderAndLimit = "ORDER BY id LIMIT ?";

/** The number of runs from which the usage of a trace is summed. A list shows the usage of many traces. */
const maxUsageRuns = 1_000;
/** The number of runs that are read for all traces of a list. Traces for which none are left are read with a few. */
const maxUsageRunsOfList = 20_000;
const minUsageRuns = 20;
/** The number of models that are named of a trace. */
const maxModels = 3;

/** Reads traces without payloads. */
export class TraceReader implements TraceReads {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      listPage: db
        .prepare(
          toPageSql(
            `FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition} ${orderAndLimit}`,
          ),
        )
        .raw(),
      // Every change of a run adds a payload. The subquery reads only the index of the payloads.
      listChanged: db
        .prepare(
          toPageSql(
            `FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition}
               AND id IN (SELECT id FROM payloads WHERE trace_id = ? AND rowid > ?) ${orderAndLimit}`,
          ),
        )
        .raw(),
      mark: db.prepare("SELECT max(rowid) FROM payloads").raw(),
      listUsage: db
        .prepare(
          `SELECT run_type, start_us, total_tokens, total_cost, first_token_us, cost_json FROM runs
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
    const usageByTrace = new Map<string, TraceUsage>();
    let remainingRuns = maxUsageRunsOfList;
    for (const traceId of new Set(traceIds)) {
      const limit = Math.max(minUsageRuns, Math.min(maxUsageRuns, remainingRuns));
      const rows = parseRows(this.#statements.listUsage.all([traceId, tenantId, limit + 1]));
      remainingRuns -= rows.length;
      const calls = rows.slice(0, limit).filter(([runType]) => isModelCall(String(runType)));
      if (calls.length > 0) {
        usageByTrace.set(traceId, { ...sumUsage(calls), isPartial: rows.length > limit });
      }
    }
    return usageByTrace;
  }
}

/** Sums the usage of model calls. Each has a type, start, tokens, cost, first token and the basis of its cost. */
function sumUsage(calls: readonly (readonly unknown[])[]): Omit<TraceUsage, "isPartial"> {
  const models = new Set<string>();
  let firstTokenMicros: number | null = null;
  let [tokens, cost]: [number | null, number | null] = [null, null];
  for (const call of calls.toSorted((left, right) => Number(left[1]) - Number(right[1]))) {
    const [callTokens, callCost, callFirstToken] = call.slice(2, 5).map(numberOrNull);
    tokens = callTokens === null ? tokens : (tokens ?? 0) + (callTokens ?? 0);
    cost = callCost === null ? cost : (cost ?? 0) + (callCost ?? 0);
    if (typeof callFirstToken === "number") {
      firstTokenMicros = Math.min(firstTokenMicros ?? Infinity, callFirstToken);
    }
    const model = typeof call[5] === "string" ? readModel(call[5]) : undefined;
    if (model !== undefined && models.size < maxModels) {
      models.add(model);
    }
  }
  return {
    tokens,
    cost: cost === null ? null : roundCost(cost),
    models: [...models],
    firstTokenMicros,
  };
}

/** The model from which the cost of a run was computed, or for which no price is known. */
const readModel = (basisJson: string): string | undefined =>
  (JSON.parse(basisJson) as CostBasis).model;

const toColumns = (
  read: (name: keyof TraceColumns, index: number) => readonly unknown[],
): TraceColumns =>
  Object.fromEntries(
    columnNames.map((name, index) => [name, read(name, index)]),
  ) as unknown as TraceColumns;

const emptyColumns = toColumns(() => []);

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
