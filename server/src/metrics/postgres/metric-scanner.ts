import { createPayloadBytesSql } from "../../storage/payload-bytes.ts";
import { always, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import { mergePayloads } from "../../runs/payload.ts";
import { parameter, toNumbered } from "../../runs/postgres/run-conditions.ts";
import { createPayloadTextSql } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { createModelCallSql } from "../../runs/usage/run-cost.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../storage/postgres/text-encoding.ts";
import type { MicrosRange } from "../metrics.ts";
import { createScannedRun } from "../scanned-run.ts";
import type { ScannedRun } from "../scanned-run.ts";

/** Runs that one step reads: with their payloads, and without. */
const runsPerStep = { withPayloads: 500, withoutPayloads: 10_000 } as const;

/** Bytes of payloads that one step reads, exceeded by one run at most. */
const bytesPerStep = 4_194_304;

export interface ScanQuery extends MicrosRange {
  readonly tenantId: string;
  readonly projectId: string;
  /** Only runs `r` that meet this condition. */
  readonly condition?: Sql;
  /** Whether the model, the tags and the user of the runs are needed, which are in their payloads. */
  readonly withPayloads: boolean;
}

/** Reads runs with the values by which metrics are counted. */
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
    let before: ScannedRow | undefined;
    for (;;) {
      const rows = await this.#listRows(query, before);
      const read = query.withPayloads ? rows.slice(0, countReadable(rows)) : rows;
      const last = read.at(-1);
      if (last === undefined) {
        return;
      }
      const bodies = query.withPayloads ? await this.#readBodies(query.tenantId, read) : noBodies;
      const usage = await this.#readUsage(query.tenantId, read);
      yield read.map((row) => toScannedRun(row, bodies.get(row.id) ?? [], usage));
      if (read.length === rows.length && rows.length < this.#stepOf(query)) {
        return;
      }
      before = last;
    }
  }

  #stepOf({ withPayloads }: ScanQuery): number {
    return runsPerStep[withPayloads ? "withPayloads" : "withoutPayloads"];
  }

  async #listRows(
    query: ScanQuery,
    before: ScannedRow | undefined,
  ): Promise<readonly ScannedRow[]> {
    const { tenantId, projectId, fromMicros, toMicros, condition = always } = query;
    const position: Sql =
      before === undefined
        ? always
        : sql`(r.start_us, r.id) < (${parameter(before.start_us)}, ${parameter(before.id)})`;
    // The length of a text is known without decompressing it.
    const bytes = query.withPayloads
      ? `(SELECT sum(${createPayloadBytesSql("p")}) FROM payloads p
          WHERE p.tenant_id = r.tenant_id AND p.root_us = r.root_us AND p.trace_id = r.trace_id AND p.id = r.id)`
      : "0";
    const { text, values } = toNumbered(
      sql`SELECT r.id, r.root_us, r.trace_id, r.start_us, r.name, r.run_type, r.end_us, r.has_error, r.parent_run_id, r.total_tokens,
          r.total_cost, r.first_token_us, ${bytes} AS bytes
        FROM (SELECT * FROM runs r WHERE r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(projectId)}
            AND r.start_us >= ${parameter(fromMicros)} AND r.start_us < ${parameter(toMicros)} AND ${position} AND ${condition}
          ORDER BY r.start_us DESC, r.id DESC LIMIT ${String(this.#stepOf(query))}) r
        ORDER BY r.start_us DESC, r.id DESC`,
    );
    return (await this.#db.execute<ScannedRow>(text, values)).rows;
  }

  /** Reads the payloads of runs by the id of the run, in ascending precedence. */
  async #readBodies(tenantId: string, runs: readonly ScannedRow[]): Promise<BodiesById> {
    const { rows } = await this.#db.query<{ readonly id: string; readonly body: string }>(
      `SELECT p.id, ${createPayloadTextSql("p")} AS body FROM unnest($2::bigint[], $3::text[], $4::text[]) i (root_us, trace_id, id)
       JOIN payloads p ON p.tenant_id = $1 AND p.root_us = i.root_us AND p.trace_id = i.trace_id AND p.id = i.id
       ORDER BY p.digest <> '', p.seq`,
      [
        tenantId,
        runs.map((run) => run.root_us),
        runs.map((run) => run.trace_id),
        runs.map(({ id }) => id),
      ],
    );
    const bodies = new Map<string, Buffer[]>();
    for (const { id, body } of rows) {
      const list = bodies.get(id) ?? [];
      bodies.set(id, list);
      list.push(Buffer.from(body));
    }
    return bodies;
  }

  /** Returns the usage of the traces of all roots among the rows. */
  async #readUsage(tenantId: string, runs: readonly ScannedRow[]): Promise<UsageByTrace> {
    const traceIds = runs.filter(isRoot).map((run) => run.trace_id);
    if (traceIds.length === 0) {
      return new Map();
    }
    const { rows } = await this.#db.query<{
      readonly trace_id: string;
      readonly tokens: number | null;
      readonly cost: number | null;
    }>(
      `SELECT trace_id, sum(total_tokens ORDER BY id) AS tokens, sum(total_cost ORDER BY id) AS cost FROM runs r
       WHERE tenant_id = $1 AND trace_id = ANY($2::text[]) AND ${createModelCallSql("r.run_type")} GROUP BY trace_id`,
      [tenantId, traceIds],
    );
    return new Map(
      rows.map(({ trace_id: id, tokens, cost }) => [id, { tokens: tokens ?? 0, cost: cost ?? 0 }]),
    );
  }
}

type BodiesById = ReadonlyMap<string, readonly Buffer[]>;
type UsageByTrace = ReadonlyMap<string, { readonly tokens: number; readonly cost: number }>;

const noBodies: BodiesById = new Map();

/** The number of runs, from the first one on, whose payloads one step can read. */
function countReadable(rows: readonly ScannedRow[]): number {
  let bytes = 0;
  const end = rows.findIndex((row) => {
    bytes += row.bytes ?? 0;
    return bytes > bytesPerStep;
  });
  return end === -1 ? rows.length : Math.max(1, end);
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
  readonly bytes: number | null;
}

/** Whether a run is the root of the trace that is named after it. */
const isRoot = (row: ScannedRow): boolean => row.parent_run_id === null && row.id === row.trace_id;

const countedMembers: ReadonlySet<string> = new Set(["tags", "extra"]);

const toScannedRun = (
  row: ScannedRow,
  bodies: readonly Buffer[],
  usage: UsageByTrace,
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
    isRoot(row) ? usage.get(row.trace_id) : undefined,
  );
