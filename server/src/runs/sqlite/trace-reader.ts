import type { TracePage, TraceQuery, TraceReads, TraceRun, TraceUsage } from "../trace.ts";
import { readModel, TraceUsages } from "../usage/trace-usages.ts";
import type { UsageRun } from "../usage/trace-usages.ts";
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
  costJson: typeof values[5] === "string" ? values[5] : null,
});

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
  model: typeof values[12] === "string" ? readModel(values[12]) : null,
});

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
