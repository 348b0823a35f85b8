import {
  readConditionField,
  splitConditions,
  addCondition,
  removeConditions,
} from "../../../components/filter/filter-conditions.ts";
import { toFilterTokens } from "../../../components/filter/filter-tokens.ts";

/** Quotes a text as a literal of the filter language. */
export const toFilterText = (text: string): string => JSON.stringify(text);

const createFieldTest =
  (field: string) =>
  (condition: string): boolean =>
    readConditionField(condition) === field;

/** Whether a filter has a condition on a field for which `isField` returns true, also within `and`, `or` and `not`. */
export function hasConditionOn(filter: string, isField: (field: string) => boolean): boolean {
  const tokens = toFilterTokens(filter);
  return tokens.some(
    ({ kind, text }, index) =>
      kind === "name" &&
      tokens[index - 1]?.text === "(" &&
      [",", ")"].includes(tokens[index + 1]?.text ?? "") &&
      isField(text),
  );
}

/** Finds the value that a filter compares with a field by `comparator`; `undefined` if it has no such condition. */
export function findQuickValue(
  filter: string,
  { field, comparator }: { readonly field: string; readonly comparator: string },
): string | undefined {
  const condition = splitConditions(filter).find(createFieldTest(field));
  const [name, , , , value] = condition === undefined ? [] : toFilterTokens(condition);
  return name?.text !== comparator || value?.kind === "mark" ? undefined : value?.text;
}

/** Replaces a filter's conditions on a field with one condition, or removes them if there is no value. */
export const setQuickFilter = (
  filter: string,
  { field, comparator, value }: { field: string; comparator: string; value: string | undefined },
): string =>
  value === undefined || value === ""
    ? removeConditions(filter, createFieldTest(field))
    : addCondition(
        filter,
        `${comparator}(${field}, ${toFilterText(value)})`,
        createFieldTest(field),
      );

/**
 * Creates a condition on a metadata entry. If the key can't be written as a path, the condition combines one on the key
 * and one on the value.
 */
export const createMetadataCondition = (key: string, value: string): string =>
  /^[\w-]+(?:\.[\w-]+)*$/.test(key)
    ? `eq(metadata.${key}, ${toFilterText(value)})`
    : `and(eq(metadata_key, ${toFilterText(key)}), eq(metadata_value, ${toFilterText(value)}))`;

/** Creates a condition that feedback with a key exists, or that its score is at least, at most or exactly `score`. */
export const createFeedbackCondition = (
  key: string,
  comparator: string,
  score: number | undefined,
): string =>
  score === undefined
    ? `eq(feedback_key, ${toFilterText(key)})`
    : `and(eq(feedback_key, ${toFilterText(key)}), ${comparator}(feedback_score, ${score}))`;
