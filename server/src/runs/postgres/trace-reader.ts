import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../storage/postgres/text-encoding.ts";
import type { Promised } from "../../storage/promised.ts";
import type { TraceColumns, TracePage, TraceQuery, TraceReads, TraceUsage } from "../trace.ts";
import type { CostBasis } from "../usage/run-cost.ts";
import { TraceUsages } from "../usage/trace-usages.ts";
import type { RunColumnValues } from "./run-columns.ts";
import { createUnpricedModelSql } from "./run-filter-source.ts";

type PromisedTraceReads = Promised<{ readonly traces: TraceReads }>["traces"];

/** A row of a run. `unpriced_model` is the model that a call without a price names. */
type TraceRow = RunColumnValues & { readonly unpriced_model: string | null };

const modelColumns = `cost_json, ${createUnpricedModelSql("runs")} AS unpriced_model`;
const columns = `id, parent_run_id, name, run_type, start_us, end_us, has_error, total_tokens, total_cost, prompt_cost, completion_cost, first_token_us, ${modelColumns}`;

/** Reads traces without payloads. */
export class PostgresTraceReader implements PromisedTraceReads {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async readPage(
    tenantId: string,
    { traceId, limit, afterId = "", since = 0 }: TraceQuery,
  ): Promise<TracePage> {
    // Read the mark before the runs. It is the oldest transaction that is still running: what it and later ones change
    // is returned by the next query with this mark as `since`, even if this query has returned it, too.
    const mark = await this.#readMark();
    const { rows } = await this.#db.query<TraceRow>(
      `SELECT ${columns} FROM runs
       WHERE tenant_id = $1 AND trace_id = $2 AND id > $3 AND changed >= $4::bigint ORDER BY id LIMIT $5::int`,
      [tenantId, traceId, afterId, since, limit + 1],
    );
    const page = toColumns(rows.slice(0, limit));
    const next = rows.length > limit ? page.ids.at(-1) : undefined;
    return { columns: page, mark, ...(next === undefined ? {} : { next }) };
  }

  async #readMark(): Promise<number> {
    const { rows } = await this.#db.query<{ readonly mark: number }>(
      "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS mark",
    );
    return rows[0]?.mark ?? 0;
  }

  async readUsage(
    tenantId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlyMap<string, TraceUsage>> {
    const usage = new TraceUsages();
    for (const traceId of new Set(traceIds)) {
      const limit = usage.nextLimit;
      const { rows } = await this.#db.query<TraceRow>(
        `SELECT run_type, start_us, total_tokens, total_cost, first_token_us, ${modelColumns} FROM runs
         WHERE tenant_id = $1 AND trace_id = $2 LIMIT $3::int`,
        [tenantId, traceId, limit + 1],
      );
      usage.add(
        traceId,
        rows.map((row) => ({
          runType: row.run_type,
          startMicros: row.start_us,
          tokens: row.total_tokens,
          cost: row.total_cost,
          firstTokenMicros: row.first_token_us,
          model: readModel(row),
        })),
        limit,
      );
    }
    return usage.byTrace;
  }
}

/**
 * Returns the model whose price applied or, for a call without a price, such as a failed one, the name in its metadata.
 */
const readModel = ({ cost_json: costJson, unpriced_model: named }: TraceRow): string | null =>
  (costJson === null ? undefined : (JSON.parse(costJson) as CostBasis).model) ?? named;

const toColumns = (rows: readonly TraceRow[]): TraceColumns => ({
  ids: rows.map(({ id }) => id),
  parentIds: rows.map((row) => row.parent_run_id),
  names: rows.map(({ name }) => decodeText(name)),
  runTypes: rows.map((row) => decodeText(row.run_type)),
  starts: rows.map((row) => row.start_us),
  ends: rows.map((row) => row.end_us),
  errors: rows.map((row) => row.has_error),
  tokens: rows.map((row) => row.total_tokens),
  costs: rows.map((row) => row.total_cost),
  promptCosts: rows.map((row) => row.prompt_cost),
  completionCosts: rows.map((row) => row.completion_cost),
  firstTokens: rows.map((row) => row.first_token_us),
  models: rows.map(readModel),
});
