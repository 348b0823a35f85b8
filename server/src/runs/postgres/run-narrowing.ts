import { joinConditions, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import { findRequiredTexts } from "../../filter/compiler.ts";
import type { CheckedFilter } from "../../filter/checker.ts";
import { createTypeFacet } from "../facets.ts";
import { toSearchTexts } from "../search-texts.ts";
import { findRequiredFacets } from "../required-facets.ts";
import type { RunFilter } from "../run-query.ts";
import {
  findRequiredFeedback,
  findRequiredLatency,
  findRequiredMeasure,
  findRequiredStatus,
} from "../sqlite/index-lookups/required-ranges.ts";
import type { Range } from "../sqlite/index-lookups/required-ranges.ts";
import { indexedMeasures } from "../tables/run-measure-tables.ts";
import type { IndexedMeasure } from "../tables/run-measure-tables.ts";
import { createFacetCondition, parameter } from "./run-conditions.ts";
import { listSearchedGrams } from "./text-index/text-grams.ts";

const operators: Readonly<Record<Range["comparator"], string>> = {
  eq: "=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/**
 * Returns a condition on `runs r` that holds for each run that a filter matches, and for which an index finds the runs
 * without reading the others; `undefined` if there is none.
 */
export function createNarrowCondition({ runFilters = [], runType }: RunFilter): Sql | undefined {
  const typeFacet = runType === undefined ? undefined : createTypeFacet(runType);
  const conditions = [
    ...(typeFacet === undefined ? [] : [createFacetCondition([typeFacet])]),
    ...runFilters.flatMap((filter) => [
      ...findRequiredFacets(filter).map(createFacetCondition),
      ...findRequiredLatency(filter).map(createLatencyCondition),
      ...indexedMeasures.flatMap((measure) =>
        findRequiredMeasure(filter, measure).map((range) => createMeasureCondition(measure, range)),
      ),
      ...createStatusConditions(filter),
    ]),
  ];
  return conditions.length === 0 ? undefined : joinConditions(conditions, "AND");
}

/**
 * Returns a query for the ids of the runs with the feedback that a filter requires; `undefined` if it requires none. An
 * index finds them.
 */
export function createFeedbackQuery(
  tenantId: string,
  { runFilters = [] }: RunFilter,
): Sql | undefined {
  const feedback = runFilters.map(findRequiredFeedback).find((required) => required !== undefined);
  return (
    feedback &&
    sql`SELECT f.run_id AS id FROM feedback f WHERE ${joinConditions(
      [
        sql`f.tenant_id = ${parameter(tenantId)}`,
        sql`f.key_json = ${parameter(JSON.stringify(feedback.key))}`,
        sql`f.run_id IS NOT NULL`,
        ...feedback.scoreRanges.map(
          ({ comparator, bound }) => sql`f.score ${operators[comparator]} ${parameter(bound)}`,
        ),
      ],
      "AND",
    )}`
  );
}

const createLatencyCondition = ({ comparator, bound }: Range): Sql =>
  sql`(r.end_us IS NOT NULL AND (r.end_us - r.start_us) ${operators[comparator]} ${parameter(bound)})`;

const createMeasureCondition = (measure: IndexedMeasure, { comparator, bound }: Range): Sql =>
  sql`r.${measure} ${operators[comparator]} ${parameter(bound)}`;

function createStatusConditions(filter: CheckedFilter): readonly Sql[] {
  switch (findRequiredStatus(filter)) {
    case "error":
      return [{ sql: "r.has_error = 1", values: [] }];
    case "pending":
      return [{ sql: "(r.end_us IS NULL AND r.has_error = 0)", values: [] }];
    default:
      return [];
  }
}

/**
 * Returns lists of trigrams. Every run that the filter matches is in a block that has all trigrams of at least one of
 * these lists. If there are no lists, the text index can't narrow down the search.
 */
export function listFilterGrams({
  text,
  runFilters = [],
}: RunFilter): readonly (readonly number[])[] {
  const required = [...new Set(runFilters.flatMap(listRequiredTexts).flatMap(listSearchedGrams))];
  if (text === undefined) {
    return required.length === 0 ? [] : [required];
  }
  // The text occurs unchanged in the name, or with escapes in a payload.
  const { plain, escaped } = toSearchTexts(text);
  const lists = [...new Set([plain, escaped])].map((form) => [
    ...new Set([...listSearchedGrams(form), ...required]),
  ]);
  return lists.every((grams) => grams.length > 0) ? lists : [];
}

/** The texts that occur in each run that a filter matches. */
function listRequiredTexts(filter: CheckedFilter): readonly string[] {
  switch (filter.kind) {
    case "and":
      return filter.parts.flatMap(listRequiredTexts);
    case "search":
      return [filter.text];
    case "comparison":
      return findRequiredTexts([filter]);
    default:
      return [];
  }
}
