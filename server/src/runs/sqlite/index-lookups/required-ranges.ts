import type { Comparator } from "../../../filter/ast.ts";
import type { CheckedComparison, CheckedFilter } from "../../../filter/checker.ts";
import { toSingleValue } from "../../../filter/conditions.ts";
import type { IndexedMeasure } from "../../tables/run-measure-tables.ts";

/** A comparison that limits the value of a number. */
export interface Range {
  readonly comparator: "eq" | "gt" | "gte" | "lt" | "lte";
  readonly bound: number;
}

/** Feedback that a run must have to match a filter. */
export interface RequiredFeedback {
  readonly key: string;
  readonly scoreRanges: readonly Range[];
}

/** Returns the comparisons that a run must satisfy to match a filter. */
const findRequiredComparisons = (filter: CheckedFilter): readonly CheckedComparison[] => {
  switch (filter.kind) {
    case "and":
      return filter.parts.flatMap(findRequiredComparisons);
    case "or":
    case "not":
    case "search":
      return [];
    case "comparison":
      return [filter];
  }
};

/** Returns the bounds that a run's latency, in microseconds, must satisfy to match the filter. */
export const findRequiredLatency = (filter: CheckedFilter): readonly Range[] =>
  findRequiredRanges(filter, "latency");

/** Returns the bounds that a measure of a run must satisfy to match the filter. */
export const findRequiredMeasure = (
  filter: CheckedFilter,
  measure: IndexedMeasure,
): readonly Range[] => findRequiredRanges(filter, measure);

const findRequiredRanges = (filter: CheckedFilter, fieldName: string): readonly Range[] =>
  findRequiredComparisons(filter).flatMap((part) =>
    part.field.name === fieldName ? toRange(part) : [],
  );

/** Returns the status that a run must have to match the filter, if an index finds runs of that status. */
export function findRequiredStatus(filter: CheckedFilter): "error" | "pending" | undefined {
  for (const { field, comparator, operand } of findRequiredComparisons(filter)) {
    const value = operand.kind === "scalar" ? toSingleValue(operand) : undefined;
    if (field.name === "status" && comparator === "eq") {
      return value === "error" || value === "pending" ? value : undefined;
    }
    const comparesText = typeof value === "string" && comparator !== "neq";
    if (field.name === "error" && (comparesText || (comparator === "eq" && value === true))) {
      return "error";
    }
  }
  return undefined;
}

/**
 * Returns the feedback that a run must have to match the filter. Within one `and`, the conditions on a feedback key
 * and on a score apply to the same feedback.
 */
export function findRequiredFeedback(filter: CheckedFilter): RequiredFeedback | undefined {
  const parts = filter.kind === "and" ? filter.parts : [filter];
  const nestedFeedback = parts.filter(({ kind }) => kind === "and").map(findRequiredFeedback);
  const comparisons = parts.filter((part) => part.kind === "comparison");
  const keyComparisons = comparisons.filter(
    ({ field, comparator }) => field.name === "feedback_key" && comparator === "eq",
  );
  const [firstKeyComparison] = keyComparisons;
  if (firstKeyComparison === undefined) {
    return nestedFeedback.find((feedback) => feedback !== undefined);
  }
  const scoreRanges = comparisons.flatMap((part) =>
    part.field.name === "feedback_score" ? toRange(part) : [],
  );
  return {
    key: String(toSingleValue(firstKeyComparison.operand)),
    scoreRanges: keyComparisons.length === 1 ? scoreRanges : [],
  };
}

function toRange({ comparator, operand }: CheckedComparison): readonly Range[] {
  const number = operand.kind === "scalar" ? toSingleValue(operand) : undefined;
  return typeof number === "number" && isRangeComparator(comparator)
    ? [{ comparator, bound: number }]
    : [];
}

const isRangeComparator = (comparator: Comparator): comparator is Range["comparator"] =>
  ["eq", "gt", "gte", "lt", "lte"].includes(comparator);
