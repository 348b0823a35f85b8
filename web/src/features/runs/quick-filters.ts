import {
  fieldOfPart,
  toFilterParts,
  withFilterPart,
  withoutFilterParts,
} from "../../components/filter/filter-parts.ts";
import { toFilterTokens } from "../../components/filter/filter-tokens.ts";

/** Quotes a text as a literal of the filter language. */
export const toFilterText = (text: string): string => JSON.stringify(text);

const isAbout =
  (field: string) =>
  (part: string): boolean =>
    fieldOfPart(part) === field;

/** The value that a filter's condition compares a field with; `undefined` if there is no such simple condition. */
export function findQuickValue(filter: string, field: string): string | undefined {
  const part = toFilterParts(filter).find(isAbout(field));
  const value = part === undefined ? undefined : toFilterTokens(part)[4];
  return value?.kind === "mark" ? undefined : value?.text;
}

/** Replaces a filter's conditions on a field with one condition, or removes them if there is no value. */
export const setQuickFilter = (
  filter: string,
  { field, comparator, value }: { field: string; comparator: string; value: string | undefined },
): string =>
  value === undefined || value === ""
    ? withoutFilterParts(filter, isAbout(field))
    : withFilterPart(filter, `${comparator}(${field}, ${toFilterText(value)})`, isAbout(field));

const isSearch = (part: string): boolean => {
  const [name, open, text] = toFilterTokens(part);
  return name?.text === "search" && open?.text === "(" && text?.kind === "text";
};

/** The text of the filter's full-text search, unquoted; empty if the filter has none. */
export function findSearchText(filter: string): string {
  const part = toFilterParts(filter).find(isSearch);
  const text = part === undefined ? undefined : toFilterTokens(part)[2]?.text;
  return text === undefined ? "" : unescapeText(text);
}

/** Replaces the filter's full-text search, or removes it if the text is empty. */
export const setSearchText = (filter: string, text: string): string =>
  text.trim() === ""
    ? withoutFilterParts(filter, isSearch)
    : withFilterPart(filter, `search(${toFilterText(text.trim())})`, isSearch);

function unescapeText(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text; // A single-quoted text may not be valid JSON; show it as written.
  }
}

/** A condition on a metadata entry. A key that can't be written as a path becomes conditions on key and value. */
export const metadataPart = (key: string, value: string): string =>
  /^[\w-]+(?:\.[\w-]+)*$/.test(key)
    ? `eq(metadata.${key}, ${toFilterText(value)})`
    : `and(eq(metadata_key, ${toFilterText(key)}), eq(metadata_value, ${toFilterText(value)}))`;

/** A condition on feedback with a key: that it exists, or how its score compares. */
export const feedbackPart = (key: string, comparator: string, score: number | undefined): string =>
  score === undefined
    ? `eq(feedback_key, ${toFilterText(key)})`
    : `and(eq(feedback_key, ${toFilterText(key)}), ${comparator}(feedback_score, ${score}))`;
