import { compileFilter } from "../../filter/compiler.ts";
import { joinConditions, sql } from "../../filter/sql.ts";
import type { Sql, SqlValue } from "../../filter/sql.ts";
import { encodeText } from "../../storage/postgres/text-encoding.ts";
import { anyFacet } from "../facets.ts";
import { toSearchTexts } from "../search-texts.ts";
import { findRequiredFacets } from "../required-facets.ts";
import type { RunFilter, RunPosition } from "../run-query.ts";
import { createPayloadTextSql } from "../shared-texts/postgres-shared-texts.ts";
import { selectRunSource } from "./run-filter-source.ts";

/** SQL with the placeholders `$1`, `$2` and so on. */
export interface NumberedSql {
  readonly text: string;
  readonly values: readonly (SqlValue | readonly SqlValue[])[];
}

/** Replaces each `?` by a numbered placeholder. The SQL must not contain any other question mark. */
export function toNumbered({ sql: text, values }: Sql): NumberedSql {
  let count = 0;
  return { text: text.replaceAll("?", () => `$${(count += 1)}`), values };
}

/** A value as a parameter. PostgreSQL must be able to infer its type from the SQL around it. */
export const parameter = (value: SqlValue): Sql => ({ sql: "?", values: [value] });

/** A list of texts as one parameter, so that the SQL is the same for lists of any length. */
export const listParameter = (list: readonly string[]): Sql => ({
  sql: "(SELECT jsonb_array_elements_text(?::jsonb))",
  values: [JSON.stringify(list.map(encodeText))],
});

type AfterPosition = RunPosition & { readonly order: "asc" | "desc" };

/** Returns the condition on `runs r` that selects the runs of a tenant that a filter matches. */
export function toCondition(tenantId: string, filter: RunFilter, after?: AfterPosition): Sql {
  const conditions: Sql[] = [sql`r.tenant_id = ${parameter(tenantId)}`];
  const addList = (column: string, list: readonly string[] | undefined): void => {
    if (list !== undefined) {
      const [only] = list;
      conditions.push(
        list.length === 1 && only !== undefined
          ? sql`${column} = ${parameter(encodeText(only))}`
          : sql`${column} IN ${listParameter(list)}`,
      );
    }
  };
  const add = (condition: string, value: SqlValue | undefined): void => {
    if (value !== undefined) {
      conditions.push(sql`${condition} ${parameter(value)}`);
    }
  };
  addList("r.project_id", filter.projectIds);
  addList("r.id", filter.ids);
  if (filter.ids !== undefined) {
    // The index of `runs` needs the trace as well, which `run_keys` contains for each id.
    conditions.push(
      sql`(r.root_us, r.trace_id, r.id) IN (SELECT k.root_us, k.trace_id, k.id FROM run_keys k
        WHERE k.tenant_id = ${parameter(tenantId)} AND k.id IN ${listParameter(filter.ids)})`,
    );
  }
  addList("r.reference_example_id", filter.referenceExampleIds);
  add("r.trace_id =", filter.traceId);
  if (filter.parentRunId !== undefined) {
    // The filter also has the trace id of the children (see `addTraceId`), by which an index finds them.
    conditions.push(sql`r.parent_run_id = ${parameter(filter.parentRunId)}`);
  }
  add("r.run_type =", filter.runType === undefined ? undefined : encodeText(filter.runType));
  if (filter.isRoot !== undefined) {
    conditions.push(sql`r.parent_run_id IS ${filter.isRoot ? "" : "NOT "}NULL`);
  }
  if (filter.hasError !== undefined) {
    // A literal, so that the partial index of runs with errors can be used.
    conditions.push(sql`r.has_error = ${filter.hasError ? "1" : "0"}`);
  }
  add("r.start_us >=", filter.earliestStartMicros);
  add("r.start_us <=", filter.latestStartMicros);
  if (filter.text !== undefined) {
    conditions.push(createTextCondition(filter.text));
  }
  for (const runFilter of filter.runFilters ?? []) {
    conditions.push(
      ...findRequiredFacets(runFilter).map(createFacetCondition),
      compileFilter(runFilter, selectRunSource("r")),
    );
  }
  if (filter.rootFilter !== undefined) {
    conditions.push(
      createTraceCondition(
        sql`q.id = r.trace_id AND ${compileFilter(filter.rootFilter, selectRunSource("q"))}`,
      ),
    );
  }
  if (filter.treeFilter !== undefined) {
    conditions.push(createTraceCondition(compileFilter(filter.treeFilter, selectRunSource("q"))));
  }
  if (after !== undefined) {
    const comparisonOperator = after.order === "asc" ? ">" : "<";
    conditions.push(
      sql`(r.start_us, r.id) ${comparisonOperator} (${parameter(after.startMicros)}, ${parameter(after.id)})`,
    );
  }
  return joinConditions(conditions, "AND");
}

/**
 * The condition that a run has one of the facets. An index finds these runs, and the filter itself is evaluated only
 * for them.
 */
export const createFacetCondition = (alternatives: readonly string[]): Sql => ({
  sql: "r.facets && ARRAY(SELECT jsonb_array_elements_text(?::jsonb))",
  values: [JSON.stringify([anyFacet, ...alternatives].map(encodeText))],
});

/** The condition that some run `q` of the same tenant and trace meets a condition. */
const createTraceCondition = (condition: Sql): Sql =>
  sql`EXISTS (SELECT 1 FROM runs q WHERE q.tenant_id = r.tenant_id AND q.trace_id = r.trace_id AND ${condition})`;

const payloadText: Sql = { sql: createPayloadTextSql("p"), values: [] };

function createTextCondition(text: string): Sql {
  const { plain, escaped } = toSearchTexts(text);
  return sql`(strpos(lower(r.name COLLATE "C"), ${{ sql: "?::text", values: [encodeText(plain)] }}) > 0
    OR EXISTS (SELECT 1 FROM payloads p
      WHERE p.tenant_id = r.tenant_id AND p.root_us = r.root_us AND p.trace_id = r.trace_id AND p.id = r.id
        AND strpos(lower(${payloadText} COLLATE "C"), ${{ sql: "?::text", values: [encodeText(escaped)] }}) > 0))`;
}
