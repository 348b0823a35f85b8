import { toFilterTokens } from "./filter-tokens.ts";

/** Splits a filter into conditions that must all be true: the arguments of its outermost `and`, or the whole filter. */
export function splitConditions(filter: string): readonly string[] {
  const text = filter.trim();
  const tokens = toFilterTokens(text);
  const [name, openMark] = tokens;
  if (name?.text !== "and" || openMark?.text !== "(" || tokens.at(-1)?.text !== ")") {
    return text === "" ? [] : [text];
  }
  const conditions: string[] = [];
  let depth = 0;
  let conditionStart = openMark.to;
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

export const removeConditions = (
  filter: string,
  isRemoved: (condition: string) => boolean,
): string => joinConditions(splitConditions(filter).filter((part) => !isRemoved(part)));

/**
 * Replaces one condition of a filter by the conditions of `replacement`; removes it if `replacement` is empty. A
 * condition that is an `and` itself stays one condition, because its parts may refer to the same feedback.
 */
export function replaceCondition(filter: string, condition: string, replacement: string): string {
  const isConjunction = splitConditions(condition).length > 1;
  const replacements = splitConditions(replacement);
  return joinConditions([
    ...new Set(
      splitConditions(filter).flatMap((part) => {
        if (part !== condition) {
          return [part];
        }
        return isConjunction && replacements.length > 1 ? [replacement] : replacements;
      }),
    ),
  ]);
}

/**
 * Merges a filter that took a while to apply with a filter that was applied in the meantime. The later filter takes
 * precedence: conditions that it removed stay removed, and conditions that it added replace conditions on the same
 * field.
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
  const addedConditions = splitConditions(applied).filter(
    (condition) =>
      !baseConditions.includes(condition) &&
      !changedFields.has(readConditionField(condition) ?? ""),
  );
  const replacedConditions = baseConditions.filter(
    (condition) => !splitConditions(applied).includes(condition),
  );
  const keptConditions = laterConditions.filter(
    (condition) => !replacedConditions.includes(condition),
  );
  return joinConditions([...new Set([...keptConditions, ...addedConditions])]);
}

/** The field of a simple condition such as `eq(field, value)`; `undefined` for any other condition. */
export function readConditionField(condition: string): string | undefined {
  const [name, openMark, field, comma] = toFilterTokens(condition);
  return name?.kind === "name" &&
    openMark?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === ","
    ? field.text
    : undefined;
}
