import { requireItems, requireText, toItems, toNumber, toRecord } from "../../../api/parse.ts";
import {
  joinConditions,
  removeConditions,
  splitConditions,
} from "../../../components/filter/filter-conditions.ts";
import { toFilterTokens } from "../../../components/filter/filter-tokens.ts";
import { parseTimeMs } from "../../../components/time/time.ts";
import { toFilterText } from "../quick-filters/quick-filters.ts";

/** A property of runs, and the values that it has in the matching runs. Values with the most runs come first. */
export interface Facet {
  readonly name: string;
  /** Number of different values. If there are many, `values` contains only some of them. */
  readonly valueCount: number;
  readonly values: readonly FacetValue[];
  /**
   * A facet with chosen values is counted separately, without the filter's conditions on it. If counting all of these
   * runs would have taken too long, runs that started before this time were not counted. Otherwise `undefined`.
   */
  readonly countedFromMs?: number | undefined;
}

export interface FacetValue {
  readonly value: string;
  readonly runs: number;
}

export interface FacetCounts {
  readonly facets: readonly Facet[];
  /** Number of runs that were counted. */
  readonly runs: number;
  /**
   * If counting all runs would have taken too long: runs that started before this time were not counted. Otherwise
   * `undefined`.
   */
  readonly countedFromMs: number | undefined;
  /** Whether some runs were not counted, for at least one facet. */
  readonly isPartial: boolean;
}

/** @throws TypeError the response contains no facets. */
export function parseFacetCounts(value: unknown): FacetCounts {
  const members = toRecord(value);
  const countedFromMs = parseTimeMs(members["counted_to"]);
  const facets = requireItems(members["facets"], "facets").map((item): Facet => {
    const facet = toRecord(item);
    return {
      name: requireText(facet, "name"),
      valueCount: toNumber(facet["value_count"]) ?? 0,
      countedFromMs: parseTimeMs(facet["counted_to"]),
      values: toItems(facet["values"]).map((entry) => {
        const { value: text, runs } = toRecord(entry);
        return { value: typeof text === "string" ? text : "", runs: toNumber(runs) ?? 0 };
      }),
    };
  });
  return {
    runs: toNumber(members["runs"]) ?? 0,
    countedFromMs,
    facets,
    isPartial: [{ countedFromMs }, ...facets].some((count) => count.countedFromMs !== undefined),
  };
}

/** The titles of the facets, in the order in which they are shown. */
export const facetTitles: Readonly<Record<string, string>> = {
  status: "Status",
  run_type: "Type",
  name: "Name",
  model: "Model",
  // In a list of traces, this facet contains the models of all runs of a trace.
  trace_model: "Model",
  tag: "Tag",
  user: "User",
  version: "Version",
};

/** The names of the facets of a list. In a list of traces, the facet `trace_model` replaces `model`. */
export const listFacetNames = (isRoot: boolean): readonly string[] =>
  Object.keys(facetTitles).filter((name) => name !== (isRoot ? "model" : "trace_model"));

/** How conditions on a facet are written. */
interface FacetField {
  readonly field: string;
  /** The function that compares the field with one value. Several values are compared with `in`. */
  readonly comparator: "eq" | "has";
  /** Another name of the field, which links on other pages or stored filters use. */
  readonly alias?: string;
}

const facetFields: Readonly<Record<string, FacetField>> = {
  model: { field: "model", comparator: "eq", alias: "metadata.ls_model_name" },
  // In a list of traces, the field `model` contains the models of all runs of a trace.
  trace_model: { field: "model", comparator: "eq" },
  tag: { field: "tags", comparator: "has" },
  user: { field: "user", comparator: "eq", alias: "metadata.user_id" },
  version: { field: "metadata.version", comparator: "eq" },
};

const toField = (name: string): FacetField =>
  facetFields[name] ?? { field: name, comparator: "eq" };

/** Creates the condition that a run has at least one of the values of a facet. */
export function toFacetCondition(name: string, values: readonly string[]): string {
  const { field, comparator } = toField(name);
  const texts = values.map(toFilterText);
  return texts.length === 1
    ? `${comparator}(${field}, ${texts[0]})`
    : `in(${field}, [${texts.join(", ")}])`;
}

/** Returns the values that a condition requires of a facet; an empty list if the condition is not about this facet. */
function readFacetValues(name: string, condition: string): readonly string[] {
  const { field, comparator, alias } = toField(name);
  const [functionName, , fieldName, , ...valueTokens] = toFilterTokens(condition);
  if (fieldName?.text !== field && (alias === undefined || fieldName?.text !== alias)) {
    return [];
  }
  const values = valueTokens.filter(({ kind }) => kind === "text").map(({ text }) => text);
  const hasOnlyValues =
    functionName?.text === "in"
      ? valueTokens.length === values.length * 2 + 2
      : functionName?.text === comparator && valueTokens.length === 2 && values.length === 1;
  return hasOnlyValues ? values.map(unescapeText) : [];
}

/**
 * Returns a text of a filter without its escapes. A text that is not JSON, such as a text in single quotes, has no
 * escapes.
 */
function unescapeText(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** The values of a facet that a filter requires: a run must have at least one of them. */
export const findChosenValues = (filter: string, name: string): readonly string[] => [
  ...new Set(splitConditions(filter).flatMap((condition) => readFacetValues(name, condition))),
];

/** Returns a filter without its conditions on a facet. */
export const omitFacet = (filter: string, name: string): string =>
  removeConditions(filter, (condition) => readFacetValues(name, condition).length > 0);

/** Selects a value of a facet, or deselects it. A run must have at least one of the selected values. */
export function toggleFacet(filter: string, name: string, value: string): string {
  const chosenValues = findChosenValues(filter, name);
  const values = chosenValues.includes(value)
    ? chosenValues.filter((other) => other !== value)
    : [...chosenValues, value];
  const conditions = splitConditions(filter);
  const position = conditions.findIndex((part) => readFacetValues(name, part).length > 0);
  const others = splitConditions(omitFacet(filter, name));
  if (values.length === 0) {
    return joinConditions(others);
  }
  // Keep the position of the condition among the other conditions.
  const index = position < 0 ? others.length : Math.min(position, others.length);
  return joinConditions(others.toSpliced(index, 0, toFacetCondition(name, values)));
}
