import { compileFilter } from "../../filter/compiler.ts";
import type { FilterSource } from "../../filter/compiler.ts";
import { runSource } from "../run-filter-source.ts";
import type { Sql } from "../../filter/sql.ts";
import { toNeedles } from "../needles.ts";
import type { RunFilter, RunPosition } from "../run-query.ts";

import { withinDeadline, withinDeadlineEachTime } from "../../storage/sqlite/query-clock.ts";
import { longKeyIn } from "../../storage/sqlite/tenant-keys.ts";
import { mayContainEither, mayContain } from "./text-index/text-index.ts";
import type { RowRange } from "./text-index/text-index.ts";

type Value = string | number | null;

/** Conditions on `runs r`, all of which must hold, and their parameters in order. */
export interface Conditions {
  readonly sql: string;
  readonly values: readonly Value[];
}

type After = RunPosition & { readonly order: "asc" | "desc" };

interface ConditionOptions {
  /** Only runs after this position. */
  readonly after?: After | undefined;
  /** Whether the connection has the text index. Runs that the index rules out are not read. */
  readonly hasTextIndex?: boolean;
  /** The rows that the query reads, if they are known. */
  readonly range?: RowRange | undefined;
}

/**
 * Returns the `WHERE` clause of a filter within a tenant. Values are bound as parameters, never written into the
 * SQL.
 */
export function toConditions(
  tenantId: string,
  filter: RunFilter,
  ways: ConditionOptions = {},
): Conditions {
  const { sql, values } = toConditionsWithin(tenantId, filter, ways);
  // A run belongs to the tenant of its project; a tenant has few projects.
  return { sql: `r.${isInTenantsProjects} AND ${sql}`, values: [tenantId, ...values] };
}

/** Like {@link toConditions}, for runs that are known to be the tenant's. */
export function toConditionsWithin(
  tenantId: string,
  filter: RunFilter,
  { after, hasTextIndex = false, range }: ConditionOptions = {},
): Conditions {
  const sourceOf = (run: "r" | "q"): FilterSource =>
    runSource(
      run,
      // The range is of the query's own runs, not of others of their traces.
      hasTextIndex ? (texts) => mayContain(run, texts, run === "r" ? range : undefined) : undefined,
    );
  const parts: { readonly sql: string; readonly values: readonly Value[] }[] = [];
  const add = (sql: string, ...values: Value[]): unknown => parts.push({ sql, values });
  const addList = (column: string, list: readonly string[] | undefined): unknown =>
    list !== undefined && parts.push(isOneOf(column, list));

  const payloadFilters = [filter.text, filter.runFilters, filter.rootFilter, filter.treeFilter];
  add(
    payloadFilters.some((part) => part !== undefined)
      ? withinDeadlineEachTime("r.rowid")
      : withinDeadline("r.rowid"),
  );
  addList("r.project_id", filter.projectIds);
  addList("r.id", filter.ids);
  addList("r.reference_example_id", filter.referenceExampleIds);
  if (filter.traceId !== undefined) {
    add("r.trace_id = ?", filter.traceId);
  }
  if (filter.parentRunId !== undefined) {
    add("r.parent_run_id = ?", filter.parentRunId);
  }
  if (filter.runType !== undefined) {
    add("r.run_type = ?", filter.runType);
  }
  if (filter.isRoot !== undefined) {
    add(`r.parent_run_id IS ${filter.isRoot ? "" : "NOT "}NULL`);
  }
  if (filter.hasError !== undefined) {
    add("r.has_error = ?", filter.hasError ? 1 : 0);
  }
  if (filter.startMicros !== undefined) {
    add("r.start_us >= ?", filter.startMicros);
  }
  if (filter.endMicros !== undefined) {
    add("r.start_us <= ?", filter.endMicros);
  }
  if (filter.text !== undefined) {
    const { plain, escaped } = toNeedles(filter.text);
    const candidates = hasTextIndex ? mayContainEither("r", filter.text, range) : undefined;
    parts.push({
      sql: candidates === undefined ? textCondition : `(${candidates.sql}) AND ${textCondition}`,
      values: [...(candidates?.values ?? []), plain, escaped],
    });
  }
  for (const runFilter of filter.runFilters ?? []) {
    parts.push(compileFilter(runFilter, sourceOf("r")));
  }
  if (filter.rootFilter !== undefined) {
    parts.push(
      relativeMeets(tenantId, isRootOf(tenantId), compileFilter(filter.rootFilter, sourceOf("q"))),
    );
  }
  if (filter.treeFilter !== undefined) {
    parts.push(relativeMeets(tenantId, anyRun, compileFilter(filter.treeFilter, sourceOf("q"))));
  }
  if (after !== undefined) {
    const sign = after.order === "asc" ? ">" : "<";
    add(`(r.start_us, r.id) ${sign} (?, ?)`, after.startMicros, after.id);
  }
  return {
    sql: parts.length === 0 ? "1" : parts.map(({ sql }) => sql).join(" AND "),
    values: parts.flatMap(({ values }) => values),
  };
}

/**
 * SQLite plans well for up to this many values. A statement may have 32,766 parameters, and the filters need some
 * of them.
 */
const maxInlineValues = 100;

/** Condition that a column has one of several values. */
const isOneOf = (column: string, list: readonly string[]): Conditions =>
  list.length <= maxInlineValues
    ? { sql: `${column} IN (${list.map(() => "?").join(", ")})`, values: list }
    : {
        sql: `${column} IN (SELECT value FROM json_each(?))`,
        values: [JSON.stringify(list)],
      };

const isInTenantsProjects = "project_id IN (SELECT id FROM projects WHERE tenant_id = ?)";

/** Condition that some run of the same trace matches a filter. Runs of other tenants never match. */
function relativeMeets(tenantId: string, which: Sql, { sql, values }: Sql): Conditions {
  return {
    sql: `EXISTS (SELECT 1 FROM runs q WHERE q.trace_id = r.trace_id AND ${which.sql} AND q.${isInTenantsProjects} AND ${withinDeadlineEachTime("q.rowid")} AND ${sql})`,
    values: [...which.values, tenantId, ...values],
  };
}

/** Condition for the root of a trace: its id is the trace id, and its key is that id or the longer key. */
const isRootOf = (tenantId: string): Sql => ({
  sql: `q.id IN (r.trace_id, ${longKeyIn("r.trace_id", "?")})`,
  values: [tenantId],
});

const anyRun: Sql = { sql: "1", values: [] };

const textCondition = `(instr(lower(r.name), ?) > 0 OR EXISTS (
  SELECT 1 FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id AND instr(lower(p.body), ?) > 0))`;
