import type { RunPart, RunRow, StoredRun } from "../run-row.ts";
import { costColumns, parseRow, parsedColumns, toStoredCost } from "./run-columns.ts";
import { selectToken, tokenOwnerSql, toShareToken } from "../../storage/sqlite/token-keys.ts";

/** A run's row, with the columns of joined tables. */
export interface FoundRun extends Pick<
  StoredRun,
  "row" | "tenantId" | "projectName" | "shareToken" | "cost"
> {
  /** The number of the run's row, by which its other parts are found. */
  readonly rowId: number;
}

/** The columns to read for each run, and how to create a run from their values. */
export interface RunShape {
  /** Columns of `runs r` and of the joined tables. */
  readonly columns: readonly string[];
  /** The joins, which follow `runs r` in `FROM`. */
  readonly joins: string;
  readonly toRun: (allValues: readonly unknown[]) => FoundRun;
}

/** The fields of a row in the order of {@link parsedColumns}. Each has the value that it gets if it is not read. */
const rowParts: readonly (readonly [keyof RunRow, string | number | null])[] = [
  ["traceId", ""],
  ["id", ""],
  ["projectId", ""],
  ["name", ""],
  ["runType", ""],
  ["startMicros", 0],
  ["endMicros", null],
  ["hasError", 0],
  ["parentRunId", null],
  ["dottedOrder", ""],
  ["referenceExampleId", null],
  ["posted", 0],
  ["patchBits", 0],
  ["measureState", 0],
];

const joinedParts = ["tenantId", "projectName", "shareToken"] as const;

const projectJoin = "LEFT JOIN projects p ON p.id = r.project_id";
const shareJoin = "LEFT JOIN shares s ON s.trace_id = r.trace_id AND s.id = r.id";

interface Column {
  readonly part: RunPart;
  /** The SQL expression to select. */
  readonly sql: string;
  readonly join?: string;
}

const allColumns: readonly Column[] = [
  ...rowParts.map(([part], index): Column => ({ part, sql: `r.${parsedColumns[index] ?? ""}` })),
  { part: joinedParts[0], sql: "p.tenant_id", join: projectJoin },
  { part: joinedParts[1], sql: "p.name_json", join: projectJoin },
  {
    part: joinedParts[2],
    sql: selectToken("s.sealed", tokenOwnerSql.run("r.id")),
    join: shareJoin,
  },
  ...costColumns.map((name): Column => ({ part: "cost", sql: `r.${name}` })),
];

const emptyValues: readonly unknown[] = [
  ...rowParts.map(([, empty]) => empty),
  ...joinedParts.map(() => null),
  ...costColumns.map(() => null),
];

/** The parts of a run that are always read, because the position of the last run of a page consists of them. */
const alwaysReadParts: ReadonlySet<RunPart> = new Set<RunPart>(["id", "startMicros"]);

/** Returns the shape for reading these parts of runs; for all parts if `parts` is absent. */
export function createShape(parts?: ReadonlySet<RunPart>): RunShape {
  const columns = allColumns.filter(
    ({ part }) => parts === undefined || parts.has(part) || alwaysReadParts.has(part),
  );
  const columnIndexes = columns.map((column) => allColumns.indexOf(column));
  const joins = new Set(columns.map(({ join }) => join ?? ""));
  return {
    columns: ["r.rowid", ...columns.map(({ sql }) => sql)],
    joins: [...joins].join(" "),
    toRun: (values) => {
      const allValues = [...emptyValues];
      columnIndexes.forEach((columnIndex, index) => {
        allValues[columnIndex] = values[index + 1];
      });
      const [tenantId, nameJson, token, ...costValues] = allValues.slice(rowParts.length);
      return {
        rowId: Number(values[0]),
        row: parseRow(allValues),
        tenantId: typeof tenantId === "string" ? tenantId : "",
        projectName: typeof nameJson === "string" ? String(JSON.parse(nameJson)) : "",
        shareToken: toShareToken(token),
        cost: toStoredCost(costValues),
      };
    },
  };
}
