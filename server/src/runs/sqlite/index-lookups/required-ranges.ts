import type { Comparator } from "../../../filter/ast.ts";
import type { CheckedComparison, CheckedFilter } from "../../../filter/checker.ts";
import { valueOf } from "../../../filter/conditions.ts";

/** Bounds of a number. */
export interface Range {
  readonly comparator: "eq" | "gt" | "gte" | "lt" | "lte";
  readonly number: number;
}

/** A judgement that every run has which meets a filter. */
export interface RequiredFeedback {
  readonly key: string;
  readonly scores: readonly Range[];
}

/** Comparisons that hold for every run which meets a filter. */
const requiredComparisons = (filter: CheckedFilter): readonly CheckedComparison[] => {
  switch (filter.kind) {
    case "and":
      return filter.parts.flatMap(requiredComparisons);
    case "or":
    case "not":
    case "search":
      return [];
    case "comparison":
      return [filter];
  }
};

/** What every run that meets the filter has for a latency, in microseconds. */
export const requiredLatency = (filter: CheckedFilter): readonly Range[] =>
  requiredComparisons(filter).flatMap((part) =>
    part.field.name === "latency" ? toRange(part) : [],
  );

/** The one status that every run has which meets the filter, where an index leads to such runs. */
export function requiredStatus(filter: CheckedFilter): "error" | "pending" | undefined {
  for (const { field, comparator, operand } of requiredComparisons(filter)) {
    const value = operand.kind === "scalar" ? valueOf(operand) : undefined;
    if (field.name === "status" && comparator === "eq") {
      return value === "error" || value === "pending" ? value : undefined;
    }
    const asksForText = typeof value === "string" && comparator !== "neq";
    if (field.name === "error" && (asksForText || (comparator === "eq" && value === true))) {
      return "error";
    }
  }
  return undefined;
}

/** Within one `and`, conditions on a key and on its score are met by the same judgement. */
export function requiredFeedback(filter: CheckedFilter): RequiredFeedback | undefined {
  const parts = filter.kind === "and" ? filter.parts : [filter];
  const nested = parts.filter(({ kind }) => kind === "and").map(requiredFeedback);
  const own = parts.filter((part) => part.kind === "comparison");
  const keys = own.filter(
    ({ field, comparator }) => field.name === "feedback_key" && comparator === "eq",
  );
  const [first] = keys;
  if (first === undefined) {
    return nested.find((one) => one !== undefined);
  }
  const scores = own.flatMap((part) => (part.field.name === "feedback_score" ? toRange(part) : []));
  return { key: String(valueOf(first.operand)), scores: keys.length === 1 ? scores : [] };
}

function toRange({ comparator, operand }: CheckedComparison): readonly Range[] {
  const number = operand.kind === "scalar" ? valueOf(operand) : undefined;
  return typeof number === "number" && isOrder(comparator) ? [{ comparator, number }] : [];
}

const isOrder = (comparator: Comparator): comparator is Range["comparator"] =>
  ["eq", "gt", "gte", "lt", "lte"].includes(comparator);
