import type { TracePage, TraceQuery, TraceReads, TraceRun, TraceUsage } from "../trace.ts";
import { isModelCall, roundCost } from "../usage/run-cost.ts";
import type { CostBasis } from "../usage/run-cost.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

const columns =
  "id, parent_run_id, name, run_type, start_us, end_us, has_error, total_tokens, total_cost, prompt_cost, completion_cost, first_token_us, cost_json";

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
          `SELECT ${columns} FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition} ${orderAndLimit}`,
        )
        .raw(),
      // Every change of a run adds a payload. The subquery reads only the index of the payloads.
      listChanged: db
        .prepare(
          `SELECT ${columns} FROM runs WHERE trace_id = ? AND id > ? AND ${tenantCondition}
             AND id IN (SELECT id FROM payloads WHERE trace_id = ? AND rowid > ?) ${orderAndLimit}`,
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
      return { runs: [], mark };
    }
    const parameters = [traceId, afterId, tenantId];
    const rows = parseRows(
      since === undefined
        ? this.#statements.listPage.all([...parameters, limit + 1])
        : this.#statements.listChanged.all([...parameters, traceId, since, limit + 1]),
    );
    const runs = rows.slice(0, limit).map(toTraceRun);
    const next = rows.length > limit ? runs.at(-1)?.id : undefined;
    return { runs, mark, ...(next === undefined ? {} : { next }) };
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

const toTraceRun = (values: readonly unknown[]): TraceRun => ({
  id: String(values[0]),
  parentRunId: typeof values[1] === "string" ? values[1] : null,
  name: String(values[2]),
  runType: String(values[3]),
  startMicros: Number(values[4]),
  endMicros: numberOrNull(values[5]),
  hasError: values[6] === 1,
  totalTokens: numberOrNull(values[7]),
  totalCost: numberOrNull(values[8]),
  promptCost: numberOrNull(values[9]),
  completionCost: numberOrNull(values[10]),
  firstTokenMicros: numberOrNull(values[11]),
  model: typeof values[12] === "string" ? (readModel(values[12]) ?? null) : null,
});

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
