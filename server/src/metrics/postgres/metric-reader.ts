import { createPayloadTextSql } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { always, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import { mergePayloads } from "../../runs/payload.ts";
import { parameter, toCondition, toNumbered } from "../../runs/postgres/run-conditions.ts";
import { createModelCallSql } from "../../runs/usage/run-cost.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../storage/postgres/text-encoding.ts";
import type { Promised } from "../../storage/promised.ts";
import type { MetricCounts } from "../metric-body.ts";
import { allDimension, summarizeUnits } from "../metric-summary.ts";
import type { UnitCounts } from "../metric-summary.ts";
import { dimensions } from "../metrics.ts";
import type { Dimension, MetricQuery, MetricReads, Metrics, MicrosRange } from "../metrics.ts";
import { countRun, createCounts, createScannedRun, toUnits } from "../scanned-run.ts";
import type { ScannedRun } from "../scanned-run.ts";

type PromisedMetricReads = Promised<{ readonly metrics: MetricReads }>["metrics"];

/** Runs that one query returns: with their payloads, and without. */
const runsPerQuery = { withPayloads: 500, withoutPayloads: 10_000 } as const;

/** The dimensions whose values are in the payloads of runs. */
const payloadDimensions: ReadonlySet<Dimension> = new Set(["model", "tag", "user"]);

/**
 * Counts the runs of a project. Metrics are not stored ahead: the runs themselves are read, the latest first, until the
 * time is over. What could not be read is named in the result.
 */
export class PostgresMetricReader implements PromisedMetricReads {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async read(tenantId: string, query: MetricQuery): Promise<Metrics> {
    const { fromMicros, toMicros, withinMs } = query;
    const deadlineMs = performance.now() + withinMs;
    const current = await this.#collect(tenantId, query, deadlineMs);
    const previous = await this.#collect(
      tenantId,
      { ...query, fromMicros: fromMicros - (toMicros - fromMicros), toMicros: fromMicros },
      deadlineMs,
    );
    return summarizeUnits(query, {
      current: current.units,
      previous: previous.units,
      missing: [...current.missing, ...previous.missing],
    });
  }

  async #collect(
    tenantId: string,
    query: MetricQuery,
    deadlineMs: number,
  ): Promise<{ readonly units: readonly UnitCounts[]; readonly missing: readonly MicrosRange[] }> {
    const { groupBy = allDimension, widthMicros, fromMicros, toMicros } = query;
    const dimensionIndexes = [
      ...new Set([dimensions.indexOf(allDimension), dimensions.indexOf(groupBy)]),
    ];
    const countsByStart = new Map<number, MetricCounts[]>();
    let before: RunPosition | undefined;
    for (;;) {
      if (performance.now() > deadlineMs) {
        const end = before?.startMicros ?? toMicros;
        return {
          units: toUnits(dimensionIndexes, countsByStart),
          missing: [{ fromMicros, toMicros: Math.min(end, toMicros) }],
        };
      }
      const { runs, last } = await this.#scan(tenantId, { ...query, groupBy }, before);
      for (const run of runs) {
        const start = Math.floor(run.startMicros / widthMicros) * widthMicros;
        const counts = countsByStart.get(start) ?? createCounts();
        countsByStart.set(start, counts);
        countRun(counts, run);
      }
      if (last === undefined) {
        return { units: toUnits(dimensionIndexes, countsByStart), missing: [] };
      }
      before = last;
    }
  }

  /** Reads some runs of a range, the latest first. `last` is absent if there are no more. */
  async #scan(
    tenantId: string,
    query: MetricQuery & { readonly groupBy: Dimension },
    before: RunPosition | undefined,
  ): Promise<{
    readonly runs: readonly ScannedRun[];
    readonly last: RunPosition | undefined;
  }> {
    const { projectId, fromMicros, toMicros, groupBy, filter } = query;
    const withPayloads = payloadDimensions.has(groupBy);
    const limit = runsPerQuery[withPayloads ? "withPayloads" : "withoutPayloads"];
    const position: Sql =
      before === undefined
        ? always
        : sql`(r.start_us, r.id) < (${parameter(before.startMicros)}, ${parameter(before.id)})`;
    const bodies = withPayloads
      ? `(SELECT array_agg(${createPayloadTextSql("p")} ORDER BY p.digest <> '', p.seq) FROM payloads p
          WHERE p.tenant_id = r.tenant_id AND p.root_us = r.root_us AND p.trace_id = r.trace_id AND p.id = r.id)`
      : "NULL::text[]";
    const { text, values } = toNumbered(
      sql`SELECT r.id, r.start_us, r.name, r.run_type, r.end_us, r.has_error, r.parent_run_id, r.total_tokens, r.total_cost,
          r.first_token_us, ${sumOfTraceSql("total_tokens")} AS trace_tokens, ${sumOfTraceSql("total_cost")} AS trace_cost, ${bodies} AS bodies
        FROM (SELECT * FROM runs r WHERE r.project_id = ${parameter(projectId)} AND r.start_us >= ${parameter(fromMicros)}
            AND r.start_us < ${parameter(toMicros)} AND ${position} AND ${toCondition(tenantId, { ...filter, projectIds: [projectId] })}
          ORDER BY r.start_us DESC, r.id DESC LIMIT ${String(limit)}) r
        ORDER BY r.start_us DESC, r.id DESC`,
    );
    const { rows } = await this.#db.execute<ScannedRow>(text, values);
    const lastRow = rows.length < limit ? undefined : rows.at(-1);
    return {
      runs: rows.map(toScannedRun),
      last: lastRow && { startMicros: lastRow.start_us, id: lastRow.id },
    };
  }
}

/** SQL for the sum of a column over the model calls of the trace whose root a run is; NULL for other runs. */
const sumOfTraceSql = (column: string): string =>
  `CASE WHEN r.parent_run_id IS NULL AND r.id = r.trace_id THEN (SELECT coalesce(sum(c.${column}), 0) FROM runs c
    WHERE c.tenant_id = r.tenant_id AND c.trace_id = r.trace_id AND ${createModelCallSql("c.run_type")}) END`;

interface RunPosition {
  readonly startMicros: number;
  readonly id: string;
}

interface ScannedRow {
  readonly id: string;
  readonly start_us: number;
  readonly name: string;
  readonly run_type: string;
  readonly end_us: number | null;
  readonly has_error: number;
  readonly parent_run_id: string | null;
  readonly total_tokens: number | null;
  readonly total_cost: number | null;
  readonly first_token_us: number | null;
  readonly trace_tokens: number | null;
  readonly trace_cost: number | null;
  readonly bodies: readonly string[] | null;
}

const countedMembers: ReadonlySet<string> = new Set(["tags", "extra"]);

const toScannedRun = (row: ScannedRow): ScannedRun =>
  createScannedRun(
    {
      startMicros: row.start_us,
      name: decodeText(row.name),
      runType: decodeText(row.run_type),
      endMicros: row.end_us,
      hasError: row.has_error === 1,
      parentRunId: row.parent_run_id,
      totalTokens: row.total_tokens,
      totalCost: row.total_cost,
      firstTokenMicros: row.first_token_us,
    },
    mergePayloads(
      (row.bodies ?? []).map((body) => Buffer.from(body)),
      countedMembers,
    ),
    row.trace_tokens === null ? undefined : { tokens: row.trace_tokens, cost: row.trace_cost ?? 0 },
  );
