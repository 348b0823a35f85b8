import { throwDamaged } from "../../storage/sqlite/checksum.ts";
import { measureNames } from "../usage/measures.ts";
import type { CostBasis, PricedUsage, StoredCost } from "../usage/run-cost.ts";
import type { RunMeasures } from "../usage/measures.ts";
import type { RunRow } from "../run-row.ts";
import {
  toWholeTextSql,
  textOf,
  textOrNull,
  createPlaceholders,
} from "../../storage/sqlite/rows.ts";

/** The columns of `runs` that every insert and update writes, in the order of {@link rowToValues}. */
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

/** The columns that a row is parsed from, in the order of {@link parseRow}. */
export const parsedColumns = [...runColumns, "measured"] as const;

/**
 * Like {@link parsedColumns}, but reads texts in full, even if they contain a NUL. Required if the row is written
 * back.
 */
export const wholeColumns = parsedColumns.map((name) =>
  name === "name" || name === "run_type" ? toWholeTextSql(name) : name,
);

/** The columns of the measures, in the order of {@link measuresToValues}. */
export const measureColumns = ["measured", ...measureNames, "cost_json"] as const;

/** The end of an `INSERT` for a run without measures; its parameters are the values of {@link runColumns}. */
export const insertRunClause = `INTO runs (${parsedColumns.join(", ")}) VALUES (${createPlaceholders(runColumns)}, 1)`;

/**
 * The end of an `INSERT` for a run with measures. Its parameters are the values of {@link runColumns}, followed by
 * those of {@link measureColumns}.
 */
export const insertMeasuredRunClause = `INTO runs (${[...runColumns, ...measureColumns].join(", ")})
  VALUES (${createPlaceholders([...runColumns, ...measureColumns])})`;

/** The tables in which each row belongs to a run. The columns `trace_id` and `id` identify the run. */
export const tablesWithRunRows = [
  "runs",
  "payloads",
  "attachments",
  "shares",
  "trace_shares",
] as const;

/** The states that the column `measured` can store. It contains the index of a state in this list. */
const measureStates = ["unread", "none", "some"] as const;

/** Converts a run to the values of {@link runColumns}. */
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
  row.patchBits,
];

export const measuresToValues = (
  usage: Omit<PricedUsage, "unknownModel"> | undefined,
): readonly (string | number | null)[] =>
  usage === undefined
    ? noMeasures
    : [
        measureStates.indexOf("some"),
        ...measureNames.map((name) => usage.measures[name]),
        usage.basisJson,
      ];

/** The value of the column `measured` for a run without measures. */
export const unmeasured = measureStates.indexOf("none");
const noMeasures = [unmeasured, ...measureNames.map(() => null), null];

/** Converts values that {@link measuresToValues} created to measures. The values begin at the index `from`. */
export const valuesToMeasures = (
  values: readonly unknown[],
  from: number,
): RunMeasures | undefined =>
  values[from] === measureStates.indexOf("some")
    ? (Object.fromEntries(
        measureNames.map((name, index) => [name, values[from + 1 + index]]),
      ) as RunMeasures)
    : undefined;

/** The columns from which {@link toStoredCost} reads the cost of a run. */
export const costColumns = [
  "measured",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "cost_json",
] as const;

/**
 * Converts the values of {@link costColumns}. `undefined` for a run that was stored before measures had columns: its
 * costs are those that its payload reports.
 */
export function toStoredCost(values: readonly unknown[]): StoredCost | undefined {
  const [measured, total, prompt, completion, basisJson] = values;
  return Number(measured) === measureStates.indexOf("unread")
    ? undefined
    : {
        total_cost: toNumberOrNull(total),
        prompt_cost: toNumberOrNull(prompt),
        completion_cost: toNumberOrNull(completion),
        basis: typeof basisJson === "string" ? (JSON.parse(basisJson) as CostBasis) : null,
      };
}

const toNumberOrNull = (value: unknown): number | null =>
  typeof value === "number" ? value : null;

/**
 * Parses a database row with the columns of {@link parsedColumns}.
 *
 * @throws RequestError 500: the id is not text, as in a row that is damaged on disk.
 */
export function parseRow(values: readonly unknown[]): RunRow {
  if (typeof values[1] !== "string") {
    throwDamaged("the row of a run");
  }
  return {
    traceId: String(values[0]),
    id: values[1],
    projectId: String(values[2]),
    name: textOf(values[3]),
    runType: textOf(values[4]),
    startMicros: Number(values[5]),
    endMicros: values[6] === null ? null : Number(values[6]),
    hasError: values[7] === 1,
    parentRunId: textOrNull(values[8]),
    dottedOrder: String(values[9]),
    referenceExampleId: textOrNull(values[10]),
    posted: values[11] === 1,
    patchBits: Number(values[12]),
    measureState: measureStates[Number(values[13])] ?? "unread",
  };
}
