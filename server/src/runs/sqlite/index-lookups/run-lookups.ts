import type { CheckedFilter } from "../../../filter/checker.ts";
import { requiredFacets } from "./required-facets.ts";
import { requiredFeedback, requiredLatency } from "./required-ranges.ts";
import type { Range } from "./required-ranges.ts";
import { anyFacet, blockMicros } from "../../facets.ts";
import { marks } from "../../../storage/sqlite/rows.ts";
import type { Conditions } from "../run-conditions.ts";

const operators: { readonly [Comparator in Range["comparator"]]: string } = {
  eq: "=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/**
 * Returns statements that find candidate rows of `runs` in an index. Each statement returns at least all runs that
 * match the filters.
 */
export const listIndexLookups = (
  projectIds: readonly string[],
  filters: readonly CheckedFilter[],
): readonly Conditions[] =>
  filters.flatMap((filter) => [
    ...requiredFacets(filter).map((facets) => byFacets(projectIds, [...facets, anyFacet])),
    ...byLatency(projectIds, requiredLatency(filter)),
    ...byFeedback(projectIds, filter),
  ]);

/** Finds the runs of all blocks of time that have one of the facets. */
const byFacets = (projectIds: readonly string[], facets: readonly string[]): Conditions => ({
  sql: `SELECT c.rowid FROM (
      SELECT DISTINCT project_id, block FROM run_facets
      WHERE project_id IN (${marks(projectIds)}) AND facet IN (${marks(facets)})
    ) b CROSS JOIN runs c INDEXED BY runs_by_start
    ON c.project_id = b.project_id AND c.start_us >= b.block * ${blockMicros} AND c.start_us < (b.block + 1) * ${blockMicros}`,
  values: [...projectIds, ...facets],
});

const byLatency = (
  projectIds: readonly string[],
  ranges: readonly Range[],
): readonly Conditions[] =>
  ranges.length === 0
    ? []
    : [
        {
          sql: `SELECT c.rowid FROM runs c INDEXED BY runs_by_latency
            WHERE c.project_id IN (${marks(projectIds)}) AND c.end_us IS NOT NULL
              AND ${ranges.map(({ comparator }) => `c.end_us - c.start_us ${operators[comparator]} ?`).join(" AND ")}`,
          values: [...projectIds, ...ranges.map(({ number }) => number)],
        },
      ];

function byFeedback(projectIds: readonly string[], filter: CheckedFilter): readonly Conditions[] {
  const feedback = requiredFeedback(filter);
  if (feedback === undefined) {
    return [];
  }
  const scores = feedback.scores.map(({ comparator }) => `AND f.score ${operators[comparator]} ?`);
  return [
    {
      // All projects belong to the same tenant.
      sql: `SELECT c.rowid FROM feedback f INDEXED BY feedback_by_key CROSS JOIN runs c INDEXED BY runs_by_id ON c.id = f.run_id
        WHERE f.tenant_id = (SELECT tenant_id FROM projects WHERE id = ?) AND f.key_json = ? AND f.run_id IS NOT NULL ${scores.join(" ")}`,
      values: [
        projectIds[0] ?? "",
        JSON.stringify(feedback.key),
        ...feedback.scores.map(({ number }) => number),
      ],
    },
  ];
}
