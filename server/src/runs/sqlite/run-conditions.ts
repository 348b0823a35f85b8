import { compileFilter } from "../../filter/compiler.ts";
import type { FilterSource } from "../../filter/compiler.ts";
import { runSource } from "../run-filter-source.ts";
import type { Sql } from "../../filter/sql.ts";
import { toNeedles } from "../needles.ts";
import type { RunFilter, RunPosition } from "../run-query.ts";

import { withinDeadline, withinDeadlineEachTime } from "../../storage/sqlite/query-clock.ts";
import { longKeyIn } from "../../storage/sqlite/tenant-keys.ts";
import { eitherMayHold, mayHold } from "./text-index/text-index.ts";

type Value = string | number | null;

/** Conditions on `runs r`, all of which must hold, and their parameters in order. */
export interface Conditions {
  readonly sql: string;
  readonly values: readonly Value[];
}

type After = RunPosition & { readonly order: "asc" | "desc" };

interface Ways {
  /** Only runs behind this one. */
  readonly after?: After | undefined;
  /** Whether the connection can ask the text index: what it leaves out is not read. */
  readonly hasTextIndex?: boolean;
}

/** The `WHERE` of a filter, within a tenant. Values are bound, never written into the text. */
export function toConditions(tenantId: string, filter: RunFilter, ways: Ways = {}): Conditions {
  const { sql, values } = toConditionsWithin(tenantId, filter, ways);
  // The projects of a tenant are few, and none of another's is among them.
  return { sql: `r.${isTenants} AND ${sql}`, values: [tenantId, ...values] };
}

/** As {@link toConditions}, for runs of which it is known that they are the tenant's. */
export function toConditionsWithin(
  tenantId: string,
  filter: RunFilter,
  { after, hasTextIndex = false }: Ways = {},
): Conditions {
  const sourceOf = (run: string): FilterSource =>
    runSource(run, hasTextIndex ? (texts) => mayHold(run, texts) : undefined);
  const parts: { readonly sql: string; readonly values: readonly Value[] }[] = [];
  const add = (sql: string, ...values: Value[]): unknown => parts.push({ sql, values });
  const addList = (column: string, list: readonly string[] | undefined): unknown =>
    list !== undefined && parts.push(isAmong(column, list));

  const readsMuch = [filter.text, filter.runFilters, filter.rootFilter, filter.treeFilter];
  add(
    readsMuch.some((part) => part !== undefined)
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
    const few = hasTextIndex ? eitherMayHold("r", filter.text) : undefined;
    parts.push({
      sql: few === undefined ? textCondition : `(${few.sql}) AND ${textCondition}`,
      values: [...(few?.values ?? []), plain, escaped],
    });
  }
  for (const own of filter.runFilters ?? []) {
    parts.push(compileFilter(own, sourceOf("r")));
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

/** As many values as SQLite plans well for; it binds 32,766 in a statement, of which filters need some. */
const listedMax = 100;

/** Whether a column has one of so many values. */
const isAmong = (column: string, list: readonly string[]): Conditions =>
  list.length <= listedMax
    ? { sql: `${column} IN (${list.map(() => "?").join(", ")})`, values: list }
    : {
        sql: `${column} IN (SELECT value FROM json_each(?))`,
        values: [JSON.stringify(list)],
      };

const isTenants = "project_id IN (SELECT id FROM projects WHERE tenant_id = ?)";

/** Whether a run of the same trace meets a filter; never one of another tenant's. */
function relativeMeets(tenantId: string, which: Sql, { sql, values }: Sql): Conditions {
  return {
    sql: `EXISTS (SELECT 1 FROM runs q WHERE q.trace_id = r.trace_id AND ${which.sql} AND q.${isTenants} AND ${withinDeadlineEachTime("q.rowid")} AND ${sql})`,
    values: [...which.values, tenantId, ...values],
  };
}

/** A trace is named by the id of its root, which may have a longer key. */
const isRootOf = (tenantId: string): Sql => ({
  sql: `q.id IN (r.trace_id, ${longKeyIn("r.trace_id", "?")})`,
  values: [tenantId],
});

const anyRun: Sql = { sql: "1", values: [] };

const textCondition = `(instr(lower(r.name), ?) > 0 OR EXISTS (
  SELECT 1 FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id AND instr(lower(p.body), ?) > 0))`;
