import { toFilterTokens } from "./filter-tokens.ts";

/** Splits a filter into conditions that must all be true: the arguments of its outermost `and`, or the whole filter. */
export function splitConditions(filter: string): readonly string[] {
  const text = filter.trim();
  const tokens = toFilterTokens(text);
  const [name, open] = tokens;
  if (name?.text !== "and" || open?.text !== "(" || tokens.at(-1)?.text !== ")") {
    return text === "" ? [] : [text];
  }
  const conditions: string[] = [];
  let depth = 0;
  let conditionStart = open.to;
  for (const { kind, text: markText, from: markStart, to } of tokens) {
    if (kind !== "mark") {
      continue;
    }
    if (markText === "(" || markText === "[") {
      depth += 1;
    } else if (markText === ")" || markText === "]") {
      depth -= 1;
      if (depth === 0) {
        if (to !== text.length) {
          return [text]; // Text follows the `and`, so the filter is incomplete and can't be split.
        }
        conditions.push(text.slice(conditionStart, markStart).trim());
      }
    } else if (depth === 1) {
      conditions.push(text.slice(conditionStart, markStart).trim());
      conditionStart = to;
    }
  }
  return depth === 0 ? conditions.filter((part) => part !== "") : [text];
}

/** Joins conditions into a filter that requires all of them. */
export const joinConditions = (conditions: readonly string[]): string =>
  conditions.length > 1 ? `and(${conditions.join(", ")})` : (conditions[0] ?? "");

/** Adds a condition to a filter. Removes the existing conditions for which `isReplaced` returns true. */
export const addCondition = (
  filter: string,
  condition: string,
  isReplaced: (part: string) => boolean = (existing) => existing === condition,
): string =>
  joinConditions([
    ...splitConditions(filter).filter((existing) => !isReplaced(existing)),
    condition,
  ]);

/** Removes the conditions that `isRemoved` selects. */
export const removeConditions = (
  filter: string,
  isRemoved: (condition: string) => boolean,
): string => joinConditions(splitConditions(filter).filter((part) => !isRemoved(part)));

/** Replaces one condition of a filter by the conditions of `replacement`; removes it if `replacement` is empty. */
export const replaceCondition = (filter: string, condition: string, replacement: string): string =>
  joinConditions([
    ...new Set(
      splitConditions(filter).flatMap((part) =>
        part === condition ? splitConditions(replacement) : [part],
      ),
    ),
  ]);

/**
 * Merges a filter that took a while to apply with one that was applied in the meantime. The later one wins: what it
 * removed stays removed, and what it added replaces conditions on the same field.
 */
export function mergeLaterFilter({
  base,
  applied,
  later,
}: {
  /** The filter from which both `applied` and `later` were made. */
  readonly base: string;
  readonly applied: string;
  readonly later: string;
}): string {
  if (later === base) {
    return applied;
  }
  const baseConditions = splitConditions(base);
  const laterConditions = splitConditions(later);
  if (laterConditions.length === 0 && baseConditions.length > 0) {
    return ""; // The filter was cleared.
  }
  const changedFields = new Set(
    laterConditions
      .filter((condition) => !baseConditions.includes(condition))
      .flatMap((condition) => readConditionField(condition) ?? []),
  );
  const added = splitConditions(applied).filter(
    (condition) =>
      !baseConditions.includes(condition) &&
      !changedFields.has(readConditionField(condition) ?? ""),
  );
  const replaced = baseConditions.filter(
    (condition) => !splitConditions(applied).includes(condition),
  );
  const kept = laterConditions.filter((condition) => !replaced.includes(condition));
  return joinConditions([...new Set([...kept, ...added])]);
}

/** The field of a simple condition such as `eq(field, value)`; `undefined` for any other condition. */
export function readConditionField(condition: string): string | undefined {
  const [name, open, field, comma] = toFilterTokens(condition);
  return name?.kind === "name" &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === ","
    ? field.text
    : undefined;
}

/** The symbol shown for each comparator. */
const comparatorSymbols: Readonly<Record<string, string>> = {
  eq: "=",
  neq: "≠",
  gt: ">",
  gte: "≥",
  lt: "<",
  lte: "≤",
  has: "has",
  like: "like",
  search: "contains",
  in: "in",
};

/** A value of a simple condition. */
type ValueToken = ReturnType<typeof toFilterTokens>[number];

interface SimpleCondition {
  readonly field: string;
  readonly comparator: string;
  readonly value: ValueToken;
}

/** The parts of a condition that compares a field with one value, such as `eq(field, value)`. */
function readSimpleCondition(condition: string): SimpleCondition | undefined {
  const [name, open, field, comma, value, close, ...following] = toFilterTokens(condition);
  const isSimple =
    comparatorSymbols[name?.text ?? ""] !== undefined &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === "," &&
    close?.text === ")" &&
    following.length === 0;
  return isSimple && name !== undefined && value !== undefined && value.kind !== "mark"
    ? { field: field.text, comparator: name.text, value }
    : undefined;
}

/** Shortens a simple condition for a chip: `status = error`. Any other condition is returned unchanged. */
export function describeCondition(condition: string): string {
  const simple = readSimpleCondition(condition);
  const searched = readSearch(condition);
  if (searched !== undefined) {
    return `contains “${searched.text}”`;
  }
  return simple === undefined
    ? condition
    : `${simple.field} ${comparatorSymbols[simple.comparator]} ${simple.value.text}`;
}

/** The text of a condition such as `search("text")`. */
function readSearch(condition: string): ValueToken | undefined {
  const [name, open, text, close, ...following] = toFilterTokens(condition);
  return name?.text === "search" &&
    open?.text === "(" &&
    text?.kind === "text" &&
    close?.text === ")" &&
    following.length === 0
    ? text
    : undefined;
}

/** The operators as they are typed. Those that are words need a quoted text after them. */
const typedOperators: Readonly<Record<string, string>> = {
  eq: "=",
  neq: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};
const typedWordOperators: Readonly<Record<string, string>> = {
  has: "has",
  like: "like",
  search: "contains",
};

/**
 * Writes a simple condition as one types it, for editing: `latency > 3s`. Any other condition is returned unchanged.
 */
export function toTypedCondition(condition: string): string {
  const searched = readSearch(condition);
  if (searched !== undefined) {
    return condition.slice(searched.from, searched.to);
  }
  const simple = readSimpleCondition(condition);
  if (simple === undefined) {
    return condition;
  }
  const { field, comparator, value } = simple;
  const written = condition.slice(value.from, value.to);
  const operator = typedOperators[comparator];
  if (operator !== undefined) {
    return `${field} ${operator} ${value.kind === "text" ? toTypedValue(value.text, written) : written}`;
  }
  const wordOperator = typedWordOperators[comparator];
  return wordOperator !== undefined && value.kind === "text"
    ? `${field} ${wordOperator} ${written}`
    : condition;
}

/** A text that can be typed without quotes, because it is not read as a number, a keyword or several words. */
const plainValuePattern =
  /^(?!(?:true|false|null|and|or|not)$)(?:[A-Za-z_]|\d+[A-Za-z])[\w./:@-]*$/;

/** A text value as it is typed: without quotes if that means the same. Numbers need quotes to remain texts. */
export const toTypedValue = (text: string, quoted: string = JSON.stringify(text)): string =>
  plainValuePattern.test(text) && Number.isNaN(Number(text)) ? text : quoted;
