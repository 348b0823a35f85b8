import {
  readConditionField,
  splitConditions,
  addCondition,
  removeConditions,
} from "../../components/filter/filter-conditions.ts";
import { toFilterTokens } from "../../components/filter/filter-tokens.ts";

/** Quotes a text as a literal of the filter language. */
export const toFilterText = (text: string): string => JSON.stringify(text);

const createFieldTest =
  (field: string) =>
  (condition: string): boolean =>
    readConditionField(condition) === field;

/** Finds the value with which a filter compares a field; `undefined` if no simple condition of the filter does that. */
export function findQuickValue(filter: string, field: string): string | undefined {
  const condition = splitConditions(filter).find(createFieldTest(field));
  const value = condition === undefined ? undefined : toFilterTokens(condition)[4];
  return value?.kind === "mark" ? undefined : value?.text;
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

const isSearchCondition = (condition: string): boolean => {
  const [name, open, text] = toFilterTokens(condition);
  return name?.text === "search" && open?.text === "(" && text?.kind === "text";
};

/** The text of the filter's full-text search, unquoted; empty if the filter has none. */
export function findSearchText(filter: string): string {
  const condition = splitConditions(filter).find(isSearchCondition);
  const text = condition === undefined ? undefined : toFilterTokens(condition)[2]?.text;
  return text === undefined ? "" : unescapeText(text);
}

/** Replaces the filter's full-text search, or removes it if the text is empty. */
export const setSearchText = (filter: string, text: string): string =>
  text.trim() === ""
    ? removeConditions(filter, isSearchCondition)
    : addCondition(filter, `search(${toFilterText(text.trim())})`, isSearchCondition);

function unescapeText(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text; // A single-quoted text may not be valid JSON; show it as written.
  }
}

/** Creates a condition on a metadata entry. A key that can't be written as a path needs two conditions: key and value. */
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
