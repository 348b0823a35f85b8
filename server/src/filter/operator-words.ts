import type { Comparator } from "./ast.ts";

/** Words between a field and a value, and what they stand for. */
const comparatorsByWord: Readonly<Record<string, Comparator>> = {
  contains: "search",
  search: "search",
  like: "like",
  has: "has",
  is: "eq",
  eq: "eq",
  neq: "neq",
  gt: "gt",
  gte: "gte",
  lt: "lt",
  lte: "lte",
};

/**
 * Returns the comparator for which an operator word stands between a field and a value, in upper or lower case;
 * `undefined` for any other word.
 */
export function findOperatorWord(word: string): Comparator | undefined {
  const lowerWord = word.toLowerCase();
  return Object.hasOwn(comparatorsByWord, lowerWord) ? comparatorsByWord[lowerWord] : undefined;
}

/**
 * Whether the operator words of a comparator take a text. Such a word is an operator after any word if a quoted text
 * follows it, and it can be negated with `not`.
 */
export const isTextOperator = (comparator: Comparator): boolean =>
  comparator === "search" || comparator === "like" || comparator === "has";

/** How each comparator is written between a field and a value. The others are functions only. */
const operatorsByComparator: { readonly [Name in Comparator]?: string } = {
  eq: "=",
  neq: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
  in: "in",
  has: "has",
  like: "like",
  search: "contains",
};

/** Lists the operators of a field. */
export const listOperators = (comparators: readonly Comparator[]): string =>
  comparators.flatMap((comparator) => operatorsByComparator[comparator] ?? []).join(", ");

/** Returns the operators that most often connect a field and one value. */
export const suggestOperators = (comparators: readonly Comparator[]): readonly string[] =>
  (["eq", "search"] as const)
    .filter((comparator) => comparators.includes(comparator))
    .flatMap((comparator) => operatorsByComparator[comparator] ?? []);
