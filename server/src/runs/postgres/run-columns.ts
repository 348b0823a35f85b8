import { decodeText, encodeText } from "../../storage/postgres/text-encoding.ts";
import type { RunRow } from "../run-row.ts";
import { measureNames } from "../usage/measures.ts";
import type { MeasureName, RunMeasures } from "../usage/measures.ts";
import type { CostBasis, StoredCost } from "../usage/run-cost.ts";

/** A row of `runs` without its facets. */
export interface RunColumnValues extends Readonly<Record<MeasureName, number | null>> {
  readonly root_us: number;
  readonly trace_id: string;
  readonly id: string;
  readonly project_id: string;
  readonly name: string;
  readonly run_type: string;
  readonly start_us: number;
  readonly end_us: number | null;
  readonly has_error: number;
  readonly parent_run_id: string | null;
  readonly dotted_order: string;
  readonly reference_example_id: string | null;
  readonly posted: number;
  readonly patched: number;
  readonly measured: number;
  readonly cost_json: string | null;
}

/** The columns with which a run is stored, and their types. */
export const runColumnTypes = {
  root_us: "bigint",
  trace_id: "text",
  id: "text",
  project_id: "text",
  name: "text",
  run_type: "text",
  start_us: "bigint",
  end_us: "bigint",
  has_error: "smallint",
  parent_run_id: "text",
  dotted_order: "text",
  reference_example_id: "text",
  posted: "smallint",
  patched: "bigint",
  measured: "smallint",
  total_tokens: "double precision",
  prompt_tokens: "double precision",
  completion_tokens: "double precision",
  total_cost: "double precision",
  prompt_cost: "double precision",
  completion_cost: "double precision",
  first_token_us: "double precision",
  cost_json: "text",
} as const satisfies Readonly<Record<keyof RunColumnValues, string>>;

export type RunColumnName = keyof RunColumnValues;

export const runColumnNames = Object.keys(runColumnTypes) as readonly RunColumnName[];

/** The column `measured`: whether the run has measures. The numbers are those of SQLite, which has a third state. */
const measuredStates = { none: 1, some: 2 } as const;

/** The usage and the cost of a run, as they are stored. */
export interface StoredUsage {
  readonly measures: RunMeasures;
  readonly basisJson: string | null;
}

/** A run with everything that its row contains. */
interface StorableRun {
  readonly row: RunRow;
  readonly rootMicros: number;
  readonly usage: StoredUsage | undefined;
}

/** Reads the value of each column. */
const columnReaders: {
  readonly [Name in RunColumnName]: (run: StorableRun) => RunColumnValues[Name];
} = {
  root_us: ({ rootMicros }) => rootMicros,
  trace_id: ({ row }) => row.traceId,
  id: ({ row }) => row.id,
  project_id: ({ row }) => row.projectId,
  name: ({ row }) => encodeText(row.name),
  run_type: ({ row }) => encodeText(row.runType),
  start_us: ({ row }) => row.startMicros,
  end_us: ({ row }) => row.endMicros,
  has_error: ({ row }) => (row.hasError ? 1 : 0),
  parent_run_id: ({ row }) => row.parentRunId,
  dotted_order: ({ row }) => row.dottedOrder,
  reference_example_id: ({ row }) => row.referenceExampleId,
  posted: ({ row }) => (row.posted ? 1 : 0),
  patched: ({ row }) => row.patchBits,
  measured: ({ usage }) => (usage === undefined ? measuredStates.none : measuredStates.some),
  ...(Object.fromEntries(
    measureNames.map((name) => [name, ({ usage }: StorableRun) => usage?.measures[name] ?? null]),
  ) as Readonly<Record<MeasureName, (run: StorableRun) => number | null>>),
  cost_json: ({ usage }) => usage?.basisJson ?? null,
};

/** Lists the values of the runs for each column of `runColumnNames`. */
export const listColumnValues = (
  runs: readonly StorableRun[],
): readonly (readonly (string | number | null)[])[] =>
  runColumnNames.map((name) => {
    const read: (run: StorableRun) => string | number | null = columnReaders[name];
    return runs.map((run) => read(run));
  });

/** Parses a row. Columns that were not read have the value of an empty column. */
export const parseRow = (row: Partial<RunColumnValues>): RunRow => ({
  traceId: row.trace_id ?? "",
  id: row.id ?? "",
  projectId: row.project_id ?? "",
  name: decodeText(row.name ?? ""),
  runType: decodeText(row.run_type ?? ""),
  startMicros: row.start_us ?? 0,
  endMicros: row.end_us ?? null,
  hasError: row.has_error === 1,
  parentRunId: row.parent_run_id ?? null,
  dottedOrder: row.dotted_order ?? "",
  referenceExampleId: row.reference_example_id ?? null,
  posted: row.posted === 1,
  patchBits: row.patched ?? 0,
  measureState: row.measured === measuredStates.some ? "some" : "none",
});

/** Parses the usage of a row; `undefined` if it has none. */
export const parseUsage = (row: RunColumnValues): StoredUsage | undefined =>
  row.measured === measuredStates.some
    ? {
        measures: Object.fromEntries(measureNames.map((name) => [name, row[name]])) as RunMeasures,
        basisJson: row.cost_json,
      }
    : undefined;

export const parseCost = (row: Partial<RunColumnValues>): StoredCost => ({
  total_cost: row.total_cost ?? null,
  prompt_cost: row.prompt_cost ?? null,
  completion_cost: row.completion_cost ?? null,
  basis: typeof row.cost_json === "string" ? (JSON.parse(row.cost_json) as CostBasis) : null,
});
