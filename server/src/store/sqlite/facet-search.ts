import type { CheckedFilter } from "../../filter/checker.ts";
import { requiredFacets } from "../../filter/required-facets.ts";
import { anyFacet, blockMicros } from "../facets.ts";
import { parseRows } from "./row.ts";
import type { Conditions } from "./run-conditions.ts";
import type { Connection } from "./schema.ts";

/** Up to so many runs are looked at one by one; where there are more, a page is full soon without. */
const candidatesMax = 20_000;

/** Projects whose facets are asked for one by one. */
const projectsMax = 100;

/**
 * A condition on `runs r` that leaves the few runs which may have the facets that filters ask for;
 * `undefined` where they ask for none, or the runs would be many.
 */
export function narrow(
  db: Connection,
  projectIds: readonly string[],
  filters: readonly CheckedFilter[],
): Conditions | undefined {
  const asked = filters.flatMap(requiredFacets);
  if (asked.length === 0 || projectIds.length === 0 || projectIds.length > projectsMax) {
    return undefined;
  }
  let best: { readonly runs: Conditions; readonly count: number } | undefined;
  for (const facets of asked) {
    const runs = candidates(projectIds, [...facets, anyFacet]);
    const [row = []] = parseRows(
      db
        .prepare(`SELECT count(*) FROM (${runs.sql} LIMIT ?)`)
        .raw()
        .all([...runs.values, candidatesMax + 1]),
    );
    const count = Number(row[0]);
    if (count <= candidatesMax && count < (best?.count ?? Infinity)) {
      best = { runs, count };
    }
  }
  return best && { sql: `r.rowid IN (${best.runs.sql})`, values: best.runs.values };
}

/** The runs of all blocks in which one of the facets is. */
const candidates = (projectIds: readonly string[], facets: readonly string[]): Conditions => ({
  sql: `SELECT c.rowid FROM (
      SELECT DISTINCT project_id, block FROM run_facets
      WHERE project_id IN (${marks(projectIds)}) AND facet IN (${marks(facets)})
    ) b CROSS JOIN runs c INDEXED BY runs_by_start
    ON c.project_id = b.project_id AND c.start_us >= b.block * ${blockMicros} AND c.start_us < (b.block + 1) * ${blockMicros}`,
  values: [...projectIds, ...facets],
});

const marks = (list: readonly unknown[]): string => list.map(() => "?").join(", ");
