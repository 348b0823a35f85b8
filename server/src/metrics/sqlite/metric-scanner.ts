import { readMeasures } from "../../runs/usage/run-measures.ts";
import { createModelCallSql } from "../../runs/usage/run-cost.ts";
import { mergePayloads } from "../../runs/merge-payloads.ts";
import { PayloadReader } from "../../runs/sqlite/payload-reader.ts";
import type { Conditions } from "../../runs/sqlite/run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/row-keys.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { MicrosRange } from "../metrics.ts";
import { createScannedRun } from "../scanned-run.ts";
import type { ScannedRun, SumsByTrace } from "../scanned-run.ts";

/** Runs that one step reads. */
const runsPerStep = 500;

/** Bytes of payloads that one step reads, exceeded by one run at most. */
const bytesPerStep = 4_194_304;

/** Selects the runs to scan. */
export interface ScanQuery extends MicrosRange {
  readonly projectId: string;
  /** Only runs that meet these conditions. */
  readonly conditions?: Conditions;
}

/** Reads runs, with the values that metrics count and group by. */
export class MetricScanner {
  readonly #db: Connection;
  readonly #payloads: PayloadReader;
  readonly #sumTraces;

  constructor(db: Connection) {
    this.#db = db;
    const modelCalls = `FILTER (WHERE ${createModelCallSql("r.run_type")})`;
    this.#sumTraces = db
      .prepare(
        `SELECT r.trace_id, total(r.total_tokens) ${modelCalls}, total(r.total_cost) ${modelCalls}, min(r.first_token_us)
         FROM json_each(?2) t CROSS JOIN runs r ON r.trace_id = t.value
         WHERE (${createModelCallSql("r.run_type")} OR r.first_token_us IS NOT NULL) AND +r.project_id IN
           (SELECT id FROM projects WHERE tenant_id = (SELECT tenant_id FROM projects WHERE id = ?1)) GROUP BY 1`,
      )
      .raw();
    this.#payloads = new PayloadReader(db);
  }

  /**
   * Reads the runs of a range, the latest first, in steps. Each step yields some runs; all runs that start later were
   * yielded before.
   */
  *scan(query: ScanQuery): Generator<readonly ScannedRun[]> {
    let lastPosition: readonly [micros: number, id: string] | undefined;
    for (;;) {
      const rows = this.#listRows(query, lastPosition);
      const payloads = this.#payloads.readMany(
        rows.map(([rowId, id]) => ({ rowId, id })),
        bytesPerStep,
      );
      const lastRow = rows[payloads.length - 1];
      if (lastRow === undefined) {
        return;
      }
      const traces = this.#readTraces(query.projectId, rows);
      yield payloads.map((bodies, index) => toScannedRun(rows[index] ?? lastRow, bodies, traces));
      if (payloads.length === rows.length && rows.length < runsPerStep) {
        return;
      }
      lastPosition = [lastRow[2], lastRow[1]];
    }
  }

  /** Returns the sums of the traces of all roots among the rows. */
  #readTraces(projectId: string, rows: readonly RunValues[]): SumsByTrace {
    const traceIds = rows.flatMap((row) => (isRoot(row) ? [row[12]] : []));
    return traceIds.length === 0
      ? new Map()
      : new Map(
          parseRows(this.#sumTraces.all([projectId, JSON.stringify(traceIds)])).map(
            ([traceId, tokens, cost, firstToken]) => [
              String(traceId),
              {
                tokens: Number(tokens),
                cost: Number(cost),
                firstTokenMicros: typeof firstToken === "number" ? firstToken : null,
              },
            ],
          ),
        );
  }

  #listRows(
    { projectId, fromMicros, toMicros, conditions }: ScanQuery,
    lastPosition: readonly [micros: number, id: string] | undefined,
  ): readonly RunValues[] {
    const position =
      lastPosition === undefined ? "" : "AND r.start_us <= ? AND (r.start_us, r.id) < (?, ?)";
    const [[json] = []] = parseRows(
      this.#db
        .prepareRaw(
          `SELECT json_group_array(json_array(${columns.join(", ")})) FROM (
             SELECT ${columns.map((name) => (name === "rowid" ? "r.rowid AS rowid" : `r.${name}`)).join(", ")}
             FROM runs r INDEXED BY runs_by_start
             WHERE r.project_id = ? AND r.start_us >= ? AND r.start_us < ? ${position} AND ${conditions?.sql ?? "1"}
             ORDER BY r.start_us DESC, r.id DESC LIMIT ${runsPerStep})`,
        )
        .all([
          projectId,
          fromMicros,
          toMicros,
          ...(lastPosition === undefined ? [] : [lastPosition[0], ...lastPosition]),
          ...(conditions?.values ?? []),
        ]),
    );
    return JSON.parse(String(json)) as readonly RunValues[];
  }
}

const columns = [
  "rowid",
  "id",
  "start_us",
  "name",
  "run_type",
  "end_us",
  "has_error",
  "parent_run_id",
  "measured",
  "total_tokens",
  "total_cost",
  "first_token_us",
  "trace_id",
] as const;

type RunValues = readonly [
  rowId: number,
  id: string,
  startMicros: number,
  name: string,
  runType: string,
  endMicros: number | null,
  hasError: number,
  parentRunId: string | null,
  measured: number,
  tokens: number | null,
  cost: number | null,
  firstTokenMicros: number | null,
  traceId: string,
];

/** Whether a run is the root of its trace and has the same id as the trace. */
const isRoot = (row: RunValues): boolean => row[7] === null && idOf(row[1]) === row[12];

function toScannedRun(
  row: RunValues,
  bodies: readonly Uint8Array[],
  traces: SumsByTrace,
): ScannedRun {
  const [, , startMicros, name, runType, endMicros, errors, parentRunId, measured] = row;
  const members = mergePayloads(bodies, measured === 0 ? oldMembers : newMembers);
  const measures = measured === 0 ? readMeasures(members) : undefined;
  return createScannedRun(
    {
      startMicros,
      name,
      runType,
      endMicros,
      hasError: errors === 1,
      parentRunId,
      totalTokens: measures?.total_tokens ?? row[9],
      totalCost: measures?.total_cost ?? row[10],
      firstTokenMicros: measures?.first_token_us ?? row[11],
    },
    members,
    isRoot(row) ? traces.get(row[12]) : undefined,
  );
}

const newMembers: ReadonlySet<string> = new Set(["tags", "extra"]);
/** The members that contain the measures of runs that are older than the columns for measures. */
const oldMembers: ReadonlySet<string> = new Set([...newMembers, "outputs", "events"]);
