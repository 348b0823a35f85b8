import type { CheckedFilter } from "../../../filter/checker.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Conditions } from "../run-conditions.ts";
import { listIndexLookups } from "./run-lookups.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/**
 * Maximum number of runs that an index lookup may return. If more runs match, a page is filled soon by reading the list
 * in its order.
 */
const maxCandidates = 20_000;

/** Maximum number of projects for which facets are looked up. */
const maxProjects = 100;

interface IndexableFilters {
  readonly filters: readonly CheckedFilter[];
  /** Statements that find candidate runs in the text index; see `text-lookups.ts`. */
  readonly textLookups?: readonly Conditions[];
}

/**
 * Returns a condition on `runs r` that leaves only the few runs that may match the filters; `undefined` if no index
 * finds them, or if there are too many.
 */
export function narrowByIndex(
  db: Connection,
  projectIds: readonly string[],
  { filters, textLookups = [] }: IndexableFilters,
): Conditions | undefined {
  let best: { readonly lookup: Conditions; readonly count: number } | undefined;
  const hasFewProjects = projectIds.length > 0 && projectIds.length <= maxProjects;
  for (const lookup of [
    ...(hasFewProjects ? listIndexLookups(projectIds, filters) : []),
    ...textLookups,
  ]) {
    // Count no further than the best lookup so far, so that counting a common value takes little time.
    const maxCount = best?.count ?? maxCandidates;
    const [row = []] = parseRows(
      db
        .prepareRaw(`SELECT count(*) FROM (${lookup.sql} LIMIT ?)`)
        .all([...lookup.values, maxCount + 1]),
    );
    const count = Number(row[0]);
    if (count <= maxCount) {
      best = { lookup, count };
    }
  }
  return best && { sql: `r.rowid IN (${best.lookup.sql})`, values: best.lookup.values };
}
