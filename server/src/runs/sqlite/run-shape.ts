import type { RunPart, RunRow, StoredRun } from "../run-row.ts";
import { parseRow, readColumns } from "./row.ts";
import { openedToken, tokenOwners, toShareToken } from "../../storage/sqlite/token-keys.ts";

/** A run's row and what is joined to it. */
export interface FoundRun extends Pick<
  StoredRun,
  "row" | "tenantId" | "projectName" | "shareToken"
> {
  /** The row's number, by which the rest is found. */
  readonly rowId: number;
}

/** Which columns are read of runs, and how a run is made of them. */
export interface RunShape {
  /** The columns of `runs r` and of what is joined to it. */
  readonly columns: string;
  /** What follows `runs r` in `FROM`. */
  readonly joins: string;
  readonly toRun: (values: readonly unknown[]) => FoundRun;
}

/** The fields of a row in the order of {@link readColumns}, each with the value of an empty one. */
const ownParts: readonly (readonly [keyof RunRow, string | number | null])[] = [
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
  ["patched", 0],
  ["measures", 0],
];

const joinedParts = ["tenantId", "projectName", "shareToken"] as const;

const projects = "LEFT JOIN projects p ON p.id = r.project_id";
const shares = "LEFT JOIN shares s ON s.trace_id = r.trace_id AND s.id = r.id";

interface Column {
  readonly part: RunPart;
  /** What is selected. */
  readonly sql: string;
  readonly join?: string;
}

const allColumns: readonly Column[] = [
  ...ownParts.map(([part], at): Column => ({ part, sql: `r.${readColumns[at] ?? ""}` })),
  { part: joinedParts[0], sql: "p.tenant_id", join: projects },
  { part: joinedParts[1], sql: "p.name_json", join: projects },
  { part: joinedParts[2], sql: openedToken("s.sealed", tokenOwners.run("r.id")), join: shares },
];

const emptyValues: readonly unknown[] = [
  ...ownParts.map(([, empty]) => empty),
  ...joinedParts.map(() => null),
];

/** Without these a page has no end. */
const everRead: ReadonlySet<RunPart> = new Set<RunPart>(["id", "startMicros"]);

/** The shape of runs of which these parts are read; of all of them where they are left out. */
export function shapeOf(parts?: ReadonlySet<RunPart>): RunShape {
  const columns = allColumns.filter(
    ({ part }) => parts === undefined || parts.has(part) || everRead.has(part),
  );
  const places = columns.map((column) => allColumns.indexOf(column));
  const joins = new Set(columns.map(({ join }) => join ?? ""));
  return {
    columns: ["r.rowid", ...columns.map(({ sql }) => sql)].join(", "),
    joins: [...joins].join(" "),
    toRun: (found) => {
      const values = [...emptyValues];
      places.forEach((place, index) => {
        values[place] = found[index + 1];
      });
      const [tenantId, nameJson, token] = values.slice(ownParts.length);
      return {
        rowId: Number(found[0]),
        row: parseRow(values),
        tenantId: typeof tenantId === "string" ? tenantId : "",
        projectName: typeof nameJson === "string" ? String(JSON.parse(nameJson)) : "",
        shareToken: toShareToken(token),
      };
    },
  };
}
