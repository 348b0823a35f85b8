import type { CheckedFilter } from "../../../filter/checker.ts";
import { textsIn } from "../../../filter/compiler.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { RunFilter } from "../../run-query.ts";
import type { Conditions } from "../run-conditions.ts";
import { rowsThatMayHold, rowsThatMayHoldEither } from "../text-index/text-index.ts";

/** Statements each of which finds, by the text index, rowids of `runs` that hold all runs which meet a filter. */
export function textLookupsFor(filter: RunFilter): readonly Conditions[] {
  const text = filter.text === undefined ? undefined : rowsThatMayHoldEither(filter.text);
  const { runFilters = [], rootFilter, treeFilter } = filter;
  const ofOthers = [rootFilter, treeFilter].flatMap((one) =>
    one === undefined ? [] : leadsTo(one),
  );
  return [
    ...(text === undefined ? [] : [text]),
    ...runFilters.flatMap(leadsTo),
    ...ofOthers.map(tracesOf),
  ];
}

/** All runs of the traces. */
const tracesOf = ({ sql, values }: Sql): Sql => ({
  sql: `SELECT t.rowid FROM runs t WHERE t.trace_id IN (SELECT o.trace_id FROM runs o WHERE o.rowid IN (${sql}))`,
  values,
});

/** Each finds all runs that meet the filter. */
function leadsTo(filter: CheckedFilter): readonly Sql[] {
  switch (filter.kind) {
    case "and":
      return filter.parts.flatMap(leadsTo);
    case "or": {
      const branches = filter.parts.map((part) => leadsTo(part)[0]);
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
      return [rowsThatMayHold(filter.text)].filter((rows) => rows !== undefined);
    case "comparison":
      return textsIn([filter])
        .map(rowsThatMayHold)
        .filter((rows) => rows !== undefined);
  }
}
