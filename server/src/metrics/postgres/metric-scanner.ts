import { createPayloadBytesSql } from "../../storage/payload-bytes.ts";
import { always, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import { mergePayloads } from "../../runs/merge-payloads.ts";
import { parameter, toNumbered } from "../../runs/postgres/run-conditions.ts";
import { createPayloadTextSql } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { createModelCallSql } from "../../runs/usage/run-cost.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../storage/postgres/text-encoding.ts";
import type { MicrosRange } from "../metrics.ts";
import { createScannedRun } from "../scanned-run.ts";
import type { ScannedRun, SumsByTrace } from "../scanned-run.ts";

/** Maximum number of runs that one step reads, with their payloads and without. */
const runsPerStep = { withPayloads: 2_000, withoutPayloads: 10_000 } as const;

/** Bytes of payloads that one step reads, exceeded by one run at most. */
const bytesPerStep = 4_194_304;

/** Selects the runs to scan. */
export interface ScanQuery extends MicrosRange {
  readonly tenantId: string;
  readonly projectId: string;
  /** A condition on the runs; the alias of their table is `r`. */
  readonly condition?: Sql;
  /** Whether the model, the tags and the user of the runs are needed, which are in their payloads. */
  readonly withPayloads: boolean;
}

/** Reads runs, with the values that metrics count and group by. */
export class PostgresMetricScanner {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /**
   * Reads the runs of a range, the latest first, in steps. Each step yields some runs; all runs that start later were
   * yielded before.
   */
  async *scan(query: ScanQuery): AsyncGenerator<readonly ScannedRun[]> {
    let lastRow: ScannedRow | undefined;
    for (;;) {
      const { runs, isEnd } = await this.#listRuns(query, lastRow);
      const lastRun = runs.at(-1);
      if (lastRun === undefined) {
        return;
      }
      const traces = await this.#readTraces(
        query.tenantId,
        runs.map(({ row }) => row),
      );
      yield runs.map(({ row, bodies }) => toScannedRun(row, bodies, traces));
      if (isEnd) {
        return;
      }
      lastRow = lastRun.row;
    }
  }

  /** Reads the next runs with their payloads. */
  async #listRuns(
    query: ScanQuery,
    lastRow: ScannedRow | undefined,
  ): Promise<{ readonly runs: readonly FoundRun[]; readonly isEnd: boolean }> {
    const runLimit = runsPerStep[query.withPayloads ? "withPayloads" : "withoutPayloads"];
    const { text, values } = toNumbered(createRunQuery(query, lastRow, runLimit));
    const { rows } = await this.#db.execute<ScannedRow>(text, values);
    const runs: FoundRun[] = [];
    let bytes = 0;
    for (const row of rows) {
      const run = runs.at(-1);
      const bodies = run?.row.id === row.id ? run.bodies : [];
      if (bodies !== run?.bodies) {
        runs.push({ row, bodies });
      }
      if (row.body !== null) {
        bodies.push(Buffer.from(row.body));
        bytes += row.bytes ?? 0;
      }
    }
    return { runs, isEnd: runs.length < runLimit && bytes <= bytesPerStep };
  }

  /** Returns the sums of the traces of all roots among the rows. */
  async #readTraces(tenantId: string, runs: readonly ScannedRow[]): Promise<SumsByTrace> {
    const traceIds = runs.filter(isRoot).map((run) => run.trace_id);
    if (traceIds.length === 0) {
      return new Map();
    }
    const { rows } = await this.#db.query<{
      readonly trace_id: string;
      readonly tokens: number | null;
      readonly cost: number | null;
      readonly first_token_us: number | null;
    }>(
      `SELECT trace_id, sum(total_tokens ORDER BY id) ${modelCalls} AS tokens,
         sum(total_cost ORDER BY id) ${modelCalls} AS cost, min(first_token_us) AS first_token_us
       FROM runs r WHERE tenant_id = $1 AND trace_id = ANY($2::text[])
         AND (${createModelCallSql("r.run_type")} OR first_token_us IS NOT NULL) GROUP BY trace_id`,
      [tenantId, traceIds],
    );
    return new Map(
      rows.map(({ trace_id: id, tokens, cost, first_token_us: firstTokenMicros }) => [
        id,
        { tokens: tokens ?? 0, cost: cost ?? 0, firstTokenMicros },
      ]),
    );
  }
}

