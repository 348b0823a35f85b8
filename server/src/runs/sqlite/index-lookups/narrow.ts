import type { CheckedFilter } from "../../../filter/checker.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Conditions } from "../run-conditions.ts";
import { lookupsFor } from "./run-lookups.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** Up to so many runs are looked at one by one; where there are more, a page is full soon without. */
const candidatesMax = 20_000;

/** Projects whose facets are asked for one by one. */
const projectsMax = 100;

interface Asked {
  readonly filters: readonly CheckedFilter[];
  /** Statements that find the runs by the text index; see `text-leads.ts`. */
  readonly textLeads?: readonly Conditions[];
}

/**
 * A condition on `runs r` that leaves the few runs which may meet filters; `undefined` where no index
 * leads to them, or the runs would be many.
 */
export function narrow(
  db: Connection,
  projectIds: readonly string[],
  { filters, textLeads = [] }: Asked,
): Conditions | undefined {
  let best: { readonly runs: Conditions; readonly count: number } | undefined;
  const hasFew = projectIds.length > 0 && projectIds.length <= projectsMax;
  for (const runs of [...(hasFew ? lookupsFor(projectIds, filters) : []), ...textLeads]) {
    // No further than the best one so far: what is common costs little to give up.
    const most = best?.count ?? candidatesMax;
    const [row = []] = parseRows(
      db
        .prepare(`SELECT count(*) FROM (${runs.sql} LIMIT ?)`)
        .raw()
        .all([...runs.values, most + 1]),
    );
    const count = Number(row[0]);
    if (count <= most) {
      best = { runs, count };
    }
  }
  return best && { sql: `r.rowid IN (${best.runs.sql})`, values: best.runs.values };
}
