import type { CheckedFilter } from "../../../filter/checker.ts";
import { findRequiredTexts } from "../../../filter/compiler.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { RunFilter } from "../../run-query.ts";
import type { Conditions } from "../run-conditions.ts";
import { createRowQuery, createRowQueryForText } from "../text-index/text-index.ts";

/**
 * Returns statements that find candidate rows of `runs` in the text index. Each statement returns at least all runs
 * that match the filter.
 */
export function listTextLookups(filter: RunFilter): readonly Conditions[] {
  const textLookup = filter.text === undefined ? undefined : createRowQueryForText(filter.text);
  const { runFilters = [], rootFilter, treeFilter } = filter;
  const relatedRunLookups = [rootFilter, treeFilter].flatMap((relatedRunFilter) =>
    relatedRunFilter === undefined ? [] : createLookups(relatedRunFilter),
  );
  return [
    ...(textLookup === undefined ? [] : [textLookup]),
    ...runFilters.flatMap(createLookups),
    ...relatedRunLookups.map(createTraceLookup),
  ];
}

/** Returns a statement that finds all runs of the traces of the given runs. */
const createTraceLookup = ({ sql, values }: Sql): Sql => ({
  sql: `SELECT t.rowid FROM runs t WHERE t.trace_id IN (SELECT o.trace_id FROM runs o WHERE o.rowid IN (${sql}))`,
  values,
});

/** Returns statements, each of which finds at least all runs that match the filter. */
function createLookups(filter: CheckedFilter): readonly Sql[] {
  switch (filter.kind) {
    case "and":
      return filter.parts.flatMap(createLookups);
    case "or": {
      const branches = filter.parts.map((part) => createLookups(part)[0]);
      return branches.every((branch) => branch !== undefined)
        ? [
            {
              sql: branches.map(({ sql }) => sql).join(" UNION ALL "),
              values: branches.flatMap(({ values }) => values),
            },
          ]
        : [];
    }
    case "not":
      return [];
    case "search":
      return [createRowQuery(filter.text)].filter((rowQuery) => rowQuery !== undefined);
    case "comparison":
      return findRequiredTexts([filter])
        .map((text) => createRowQuery(text))
        .filter((rowQuery) => rowQuery !== undefined);
  }
}