const modelCalls = `FILTER (WHERE ${createModelCallSql("r.run_type")})`;

/**
 * A run, and its payloads in the order in which they are merged: first that of the post, then those of the patches, the
 * oldest first. A member of a later payload replaces that of an earlier one.
 */
interface FoundRun {
  readonly row: ScannedRow;
  readonly bodies: Buffer[];
}

const scannedColumns = [
  "id",
  "root_us",
  "trace_id",
  "start_us",
  "name",
  "run_type",
  "end_us",
  "has_error",
  "parent_run_id",
  "total_tokens",
  "total_cost",
  "first_token_us",
]
  .map((name) => `r.${name}`)
  .join(", ");

/**
 * Creates the query for the next runs, with a row for each payload of a run. Once the payloads exceed the byte limit,
 * further runs are left out. Their payloads are not read: the stored sizes are enough to decide this.
 */
function createRunQuery(query: ScanQuery, lastRow: ScannedRow | undefined, runLimit: number): Sql {
  const { tenantId, projectId, fromMicros, toMicros, condition = always } = query;
  const position: Sql =
    lastRow === undefined
      ? always
      : sql`(r.start_us, r.id) < (${parameter(lastRow.start_us)}, ${parameter(lastRow.id)})`;
  const runs = sql`SELECT ${query.withPayloads ? "*" : `${scannedColumns}, NULL AS body, NULL::int AS bytes`}
    FROM runs r WHERE r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(projectId)}
      AND r.start_us >= ${parameter(fromMicros)} AND r.start_us < ${parameter(toMicros)} AND ${position} AND ${condition}
    ORDER BY r.start_us DESC, r.id DESC LIMIT ${String(runLimit)}`;
  if (!query.withPayloads) {
    return runs;
  }
  return sql`SELECT * FROM (
      SELECT ${scannedColumns}, ${createPayloadTextSql("p")} AS body, ${createPayloadBytesSql("p")} AS bytes,
        p.digest <> '' AS is_patch, p.seq, sum(${createPayloadBytesSql("p")}) OVER (ORDER BY r.start_us DESC, r.id DESC
          GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
      FROM (${runs}) r
        LEFT JOIN payloads p ON p.tenant_id = r.tenant_id AND p.root_us = r.root_us AND p.trace_id = r.trace_id AND p.id = r.id) r
    WHERE r.bytes_before IS NULL OR r.bytes_before <= ${String(bytesPerStep)}
    ORDER BY r.start_us DESC, r.id DESC, r.is_patch, r.seq`;
}

interface ScannedRow {
  readonly id: string;
  readonly root_us: number;
  readonly trace_id: string;
  readonly start_us: number;
  readonly name: string;
  readonly run_type: string;
  readonly end_us: number | null;
  readonly has_error: number;
  readonly parent_run_id: string | null;
  readonly total_tokens: number | null;
  readonly total_cost: number | null;
  readonly first_token_us: number | null;
  /** The text and the size of a payload; `null` for a run without payloads. */
  readonly body: string | null;
  readonly bytes: number | null;
}

/** Whether a run is the root of its trace and has the same id as the trace. */
const isRoot = (row: ScannedRow): boolean => row.parent_run_id === null && row.id === row.trace_id;

const countedMembers: ReadonlySet<string> = new Set(["tags", "extra"]);

const toScannedRun = (
  row: ScannedRow,
  bodies: readonly Buffer[],
  traces: SumsByTrace,
): ScannedRun =>
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
    mergePayloads(bodies, countedMembers),
    isRoot(row) ? traces.get(row.trace_id) : undefined,
  );
