import type { RunRow } from "../run-row.ts";

/** The columns of `runs`, in the order of {@link rowToValues}. */
export const runColumns = [
  "trace_id",
  "id",
  "project_id",
  "name",
  "run_type",
  "start_us",
  "end_us",
  "has_error",
  "parent_run_id",
  "dotted_order",
  "reference_example_id",
  "posted",
  "patched",
] as const;

/** What holds rows of a run, by `trace_id` and `id`. */
export const runTables = ["runs", "payloads", "attachments", "shares"] as const;

/** What SQLite takes for a run. */
export const rowToValues = (row: RunRow): (string | number | null)[] => [
  row.traceId,
  row.id,
  row.projectId,
  row.name,
  row.runType,
  row.startMicros,
  row.endMicros,
  row.hasError ? 1 : 0,
  row.parentRunId,
  row.dottedOrder,
  row.referenceExampleId,
  row.posted ? 1 : 0,
  row.patched,
];

/** A row of SQLite, in the order of {@link runColumns}. */
export function parseRow(values: readonly unknown[]): RunRow {
  return {
    traceId: String(values[0]),
    id: String(values[1]),
    projectId: String(values[2]),
    name: String(values[3]),
    runType: String(values[4]),
    startMicros: Number(values[5]),
    endMicros: values[6] === null ? null : Number(values[6]),
    hasError: values[7] === 1,
    parentRunId: textOrNull(values[8]),
    dottedOrder: String(values[9]),
    referenceExampleId: textOrNull(values[10]),
    posted: values[11] === 1,
    patched: Number(values[12]),
  };
}

/** Rows of a statement in raw mode. */
export const parseRows = (rows: readonly unknown[]): (readonly unknown[])[] =>
  rows.map((row) => (isList(row) ? row : []));

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
