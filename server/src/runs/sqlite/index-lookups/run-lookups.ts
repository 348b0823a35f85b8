import type { CheckedFilter } from "../../../filter/checker.ts";
import { findRequiredFacets } from "../../required-facets.ts";
import { indexedMeasures, measureIndexes } from "../../tables/run-measure-tables.ts";
import type { IndexedMeasure } from "../../tables/run-measure-tables.ts";
import {
  findRequiredFeedback,
  findRequiredLatency,
  findRequiredMeasure,
} from "./required-ranges.ts";
import type { Range } from "./required-ranges.ts";
import { anyFacet, blockMicros } from "../../facets.ts";
import { createPlaceholders } from "../../../storage/sqlite/rows.ts";
import type { Conditions } from "../run-conditions.ts";

const sqlOperators: { readonly [Comparator in Range["comparator"]]: string } = {
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
    ...findRequiredFacets(filter).map((facets) =>
      createFacetLookup(projectIds, [...facets, anyFacet]),
    ),
    ...createLatencyLookup(projectIds, findRequiredLatency(filter)),
    ...indexedMeasures.flatMap((measure) =>
      createMeasureLookup(projectIds, measure, findRequiredMeasure(filter, measure)),
    ),
    ...createFeedbackLookup(projectIds, filter),
  ]);

/** Returns a statement that finds the runs of all blocks of time that have one of the facets. */
const createFacetLookup = (
  projectIds: readonly string[],
  facets: readonly string[],
): Conditions => ({
  sql: `SELECT c.rowid FROM (
      SELECT DISTINCT project_id, block FROM run_facets
      WHERE project_id IN (${createPlaceholders(projectIds)}) AND facet IN (${createPlaceholders(facets)})
    ) b CROSS JOIN runs c INDEXED BY runs_by_start
    ON c.project_id = b.project_id AND c.start_us >= b.block * ${blockMicros} AND c.start_us < (b.block + 1) * ${blockMicros}`,
  values: [...projectIds, ...facets],
});

const createLatencyLookup = (
  projectIds: readonly string[],
  ranges: readonly Range[],
): readonly Conditions[] =>
  ranges.length === 0
    ? []
    : [
        {
          sql: `SELECT c.rowid FROM runs c INDEXED BY runs_by_latency
            WHERE c.project_id IN (${createPlaceholders(projectIds)}) AND c.end_us IS NOT NULL
              AND ${ranges.map(({ comparator }) => `c.end_us - c.start_us ${sqlOperators[comparator]} ?`).join(" AND ")}`,
          values: [...projectIds, ...ranges.map(({ bound }) => bound)],
        },
      ];

/**
 * Also finds the runs that are older than the columns of measures, because only their payloads contain their measures.
 */
const createMeasureLookup = (
  projectIds: readonly string[],
  measure: IndexedMeasure,
  ranges: readonly Range[],
): readonly Conditions[] =>
  ranges.length === 0
    ? []
    : [
        {
          sql: `SELECT c.rowid FROM runs c INDEXED BY ${measureIndexes[measure]}
            WHERE c.project_id IN (${createPlaceholders(projectIds)}) AND c.${measure} IS NOT NULL
              AND ${ranges.map(({ comparator }) => `c.${measure} ${sqlOperators[comparator]} ?`).join(" AND ")}
            UNION ALL SELECT c.rowid FROM runs c INDEXED BY runs_unread
            WHERE c.project_id IN (${createPlaceholders(projectIds)}) AND c.measured = 0`,
          values: [...projectIds, ...ranges.map(({ bound }) => bound), ...projectIds],
        },
      ];

function createFeedbackLookup(
  projectIds: readonly string[],
  filter: CheckedFilter,
): readonly Conditions[] {
  const feedback = findRequiredFeedback(filter);
  if (feedback === undefined) {
    return [];
  }
  const scoreConditions = feedback.scoreRanges.map(
    ({ comparator }) => `AND f.score ${sqlOperators[comparator]} ?`,
  );
  return [
    {
      // All projects belong to the same tenant, so the first one identifies the tenant.
      sql: `SELECT c.rowid FROM feedback f INDEXED BY feedback_by_key CROSS JOIN runs c INDEXED BY runs_by_id ON c.id = f.run_id
        WHERE f.tenant_id = (SELECT tenant_id FROM projects WHERE id = ?) AND f.key_json = ? AND f.run_id IS NOT NULL ${scoreConditions.join(" ")}`,
      values: [
        projectIds[0] ?? "",
        JSON.stringify(feedback.key),
        ...feedback.scoreRanges.map(({ bound }) => bound),
      ],
    },
  ];
}
