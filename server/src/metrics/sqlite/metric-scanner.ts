import { readMeasures } from "../../runs/usage/run-measures.ts";
import { createModelCallSql, isModelCall } from "../../runs/usage/run-cost.ts";
import { mergePayloads } from "../../runs/payload.ts";
import { PayloadReader } from "../../runs/sqlite/payload-reader.ts";
import type { Conditions } from "../../runs/sqlite/run-conditions.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/row-keys.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { MetricCounts } from "../metric-body.ts";
import type { CountedRun } from "../metric-cell.ts";
import { dimensions } from "../metrics.ts";
import type { Dimension, MicrosRange } from "../metrics.ts";

/** Runs that one step reads. */
const runsPerStep = 500;

/** Bytes of payloads that one step reads, exceeded by one run at most. */
const bytesPerStep = 4_194_304;

/** Metadata keys that name the model and the user of a run. */
const modelKey = "ls_model_name";
const userKey = "user_id";

/** Tags of one run that are counted. */
const maxTags = 100;

/** A run with the values that it has in each dimension. A run can have several tags, and is counted for each. */
export interface ScannedRun extends CountedRun {
  readonly startMicros: number;
  /** See `classesByScope`. */
  readonly runClass: number;
  readonly values: { readonly [Name in Dimension]: readonly string[] };
}

/** Counts for each dimension, by its index. */
export type CountsByDimension = readonly MetricCounts[];

/** Adds a run to the counts of each dimension. Only calls of models are counted by model. */
export function countRun(counts: CountsByDimension, run: ScannedRun): void {
  const { runClass } = run;
  for (const [index, name] of dimensions.entries()) {
    const values = run.values[name];
    if (values.length > 0) {
      for (const value of values) {
        counts[index]?.findOrCreate({ runClass, kind: "value", value }).add(run);
      }
    } else {
      counts[index]?.findOrCreate({ runClass, kind: "none", value: "" }).add(run);
    }
  }
}

export interface ScanQuery extends MicrosRange {
  readonly projectId: string;
  /** Only runs that meet these conditions. */
  readonly conditions?: Conditions;
}

/** Reads runs with the values by which metrics are counted. */
export class MetricScanner {
  readonly #db: Connection;
  readonly #payloads: PayloadReader;
  readonly #sumUsage;

  constructor(db: Connection) {
    this.#db = db;
    this.#sumUsage = db
      .prepare(
        `SELECT r.trace_id, total(r.total_tokens), total(r.total_cost)
         FROM json_each(?2) t CROSS JOIN runs r ON r.trace_id = t.value
         WHERE ${createModelCallSql("r.run_type")} AND +r.project_id IN
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
    let before: readonly [micros: number, id: string] | undefined;
    for (;;) {
      const rows = this.#listRows(query, before);
      const payloads = this.#payloads.readMany(
        rows.map(([rowId, id]) => ({ rowId, id })),
        bytesPerStep,
      );
      const last = rows[payloads.length - 1];
      if (last === undefined) {
        return;
      }
      const usage = this.#readUsage(query.projectId, rows);
      yield payloads.map((bodies, index) => toScannedRun(rows[index] ?? last, bodies, usage));
      if (payloads.length === rows.length && rows.length < runsPerStep) {
        return;
      }
      before = [last[2], last[1]];
    }
  }

  /** Returns the usage of the traces of all roots among the rows. */
  #readUsage(projectId: string, rows: readonly RunValues[]): UsageByTrace {
    const traceIds = rows.flatMap((row) => (isRoot(row) ? [row[12]] : []));
    return traceIds.length === 0
      ? new Map()
      : new Map(
          parseRows(this.#sumUsage.all([projectId, JSON.stringify(traceIds)])).map(
            ([traceId, tokens, cost]) => [
              String(traceId),
              { tokens: Number(tokens), cost: Number(cost) },
            ],
          ),
        );
  }

  #listRows(
    { projectId, fromMicros, toMicros, conditions }: ScanQuery,
    before: readonly [micros: number, id: string] | undefined,
  ): readonly RunValues[] {
    const position =
      before === undefined ? "" : "AND r.start_us <= ? AND (r.start_us, r.id) < (?, ?)";
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
          ...(before === undefined ? [] : [before[0], ...before]),
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

type UsageByTrace = ReadonlyMap<string, { readonly tokens: number; readonly cost: number }>;

/** Whether a run is the root of the trace that is named after it. */
const isRoot = (row: RunValues): boolean => row[7] === null && idOf(row[1]) === row[12];

function toScannedRun(
  row: RunValues,
  bodies: readonly Uint8Array[],
  usageByTrace: UsageByTrace,
): ScannedRun {
  const [, , startMicros, name, runType, endMicros, errors, parentRunId, measured] = row;
  const isModel = isModelCall(runType);
  const members = mergePayloads(bodies, measured === 0 ? oldMembers : newMembers);
  const metadata = readMetadata(members.get("extra"));
  const measures = measured === 0 ? readMeasures(members) : undefined;
  const usage = isRoot(row) ? usageByTrace.get(row[12]) : undefined;
  const firstToken = measures?.first_token_us ?? row[11];
  return {
    startMicros,
    runClass: (parentRunId === null ? 1 : 0) + (isModel ? 2 : 0),
    hasError: errors === 1,
    latencyMicros: endMicros === null ? null : endMicros - startMicros,
    firstTokenMicros: firstToken === null ? null : firstToken - startMicros,
    tokens: isModel ? (measures?.total_tokens ?? row[9] ?? 0) : 0,
    cost: isModel ? (measures?.total_cost ?? row[10] ?? 0) : 0,
    traceTokens: usage?.tokens ?? 0,
    traceCost: usage?.cost ?? 0,
    values: {
      status: [toStatus(errors === 1, endMicros)],
      name: [name],
      model: isModel ? toTexts(metadata[modelKey]) : [],
      tag: readTags(members.get("tags")),
      user: toTexts(metadata[userKey]),
    },
  };
}

const newMembers: ReadonlySet<string> = new Set(["tags", "extra"]);
/** The members that contain the measures of runs that are older than the columns for measures. */
const oldMembers: ReadonlySet<string> = new Set([...newMembers, "outputs", "events"]);

function toStatus(hasError: boolean, endMicros: number | null): "error" | "pending" | "success" {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

const modelMarker = Buffer.from(`"${modelKey}"`);
const userMarker = Buffer.from(`"${userKey}"`);

/** Most runs have neither key; searching for the bytes avoids parsing their `extra`. */
function readMetadata(extra: Buffer | undefined): Readonly<Record<string, unknown>> {
  if (extra === undefined || !(extra.includes(modelMarker) || extra.includes(userMarker))) {
    return {};
  }
  return toFields(toFields(parseJson(extra))["metadata"]);
}

function readTags(json: Buffer | undefined): readonly string[] {
  if (json === undefined || json.length <= 2) {
    return [];
  }
  const tags = parseJson(json);
  return Array.isArray(tags)
    ? [...new Set(tags.filter((tag): tag is string => typeof tag === "string"))].slice(0, maxTags)
    : [];
}

const toTexts = (value: unknown): readonly string[] =>
  (typeof value === "string" && value !== "") || typeof value === "number" ? [String(value)] : [];

function parseJson(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString("utf8"));
  } catch {
    return undefined; // The JSON is nested too deeply. Such a run has no values in these dimensions.
  }
}

const toFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
