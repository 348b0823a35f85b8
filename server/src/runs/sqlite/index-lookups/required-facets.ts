import { keyFacet, nameFacet, pairFacet, tagFacet, typeFacet } from "../../facets.ts";
import { groupOf } from "../../../filter/checker.ts";
import type { CheckedComparison, CheckedFilter } from "../../../filter/checker.ts";
import { roleOf } from "../../../filter/compiler.ts";
import { valuesOf } from "../../../filter/conditions.ts";
import { threadKeys } from "../../run-filter-source.ts";

/** Facets of which a run must have at least one. */
export type FacetAlternatives = readonly string[];

/** Returns the facets that a run must have to match a filter. All alternatives in the list apply. */
export function requiredFacets(filter: CheckedFilter): readonly FacetAlternatives[] {
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

function facetsOf({ field, comparator, operand }: CheckedComparison): readonly FacetAlternatives[] {
  const isEquality = comparator === "eq" || comparator === "has" || comparator === "in";
  const texts = valuesOf(operand).map(String);
  switch (field.name) {
    case "name":
      return isEquality ? anyOf(texts.map(nameFacet)) : [];
    case "run_type":
      return isEquality ? anyOf(texts.map(typeFacet)) : [];
    case "tags":
    case "tag":
      return isEquality ? anyOf(texts.map(tagFacet)) : [];
    case "thread_id":
      return isEquality
        ? anyOf(texts.flatMap((text) => threadKeys.map((key) => pairFacet(key, text))))
        : [];
    case "metadata_key":
      return isEquality ? anyOf(texts.map(pathFacet)) : [];
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

/** Returns no requirement if one of the alternatives has no facet. */
const anyOf = (facets: readonly (string | undefined)[]): readonly FacetAlternatives[] =>
  facets.every((facet) => facet !== undefined) ? [facets] : [];

/** A path with several steps may lead into nested objects, which have no facets. */
const pathFacet = (path: string): string | undefined =>
  path.includes(".") ? undefined : keyFacet(path);

/** Keys and the values that follow them in an `and` apply to the same metadata entry. */
function pairsOf(parts: readonly CheckedFilter[]): readonly FacetAlternatives[] {
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
    return roleOf(part) === "value" && key !== undefined && isOnlyText(text)
      ? anyOf([pairFacet(key, text)])
      : [];
  });
}

/** The text that a part of the filter compares with `eq`. */
const textOf = (part: CheckedFilter): string | undefined => {
  const [value] =
    part.kind === "comparison" && part.comparator === "eq" ? valuesOf(part.operand) : [];
  return typeof value === "string" ? value : undefined;
};

/** A text that is spelled like a number or a boolean also equals such a value, which has no facet. */
const isOnlyText = (text: string | undefined): text is string =>
  text !== undefined && !/^-?\d/.test(text) && text !== "true" && text !== "false";
