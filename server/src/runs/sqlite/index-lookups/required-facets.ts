import { keyFacet, nameFacet, pairFacet, tagFacet, typeFacet } from "../../facets.ts";
import { groupOf } from "../../../filter/checker.ts";
import type { CheckedComparison, CheckedFilter } from "../../../filter/checker.ts";
import { roleOf } from "../../../filter/compiler.ts";
import { valuesOf } from "../../../filter/conditions.ts";
import { threadKeys } from "../../run-filter-source.ts";

/** Facets one of which every run has that meets a filter. */
export type AnyFacetOf = readonly string[];

/** What a filter of runs asks of their facets. All of it holds for every run that meets the filter. */
export function requiredFacets(filter: CheckedFilter): readonly AnyFacetOf[] {
  switch (filter.kind) {
    case "and":
      return [...filter.parts.flatMap(requiredFacets), ...pairsOf(filter.parts)];
    case "or": {
      const branches = filter.parts.map((part) => requiredFacets(part)[0]);
      return branches.every((branch) => branch !== undefined) ? [branches.flat()] : [];
    }
    case "not":
    case "search":
      return [];
    case "comparison":
      return facetsOf(filter);
  }
}

function facetsOf({ field, comparator, operand }: CheckedComparison): readonly AnyFacetOf[] {
  const asks = comparator === "eq" || comparator === "has" || comparator === "in";
  const texts = valuesOf(operand).map(String);
  switch (field.name) {
    case "name":
      return asks ? anyOf(texts.map(nameFacet)) : [];
    case "run_type":
      return asks ? anyOf(texts.map(typeFacet)) : [];
    case "tags":
    case "tag":
      return asks ? anyOf(texts.map(tagFacet)) : [];
    case "thread_id":
      return asks
        ? anyOf(texts.flatMap((text) => threadKeys.map((key) => pairFacet(key, text))))
        : [];
    case "metadata_key":
      return asks ? anyOf(texts.map(pathFacet)) : [];
    case "metadata":
      if (operand.kind === "json") {
        return Object.entries(operand.json).flatMap(([key, value]) =>
          anyOf([typeof value === "string" ? pairFacet(key, value) : keyFacet(key)]),
        );
      }
      return comparator === "exists" ? anyOf(texts.map(pathFacet)) : [];
    default:
      return [];
  }
}

/** Nothing is asked where one of the alternatives has no facet. */
const anyOf = (facets: readonly (string | undefined)[]): readonly AnyFacetOf[] =>
  facets.every((facet) => facet !== undefined) ? [facets] : [];

/** A path of more than one step may lead through objects, which have no facets. */
const pathFacet = (path: string): string | undefined =>
  path.includes(".") ? undefined : keyFacet(path);

/** Keys and the values that follow them in an `and`: the same entry has both. */
function pairsOf(parts: readonly CheckedFilter[]): readonly AnyFacetOf[] {
  let key: string | undefined;
  return parts.flatMap((part) => {
    if (groupOf(part) !== "metadata") {
      return [];
    }
    const text = textOf(part);
    if (roleOf(part) === "key") {
      key = text !== undefined && !text.includes(".") ? text : undefined;
      return [];
    }
    return roleOf(part) === "value" && key !== undefined && isPlain(text)
      ? anyOf([pairFacet(key, text)])
      : [];
  });
}

/** The text of an `eq`. */
const textOf = (part: CheckedFilter): string | undefined => {
  const [value] =
    part.kind === "comparison" && part.comparator === "eq" ? valuesOf(part.operand) : [];
  return typeof value === "string" ? value : undefined;
};

/** Texts that are written as a number or a truth value equal those too, which have no facet. */
const isPlain = (text: string | undefined): text is string =>
  text !== undefined && !/^-?\d/.test(text) && text !== "true" && text !== "false";
