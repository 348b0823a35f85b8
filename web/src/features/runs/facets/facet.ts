import { requireItems, requireText, toItems, toNumber, toRecord } from "../../../api/parse.ts";
import {
  addCondition,
  removeConditions,
  splitConditions,
} from "../../../components/filter/filter-conditions.ts";
import { parseTimeMs } from "../../../components/time/time.ts";
import { createMetadataCondition, toFilterText } from "../quick-filters.ts";

/** The values of a property of the matching runs, those with the most runs first. */
export interface Facet {
  readonly name: string;
  /** Number of different values; more than those in `values` if there are many. */
  readonly valueCount: number;
  readonly values: readonly FacetValue[];
}

export interface FacetValue {
  readonly value: string;
  readonly runs: number;
}

export interface FacetCounts {
  readonly facets: readonly Facet[];
  /** Number of runs that were counted. */
  readonly runs: number;
  /** The start time down to which runs were counted, if counting all would have taken too long. */
  readonly countedToMs: number | undefined;
}

/** @throws TypeError the response contains no facets. */
export function parseFacetCounts(value: unknown): FacetCounts {
  const members = toRecord(value);
  return {
    runs: toNumber(members["runs"]) ?? 0,
    countedToMs: parseTimeMs(members["counted_to"]),
    facets: requireItems(members["facets"], "facets").map((item) => {
      const facet = toRecord(item);
      return {
        name: requireText(facet, "name"),
        valueCount: toNumber(facet["value_count"]) ?? 0,
        values: toItems(facet["values"]).map((entry) => {
          const { value: text, runs } = toRecord(entry);
          return { value: typeof text === "string" ? text : "", runs: toNumber(runs) ?? 0 };
        }),
      };
    }),
  };
}

/** The titles of the facets, in the order in which they are shown. */
export const facetTitles: Readonly<Record<string, string>> = {
  status: "Status",
  run_type: "Type",
  name: "Name",
  model: "Model",
  // In a list of traces: the models of all runs of a trace.
  trace_model: "Model",
  tag: "Tag",
  user: "User",
  version: "Version",
};

/** Creates the condition that a run has a value of a facet. */
export function toFacetCondition(name: string, value: string): string {
  switch (name) {
    case "tag":
      return `has(tags, ${toFilterText(value)})`;
    case "user":
      return createMetadataCondition("user_id", value);
    case "version":
      return createMetadataCondition("version", value);
    case "trace_model":
      // In a list of traces, both fields are the same.
      return `eq(model, ${toFilterText(value)})`;
    default:
      return `eq(${name}, ${toFilterText(value)})`;
  }
}

/** Whether a filter requires a value. */
export const isFacetActive = (filter: string, name: string, value: string): boolean =>
  splitConditions(filter).includes(toFacetCondition(name, value));

/** Adds the condition for a value to a filter, or removes it. */
export const toggleFacet = (filter: string, name: string, value: string): string => {
  const condition = toFacetCondition(name, value);
  return isFacetActive(filter, name, value)
    ? removeConditions(filter, (part) => part === condition)
    : addCondition(filter, condition);
};
