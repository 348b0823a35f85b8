import { payloadTextSql } from "../shared-texts/sqlite-shared-texts.ts";
import { compileFilter } from "../../filter/compiler.ts";
import type { FilterSource } from "../../filter/compiler.ts";
import { selectRunSource } from "../run-filter-source.ts";
import type { Sql } from "../../filter/sql.ts";
import { toSearchTexts } from "../search-texts.ts";
import type { RunFilter, RunPosition } from "../run-query.ts";

import { withinDeadlineSql, withinDeadlineEachTimeSql } from "../../storage/sqlite/query-clock.ts";
import { qualifiedKeySql } from "../../storage/sqlite/tenant-keys.ts";
import { createTextCondition, createTextsCondition } from "./text-index/text-index.ts";
import type { RowRange } from "./text-index/text-index.ts";

type Value = string | number | null;

/** Conditions on `runs r`, all of which must hold, and their parameters in order. */
export interface Conditions {
  readonly sql: string;
  readonly values: readonly Value[];
}

type AfterPosition = RunPosition & { readonly order: "asc" | "desc" };

interface ConditionOptions {
  /** Only runs after this position. */
  readonly after?: AfterPosition | undefined;
  /** Whether the connection has the text index. Runs that can't match according to the index are not read. */
  readonly hasTextIndex?: boolean;
  /** The rows that the query reads, if they are known. */
  readonly range?: RowRange | undefined;
}

/**
 * Returns the `WHERE` clause of a filter for the runs of a tenant. Values are bound as parameters, never written into
 * the SQL.
 */
export function toConditions(
  tenantId: string,
  filter: RunFilter,
  options: ConditionOptions = {},
): Conditions {
  const { sql, values } = toConditionsWithinTenant(tenantId, filter, options);
  // A run belongs to the tenant of its project; a tenant has few projects.
  return { sql: `r.${tenantCondition} AND ${sql}`, values: [tenantId, ...values] };
}

/** Like {@link toConditions}, for runs that are known to belong to the tenant. */
export function toConditionsWithinTenant(
  tenantId: string,
  filter: RunFilter,
  { after, hasTextIndex = false, range }: ConditionOptions = {},
): Conditions {
  const selectSource = (runAlias: "r" | "q"): FilterSource =>
    selectRunSource(
      runAlias,
      // The range applies to the query's own runs, not to other runs of their traces.
      hasTextIndex
        ? (texts) => createTextsCondition(runAlias, texts, runAlias === "r" ? range : undefined)
        : undefined,
    );
  const conditions: { readonly sql: string; readonly values: readonly Value[] }[] = [];
  const add = (sql: string, ...values: Value[]): unknown => conditions.push({ sql, values });
  const addList = (column: string, list: readonly string[] | undefined): unknown =>
    list !== undefined && conditions.push(createListCondition(column, list));

  const payloadFilters = [filter.text, filter.runFilters, filter.rootFilter, filter.treeFilter];
  add(
    payloadFilters.some((payloadFilter) => payloadFilter !== undefined)
      ? withinDeadlineEachTimeSql("r.rowid")
      : withinDeadlineSql("r.rowid"),
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
  if (filter.earliestStartMicros !== undefined) {
    add("r.start_us >= ?", filter.earliestStartMicros);
  }
  if (filter.latestStartMicros !== undefined) {
    add("r.start_us <= ?", filter.latestStartMicros);
  }
  if (filter.text !== undefined) {
    const { plain, escaped } = toSearchTexts(filter.text);
    const candidates = hasTextIndex ? createTextCondition("r", filter.text, range) : undefined;
    conditions.push({
      sql: candidates === undefined ? textCondition : `(${candidates.sql}) AND ${textCondition}`,
      values: [...(candidates?.values ?? []), plain, escaped],
    });
  }
  for (const runFilter of filter.runFilters ?? []) {
    conditions.push(compileFilter(runFilter, selectSource("r")));
  }
  if (filter.rootFilter !== undefined) {
    conditions.push(
      createTraceCondition(
        tenantId,
        createRootCondition(tenantId),
        compileFilter(filter.rootFilter, selectSource("q")),
      ),
    );
  }
  if (filter.treeFilter !== undefined) {
    conditions.push(
      createTraceCondition(
        tenantId,
        anyRunCondition,
        compileFilter(filter.treeFilter, selectSource("q")),
      ),
    );
  }
  if (after !== undefined) {
    const comparisonOperator = after.order === "asc" ? ">" : "<";
    add(`(r.start_us, r.id) ${comparisonOperator} (?, ?)`, after.startMicros, after.id);
  }
  return {
    sql: conditions.length === 0 ? "1" : conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/**
 * Maximum number of values that are bound one by one, for which SQLite plans queries well. More values are bound as one
 * parameter, because a statement may have 32,766 parameters and the filters need some of them.
 */
const maxInlineValues = 100;

/** Creates the condition that a column has one of several values. */
const createListCondition = (column: string, list: readonly string[]): Conditions =>
  list.length <= maxInlineValues
    ? { sql: `${column} IN (${list.map(() => "?").join(", ")})`, values: list }
    : {
        sql: `${column} IN (SELECT value FROM json_each(?))`,
        values: [JSON.stringify(list)],
      };

const tenantCondition = "project_id IN (SELECT id FROM projects WHERE tenant_id = ?)";

/** Creates the condition that some run of the same trace matches a filter. Runs of other tenants never match. */
function createTraceCondition(
  tenantId: string,
  relatedRunCondition: Sql,
  { sql, values }: Sql,
): Conditions {
  return {
    sql: `EXISTS (SELECT 1 FROM runs q WHERE q.trace_id = r.trace_id AND ${relatedRunCondition.sql} AND q.${tenantCondition} AND ${withinDeadlineEachTimeSql("q.rowid")} AND ${sql})`,
    values: [...relatedRunCondition.values, tenantId, ...values],
  };
}

/**
 * Creates the condition for the root of a trace. The root's id is the trace id. The root's database key is either the
 * trace id itself, or the trace id qualified by the tenant id.
 */
const createRootCondition = (tenantId: string): Sql => ({
  sql: `q.id IN (r.trace_id, ${qualifiedKeySql("r.trace_id", "?")})`,
  values: [tenantId],
});

const anyRunCondition: Sql = { sql: "1", values: [] };

const textCondition = `(instr(lower(r.name), ?) > 0 OR EXISTS (
  SELECT 1 FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id AND instr(lower(${payloadTextSql}), ?) > 0))`;
