import {
  fieldOfPart,
  toFilterParts,
  withFilterPart,
  withoutFilterParts,
} from "../../components/filter/filter-parts.ts";
import { toFilterTokens } from "../../components/filter/filter-tokens.ts";

/** A text as the filter language writes it. */
export const toFilterText = (text: string): string => JSON.stringify(text);

const isAbout =
  (field: string) =>
  (part: string): boolean =>
    fieldOfPart(part) === field;

/** The value that a filter asks of a field by `eq` or the like; `undefined` where it asks for none. */
export function quickValue(filter: string, field: string): string | undefined {
  const part = toFilterParts(filter).find(isAbout(field));
  const value = part === undefined ? undefined : toFilterTokens(part)[4];
  return value?.kind === "mark" ? undefined : value?.text;
}

/** The filter with one condition on a field, in the place of those it had; without, where there is no value. */
export const withQuick = (
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

/** The text that is searched for anywhere. */
export function searchedText(filter: string): string {
  const part = toFilterParts(filter).find(isSearch);
  const text = part === undefined ? undefined : toFilterTokens(part)[2]?.text;
  return text === undefined ? "" : unescapeText(text);
}

export const withSearch = (filter: string, text: string): string =>
  text.trim() === ""
    ? withoutFilterParts(filter, isSearch)
    : withFilterPart(filter, `search(${toFilterText(text.trim())})`, isSearch);

function unescapeText(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text; // In single quotes, with marks of its own: shown as it is written.
  }
}

/** A condition on an entry of metadata; a key that is no path is asked for as a pair. */
export const metadataPart = (key: string, value: string): string =>
  /^[\w-]+(?:\.[\w-]+)*$/.test(key)
    ? `eq(metadata.${key}, ${toFilterText(value)})`
    : `and(eq(metadata_key, ${toFilterText(key)}), eq(metadata_value, ${toFilterText(value)}))`;

/** A condition on a judgement: that there is one, or how its score compares. */
export const feedbackPart = (key: string, comparator: string, score: number | undefined): string =>
  score === undefined
    ? `eq(feedback_key, ${toFilterText(key)})`
    : `and(eq(feedback_key, ${toFilterText(key)}), ${comparator}(feedback_score, ${score}))`;
